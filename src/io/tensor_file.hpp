// Safetensors files: mapped and checked, and written with the sums of their tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/output_file.hpp>

#include "core/monitor.hpp"
#include "io/file.hpp"
#include "io/tensor_header.hpp"

namespace nearfield {

// A file whose header is checked. What is in the tensors is not: they are read as they are touched.
class TensorFile {
 public:
  explicit TensorFile(const std::string& path, std::int64_t most_header_bytes = kMostHeaderBytes);

  const std::string& path() const { return file_.path(); }
  std::int64_t size() const { return file_.size(); }
  const TensorHeader& header() const { return header_; }

  // Of that name; throws corrupt_file if there is none.
  const TensorEntry& tensor(std::string_view name) const;
  const TensorEntry* find(std::string_view name) const;
  const std::string& metadata(const std::string& name) const;

  // The bytes of a tensor of this file.
  std::span<const std::byte> bytes(const TensorEntry& tensor) const {
    return {mapping_.data() + data_ + tensor.begin,
            static_cast<std::size_t>(tensor.end - tensor.begin)};
  }

  // Reads all of it and compares the sums. Throws corrupt_file, naming the tensor.
  void verify(Monitor& monitor) const;

 private:
  InputFile file_;
  std::int64_t data_ = 0;  // where the tensors begin
  TensorHeader header_;
  Mapping mapping_;
};

// Takes the next bytes of a tensor.
using TakeBytes = std::function<void(std::span<const std::byte>)>;

struct TensorToWrite {
  std::string name;
  TensorType type = TensorType::u8;
  std::vector<std::int64_t> shape;
  // Gives all bytes in their order. Called twice where a stream is written, since sums come before
  // what they are of, and must give the same.
  std::function<void(const TakeBytes& take)> give;
};

// A tensor that is in memory, which must outlive it.
TensorToWrite tensor_in_memory(std::string name, TensorType type, std::vector<std::int64_t> shape,
                               std::span<const std::byte> bytes);

// Between them there is padding of its own, in tensors named _pad.N, and in the metadata a sum of
// each, in entries named xxh3.NAME, and of the header without it, named xxh3. Does not commit.
// The monitor is told of their bytes, without the padding: bytes_of_all.
void write_tensors(OutputFile& out, std::vector<TensorToWrite> tensors,
                   std::map<std::string, std::string> metadata, Monitor& monitor);
std::int64_t bytes_of_all(std::span<const TensorToWrite> tensors);

}  // namespace nearfield
