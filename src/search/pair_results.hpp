#pragma once

#include <cstdint>
#include <span>

#include <nearfield/metric.hpp>
#include <nearfield/results.hpp>

#include "core/monitor.hpp"
#include "scan/pair_sink.hpp"

namespace nearfield {

// Of a pair, in Pairs.
inline constexpr std::int64_t kPairResultBytes =
    2 * sizeof(std::int64_t) + sizeof(double) + sizeof(float);

void append_pairs(std::span<const KeyedPair> found, MetricSpec metric, const Monitor& monitor,
                  Pairs& result);

}  // namespace nearfield
