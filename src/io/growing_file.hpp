// A file that is written block by block, by one process after the other if need be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "io/file.hpp"

namespace nearfield {

// Blocks go to a file beside the target, whose name says what it is of: `identity`. Each is on disk
// before the next is written, so that after a power cut at most the last is damaged: who goes on
// writes that again.
class GrowingFile {
 public:
  // All blocks but the last have `block_bytes`. A partial file of the same identity is taken up.
  GrowingFile(std::string path, std::string_view header, std::int64_t block_bytes,
              std::uint64_t identity);
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  // One without blocks is of no use, and goes.
  ~GrowingFile();

  // Whole blocks that are there.
  std::int64_t blocks() const { return blocks_; }

  void append(std::span<const std::byte> block);

  // Puts it in its place.
  void commit();

  // Where the blocks are until then.
  const std::string& partial() const { return partial_; }
  // For who has made something else of them.
  void remove();

 private:
  void write(std::span<const std::byte> bytes);

  std::string path_;
  std::string partial_;  // empty after commit
  FileDescriptor fd_;
  std::int64_t blocks_ = 0;
};

}  // namespace nearfield
