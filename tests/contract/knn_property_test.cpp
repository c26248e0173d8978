// knn against the oracle on random configurations.
//
// RapidCheck draws small numbers only, which shrink well, and the data follows from them. A failure
// prints the shrunk configuration in one line, and the RC_PARAMS that runs it again. RC_PARAMS
// max_success=2000 looks longer than the default of 100 a property.
#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <nearfield/nearfield.hpp>

#include "tests/contract/isa_sweep.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"

namespace nearfield::contract {
namespace {

// [0, end), growing with the size of the case as RapidCheck goes on.
std::int64_t below(std::int64_t end) { return *rc::gen::inRange<std::int64_t>(0, end); }

// [0, end), whatever the size of the case.
std::int64_t pick(std::int64_t end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(0, end));
}

// Shrinks towards the first.
template <class List>
auto one_of(const List& list) {
  return list[static_cast<std::size_t>(pick(static_cast<std::int64_t>(list.size())))];
}

// A matrix and how it lies in memory.
struct Side {
  DType dtype;
  std::int64_t rows;
  std::uint64_t seed;
  std::int64_t extra_bytes;
  std::int64_t offset_elements;
  bool piecewise;  // read in pieces, like a file

  std::string text() const {
    return fmt::format("{} x {} seed {} +{}B @{}{}", rows, to_string(dtype), seed, extra_bytes,
                       offset_elements, piecewise ? " piecewise" : "");
  }
};

struct Config {
  Side queries, base;
  data::Kind kind;
  MetricSpec metric = Metric::sqeuclidean;
  std::int64_t d, k;
  RowFilter::Kind filter;
  bool exclude_self;
  Isa isa;
  int threads;
  bool small_memory;
  Tiles tiles;

  std::string text() const {
    return fmt::format(
        "{} {} d={} k={} queries: {}; base: {}; filter={} exclude_self={} {} threads={} memory={} "
        "tiles: {}",
        to_string(metric), data::to_string(kind), d, k, queries.text(), base.text(),
        static_cast<int>(filter), exclude_self, to_string(isa), threads,
        small_memory ? "small" : "any", to_string(tiles));
  }
};

Side any_side(DType dtype, std::int64_t most_rows) {
  Side side{};
  side.dtype = dtype;
  side.rows = below(most_rows);
  side.seed = static_cast<std::uint64_t>(pick(4));  // few seeds: queries are often rows of the base
  side.extra_bytes = pick(70);
  side.offset_elements = pick(9);
  side.piecewise = pick(4) == 3;
  return side;
}

std::vector<MetricSpec> metrics_for(DType dtype) {
  const MetricInput input = dtype == DType::bits ? MetricInput::bits : MetricInput::numbers;
  std::vector<MetricSpec> fitting;
  for (const MetricSpec metric : every_metric()) {
    if (info(metric).input == input) {
      fitting.push_back(metric);
    }
  }
  return fitting;
}

Config any_config(DType query_type, DType base_type) {
  constexpr std::array kFilters = {RowFilter::Kind::all, RowFilter::Kind::bitset,
                                   RowFilter::Kind::list};
  constexpr std::array kThreads = {1, 2, 7};
  Config config{};
  config.queries = any_side(query_type, 70);
  config.base = any_side(base_type, 700);
  config.kind = one_of(data::kinds());
  config.metric = one_of(metrics_for(base_type));
  config.d = 1 + below(base_type == DType::bits ? 1500 : 140);
  config.k = below(config.base.rows + 12);
  config.filter = one_of(kFilters);
  config.exclude_self = pick(4) == 3;
  if (config.exclude_self) {
    config.base.rows = config.queries.rows;
  }
  config.isa = one_of(swept_isas());
  config.threads = one_of(kThreads);
  config.small_memory = pick(2) == 1;
  config.tiles = one_of(kTiles);
  return config;
}

// The rows of one side, kept as long as a search looks at them.
class Rows {
 public:
  Rows(const Config& config, const Side& side)
      : copy_(data::make_matrix({config.kind, side.dtype, side.rows, config.d, side.seed}),
              side.extra_bytes, side.offset_elements),
        in_memory_(copy_.view()),
        in_pieces_(copy_.view()),
        piecewise_(side.piecewise) {}
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  MatrixView view() const { return copy_.view(); }
  const RowSource& source() const {
    return piecewise_ ? static_cast<const RowSource&>(in_pieces_) : in_memory_;
  }

 private:
  data::Strided copy_;
  MatrixRows in_memory_;
  data::PiecewiseRows in_pieces_;
  bool piecewise_;
};

Context context_of(const Config& config, const Rows& queries, const Rows& base,
                   const KnnOptions& options) {
  Context context = forced(config.isa);
  context.threads = config.threads;
  if (config.small_memory) {
    context.memory_limit = small_memory_limit(queries.source(), base.source(), options, context);
  }
  return context;
}

// The oracle is the slow part, so each of its answers serves all ISAs.
void equals_the_oracle(Config config) {
  const Rows queries(config, config.queries);
  const Rows base(config, config.base);
  const data::RowChoice choice(config.filter, config.base.rows, config.base.seed);
  KnnOptions options = nearest(config.k, config.metric, choice.filter());
  options.exclude_self = config.exclude_self;
  const oracle::Answer want = expected(queries.view(), base.view(), options);
  for (const Isa isa : swept_isas()) {
    config.isa = isa;
    RC_LOG() << config.text() << std::endl;
    use_tiles(config.tiles);
    const Context context = context_of(config, queries, base, options);
    const Neighbors got = knn(queries.source(), base.source(), options, context);
    if (const std::string text = mismatch(got, want, config.metric); !text.empty()) {
      RC_FAIL(text);
    }
  }
}

RC_GTEST_PROP(KnnProperty, F64EqualsTheOracle, ()) {
  equals_the_oracle(any_config(DType::f64, DType::f64));
}
RC_GTEST_PROP(KnnProperty, F32EqualsTheOracle, ()) {
  equals_the_oracle(any_config(DType::f32, DType::f32));
}
RC_GTEST_PROP(KnnProperty, F16EqualsTheOracle, ()) {
  equals_the_oracle(any_config(DType::f16, DType::f16));
}
RC_GTEST_PROP(KnnProperty, Bf16EqualsTheOracle, ()) {
  equals_the_oracle(any_config(DType::bf16, DType::bf16));
}
RC_GTEST_PROP(KnnProperty, U8EqualsTheOracle, ()) {
  equals_the_oracle(any_config(DType::u8, DType::u8));
}
RC_GTEST_PROP(KnnProperty, I8EqualsTheOracle, ()) {
  equals_the_oracle(any_config(DType::i8, DType::i8));
}
RC_GTEST_PROP(KnnProperty, BitsEqualTheOracle, ()) {
  equals_the_oracle(any_config(DType::bits, DType::bits));
}

RC_GTEST_PROP(KnnProperty, MixedTypesEqualTheOracle, ()) {
  using Pair = std::pair<DType, DType>;  // the second holds every value of the first
  constexpr std::array kPairs = {
      Pair(DType::f32, DType::f64),  Pair(DType::f16, DType::f64), Pair(DType::bf16, DType::f64),
      Pair(DType::u8, DType::f64),   Pair(DType::i8, DType::f64),  Pair(DType::f16, DType::f32),
      Pair(DType::bf16, DType::f32), Pair(DType::u8, DType::f32),  Pair(DType::i8, DType::f32),
      Pair(DType::u8, DType::f16),   Pair(DType::i8, DType::f16),  Pair(DType::u8, DType::bf16),
      Pair(DType::i8, DType::bf16),
  };
  const auto [narrow, wide] = one_of(kPairs);
  const bool swapped = pick(2) == 1;
  equals_the_oracle(swapped ? any_config(wide, narrow) : any_config(narrow, wide));
}

// Needs no oracle: a query's answer does not depend on its company, nor on how many are asked for.
RC_GTEST_PROP(KnnProperty, BatchesAndKDoNotChangeTheAnswer, ()) {
  constexpr std::array kTypes = {DType::f32, DType::u8, DType::bits};
  const DType dtype = one_of(kTypes);
  Config config = any_config(dtype, dtype);
  config.exclude_self = false;
  RC_LOG(config.text());
  use_tiles(config.tiles);
  const Rows queries(config, config.queries);
  const Rows base(config, config.base);
  const KnnOptions options = nearest(config.k, config.metric);
  const Context context = context_of(config, queries, base, options);
  const Neighbors all = knn(queries.source(), base.source(), options, context);
  const oracle::Answer whole = oracle::answer_of(all);

  const std::int64_t fewer = below(config.k + 1);
  const Neighbors head =
      knn(queries.view(), base.view(), nearest(fewer, config.metric), forced(config.isa));
  RC_ASSERT(oracle::difference(head, oracle::head_of(whole, fewer)) == "");

  for (std::int64_t i = 0; i < config.queries.rows; ++i) {
    const Neighbors alone =
        knn(queries.view().slice(i, 1), base.view(), options, forced(config.isa));
    const auto ids = all.ids_of(i);
    RC_ASSERT(alone.ids == std::vector<std::int64_t>(ids.begin(), ids.end()));
    const auto keys = all.keys_of(i);
    RC_ASSERT(alone.keys == std::vector<double>(keys.begin(), keys.end()));
  }
}

}  // namespace
}  // namespace nearfield::contract
