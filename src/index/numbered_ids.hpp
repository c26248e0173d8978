// Ids that are the numbers of rows, as tensors of a file whose table need not fit into memory.
#pragma once

#include <cstdint>
#include <vector>

#include "core/monitor.hpp"
#include "io/tensor_file.hpp"

namespace nearfield {

class NumberedIds {
 public:
  static constexpr std::int64_t kIdsAtOnce = 1 << 16;

  // slots_at_once: of the table, so many are in memory. Looks at the monitor, also while the
  // tensors are written.
  NumberedIds(std::int64_t rows, std::int64_t slots_at_once, const Monitor& monitor);

  // It must outlive them.
  void add_to(std::vector<TensorToWrite>& tensors) const;

 private:
  // Rows + 1, as slots have them.
  using Entries = std::vector<std::uint32_t>;

  void give_ids(const TakeBytes& take) const;
  // With entries that went past its end from its beginning on. Returns those that go past it now.
  Entries give_table(const Entries& past_the_end, const TakeBytes& take) const;

  std::int64_t rows_;
  std::int64_t slots_at_once_;
  const Monitor& monitor_;
  Entries past_the_end_;
};

}  // namespace nearfield
