// What every contract test needs: the ISAs to force, the answer to expect, the count of what was
// compared. Linking it adds the tests of isa_sweep.cpp and a last line with ISAs and count.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "tests/oracle/oracle.hpp"

namespace nearfield::contract {

// "scalar,avx2": throws Error, or std::invalid_argument for an empty name.
std::vector<Isa> parse_isa_list(std::string_view text);

// Those that tests force: all that are available, or of these the ones that NEARFIELD_SWEEP_ISAS
// lists, where the others are swept elsewhere. Throws if one of them is not available.
const std::vector<Isa>& swept_isas();

// One thread, so that a small search costs little, on this ISA.
Context forced(Isa isa);

// Which searches have tiles, and of what values: those of every size, so that small ones are
// compared too, or as default_tuning() has it. bf16 twice: one ISA has it, and some of the types.
enum class Tiles { where_they_pay, int8, bf16 };
inline constexpr std::array kTiles = {Tiles::where_they_pay, Tiles::int8, Tiles::bf16, Tiles::bf16};
std::string_view to_string(Tiles tiles);

// From the next search on. Each comparison with the oracle chooses anew, by counting: what must be
// repeated as it was says it before each search.
void use_tiles(Tiles tiles);

// Options by position: an initializer that leaves a field out is a warning of -Wextra.
KnnOptions nearest(std::int64_t k, MetricSpec metric = Metric::sqeuclidean, RowFilter filter = {});

// Every metric of metrics.def; lp with a whole, a half and any other exponent.
std::vector<MetricSpec> every_metric();

// Types to search under a metric. `all` adds those that differ in decoding alone.
enum class Types { main, all };
std::vector<DType> types_of(MetricInput input, Types which);

// The oracle's answer; that of the simplest ISA for a metric the oracle does not know, so that a
// new metric is swept before it has an oracle (and EveryMetricHasAnOracle says that it has none).
oracle::Answer expected(MatrixView queries, MatrixView base, const KnnOptions& options);

// Empty if `got` is `want` and says that it is exact; else one sentence. Counts the comparison,
// and the operation x metric x type x ISA it was about, for the last line if `want` comes from the
// oracle.
std::string mismatch(const Neighbors& got, const oracle::Answer& want, MetricSpec metric,
                     std::string_view operation = "knn");

// Likewise, for metrics the oracle knows.
std::string mismatch(const Ranges& got, const oracle::RangeAnswer& want);
std::string mismatch(const Pairs& got, const oracle::PairAnswer& want, std::string_view operation);

// Close to the smallest limit that the search accepts, at most twice its working memory.
std::int64_t small_memory_limit(const RowSource& queries, const RowSource& base,
                                const KnnOptions& options, Context context);

}  // namespace nearfield::contract
