// How many queries a block of a search on a device has.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "device/default_choice.hpp"
#include "device/tuning_table.hpp"

namespace nearfield {

// Those that are measured, with their names in a tuning table.
inline constexpr std::array<std::string_view, 4> kQueryBatchNames{"256", "1024", "4096", "16384"};
inline constexpr std::array<std::int64_t, 4> kQueryBatches{256, 1024, 4096, 16'384};

// As measured, where there is a table, else the default.
inline std::int64_t choose_query_batch(const TuningTable* table, const TuningShape& shape) {
  if (table == nullptr) return kDefaultChoice.query_batch;
  const auto best = fastest(table->query_batch, shape, kQueryBatchNames);
  return best ? kQueryBatches[*best] : kDefaultChoice.query_batch;
}

}  // namespace nearfield
