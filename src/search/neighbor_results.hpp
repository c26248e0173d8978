// Neighbors as a search fills them.
#pragma once

#include <cstdint>
#include <span>

#include <nearfield/metric.hpp>
#include <nearfield/results.hpp>

#include "core/monitor.hpp"
#include "scan/top_k_sink.hpp"

namespace nearfield {

// Throws where they do not fit 63 bits.
std::int64_t result_bytes(std::int64_t queries, std::int64_t k);

// All slots are empty.
Neighbors nothing_found(std::int64_t queries, std::int64_t k, MetricSpec metric,
                        const Monitor& monitor);

void write_results(Range batch, TopKSink& sink, MetricSpec metric, int threads,
                   const Monitor& monitor, Neighbors& result);

// Puts the answers of another search, of as many queries, in place of those of some.
void put_results(std::span<const std::int64_t> queries, const Neighbors& found, Neighbors& result);

}  // namespace nearfield
