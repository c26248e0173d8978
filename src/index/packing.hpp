// What a file holds of the rows as the tile kernels read them, made as it is written.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nearfield/index.hpp>

#include "core/monitor.hpp"
#include "index/part.hpp"
#include "io/tensor_file.hpp"

namespace nearfield {

// Values are made a piece at a time, once to see what else there is of them, and again each time
// they are given: an index as large as memory can be saved.
class Packing {
 public:
  // Null if the metric has no tiles. Looks at all it is given.
  static std::unique_ptr<Packing> of(const IndexSpec& spec, std::span<const PartView> parts,
                                     int threads, Monitor& monitor);

  // What it takes, with the pieces.
  static std::int64_t bytes_for(const IndexSpec& spec, std::int64_t rows, int threads);

  // It must outlive them.
  void add_to(std::vector<TensorToWrite>& tensors,
              std::map<std::string, std::string>& metadata) const;

 private:
  using Use = std::function<void(const RoundedRows& piece)>;

  Packing(BaseRounding rounding, std::span<const PartView> parts, int threads, Monitor& monitor);
  void for_each_piece(const Use& use) const;

  BaseRounding rounding_;
  std::span<const PartView> parts_;
  int threads_;
  Monitor& monitor_;
  std::int64_t value_bytes_ = 0;
  std::vector<std::int32_t> bias_;
  std::vector<GroupTerms> terms_;
  std::vector<std::uint32_t> odd_;
};

}  // namespace nearfield
