#include "tests/contract/isa_sweep.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "filter/rounded/bf16_tile_kernel.hpp"
#include "search/plan.hpp"
#include "tests/force_tiles.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"

namespace nearfield::contract {
namespace {

constexpr std::array kEveryIsa = {Isa::scalar,     Isa::ssse3,     Isa::avx2, Isa::avx512,
                                  Isa::avx512vnni, Isa::avx512icl, Isa::amx,  Isa::neon};

std::atomic<std::int64_t> compared_with_oracle = 0;
std::atomic<std::uint64_t> isas_compared = 0;  // bit i: the ISA of that number

std::atomic<std::int64_t> compared_by_tiles = 0;
std::atomic<std::int64_t> compared_by_bf16 = 0;

// For the searches of fixed sweeps, in turn. Mixed up: ISAs are searched in turn too, and with
// every other search every other ISA would never have tiles.
Tiles tiles_of(std::int64_t search) {
  return kTiles[static_cast<std::uint64_t>(search) * 0x9e37'79b9'7f4a'7c15 >> 62];
}

std::uint64_t bit_of(Isa isa) { return std::uint64_t{1} << static_cast<int>(isa); }

std::mutex configurations_mutex;
std::set<std::string> configurations;  // "knn sqeuclidean/f32/avx2"

// The kernel of a plan names metric, type and ISA; of lp, not the exponent.
void count(std::string_view operation, const Plan& plan) {
  std::string kernel = plan.kernel;
  if (const std::size_t colon = kernel.find(':'); colon != std::string::npos) {
    kernel.erase(colon, kernel.find('/') - colon);
  }
  ++compared_with_oracle;
  compared_by_tiles += plan.filter.find(" tiles") != std::string::npos ? 1 : 0;
  compared_by_bf16 += plan.filter.starts_with("bf16 tiles") ? 1 : 0;
  if (plan.pairs > 0) {
    EXPECT_EQ(plan.filter.find(" or "), std::string::npos) << operation << ": " << plan.filter;
  }
  use_tiles(tiles_of(compared_with_oracle));
  isas_compared |= bit_of(plan.isa);
  const std::scoped_lock lock(configurations_mutex);
  configurations.insert(fmt::format("{} {}", operation, kernel));
}

std::string text_of(const std::string& difference, bool exact) {
  return difference.empty() && !exact ? "the answer is right but not marked exact" : difference;
}

bool is_available(Isa isa) {
  const std::vector<Isa> isas = available_isas();
  return std::find(isas.begin(), isas.end(), isa) != isas.end();
}

class LastLine final : public ::testing::Environment {
 public:
  void TearDown() override {
    std::string names;
    for (const Isa isa : kEveryIsa) {
      if ((isas_compared & bit_of(isa)) != 0) {
        names += fmt::format(" {}", to_string(isa));
      }
    }
    std::cout << fmt::format(
                     "ISAs tested:{}; operation x metric x type x ISA: {} configurations, in {} "
                     "comparisons with the oracle, {} of them by tiles, {} of bf16{}\n",
                     names.empty() ? " none" : names, configurations.size(),
                     compared_with_oracle.load(), compared_by_tiles.load(), compared_by_bf16.load(),
                     bf16_tile_kernel(Isa::amx) == nullptr ? ", which this CPU lacks" : "")
              << std::flush;
    // A whole run compares every ISA that CI requires; part of one need not.
    const char* const required = std::getenv("NEARFIELD_REQUIRE_ISAS");
    if (required == nullptr || GTEST_FLAG_GET(filter) != "*") return;
    for (const Isa isa : parse_isa_list(required)) {
      EXPECT_NE(isas_compared & bit_of(isa), 0u) << to_string(isa) << " was never compared";
    }
    EXPECT_GT(compared_by_tiles, compared_with_oracle / 20);
    if (is_available(Isa::amx) && bf16_tile_kernel(Isa::amx) != nullptr) {
      EXPECT_GT(compared_by_bf16, compared_with_oracle / 400);
    }
  }
};

// gtest owns it.
[[maybe_unused]] const ::testing::Environment* const kLastLine =
    ::testing::AddGlobalTestEnvironment(new LastLine);

}  // namespace

const std::vector<Isa>& swept_isas() {
  static const std::vector<Isa> swept = [] {
    const char* const text = std::getenv("NEARFIELD_SWEEP_ISAS");
    if (text == nullptr) return available_isas();
    std::vector<Isa> named = parse_isa_list(text);
    for (const Isa isa : named) {
      if (!is_available(isa)) {
        throw std::invalid_argument(
            fmt::format("NEARFIELD_SWEEP_ISAS names {}, which is not available", to_string(isa)));
      }
    }
    return named;
  }();
  return swept;
}

void use_tiles(Tiles tiles) {
  default_tuning() = Tuning();
  if (tiles == Tiles::where_they_pay) return;
  force_tiles_of(tiles == Tiles::bf16 ? TileValues::bf16 : TileValues::int8);
  default_tuning().tiles.least_queries = 1;
  default_tuning().tiles.least_rows = 0;
  default_tuning().tiles.most_forbidden = std::int64_t{1} << 40;
  default_tuning().bits.least_tile_queries = 1;
}

std::string_view to_string(Tiles tiles) {
  switch (tiles) {
    case Tiles::int8:
      return "int8";
    case Tiles::bf16:
      return "bf16";
    default:
      return "where they pay";
  }
}

std::vector<Isa> parse_isa_list(std::string_view text) {
  std::vector<Isa> isas;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    if (name.empty()) {
      throw std::invalid_argument("an empty name in a list of ISAs");
    }
    isas.push_back(parse_isa(name));
    if (comma == std::string_view::npos) {
      return isas;
    }
    text.remove_prefix(comma + 1);
  }
}

Context forced(Isa isa) {
  Context context;
  context.threads = 1;
  context.isa = isa;
  return context;
}

KnnOptions nearest(std::int64_t k, MetricSpec metric, RowFilter filter) {
  KnnOptions options;
  options.k = k;
  options.metric = metric;
  options.filter = filter;
  return options;
}

std::vector<MetricSpec> every_metric() {
  std::vector<MetricSpec> all;
  for (const MetricInfo& metric : metrics()) {
    if (metric.needs_p) {
      all.insert(all.end(), {{metric.metric, 3}, {metric.metric, 1.5}, {metric.metric, 0.7}});
    } else {
      all.push_back(metric.metric);
    }
  }
  return all;
}

std::vector<DType> types_of(MetricInput input, Types which) {
  if (input == MetricInput::bits) {
    return {DType::bits};
  }
  std::vector<DType> types = {DType::f64, DType::f32, DType::u8};
  if (which == Types::all) {
    types.insert(types.end(), {DType::f16, DType::bf16, DType::i8});
  }
  return types;
}

oracle::Answer expected(MatrixView queries, MatrixView base, const KnnOptions& options) {
  if (oracle::knows(options.metric)) {
    return oracle::knn(queries, base, options);
  }
  return oracle::answer_of(knn(queries, base, options, forced(available_isas().front())));
}

std::string mismatch(const Neighbors& got, const oracle::Answer& want, MetricSpec metric,
                     std::string_view operation) {
  if (oracle::knows(metric)) count(operation, got.stats.plan);
  return text_of(oracle::difference(got, want), got.exact);
}

std::string mismatch(const Ranges& got, const oracle::RangeAnswer& want) {
  count("within", got.stats.plan);
  return text_of(oracle::difference(got, want), got.exact);
}

std::string mismatch(const Pairs& got, const oracle::PairAnswer& want, std::string_view operation) {
  count(operation, got.stats.plan);
  return text_of(oracle::difference(got, want), got.exact);
}

std::int64_t small_memory_limit(const RowSource& queries, const RowSource& base,
                                const KnnOptions& options, Context context) {
  constexpr std::int64_t kGiveUp = std::int64_t{1} << 40;
  context.memory_limit.reset();
  const std::int64_t result_bytes = plan_knn(queries, base, options, context).result_bytes;
  for (std::int64_t working = 256;; working *= 2) {
    context.memory_limit = result_bytes + working;
    try {
      plan_knn(queries, base, options, context);
      return result_bytes + working;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::memory_limit || working > kGiveUp) {
        throw;
      }
    }
  }
}

namespace {

TEST(IsaSweep, RequiredIsasAreTested) {
  const char* const text = std::getenv("NEARFIELD_REQUIRE_ISAS");
  std::vector<Isa> required;
  EXPECT_FALSE(available_isas().empty());
  if (text != nullptr) {
    ASSERT_NO_THROW(required = parse_isa_list(text))
        << "NEARFIELD_REQUIRE_ISAS=\"" << text << "\" is not a list of ISAs";
  }
  for (const Isa isa : required) {
    EXPECT_TRUE(is_available(isa)) << to_string(isa) << " is required but cannot be tested here";
  }
}

TEST(IsaSweep, MalformedListsAreRefused) {
  EXPECT_EQ(parse_isa_list("scalar"), std::vector{Isa::scalar});
  EXPECT_EQ(parse_isa_list("avx2,neon"), (std::vector{Isa::avx2, Isa::neon}));
  for (const char* text : {"", ",", "scalar,", ",scalar", "scalar,,avx2", "sse5", "scalar avx2"}) {
    EXPECT_THROW(parse_isa_list(text), std::exception) << '"' << text << '"';
  }
}

TEST(IsaSweep, ForcedIsaReallyRuns) {
  for (const MetricSpec metric : every_metric()) {
    for (const DType dtype : types_of(info(metric).input, Types::all)) {
      const Matrix base = data::make_matrix({data::Kind::gaussian, dtype, 20, 19, 1});
      for (const Isa isa : swept_isas()) {
        const Neighbors result = knn(base, base, nearest(3, metric), forced(isa));
        const Plan& plan = result.stats.plan;
        EXPECT_EQ(plan.isa, isa) << plan.kernel;
        EXPECT_TRUE(plan.kernel.ends_with(fmt::format("/{}", to_string(isa))))
            << plan.kernel << " does not end in " << to_string(isa);
      }
    }
  }
}

TEST(IsaSweep, UnavailableIsaIsAnErrorThatNamesIt) {
  const Matrix base(DType::f32, 3, 4);
  int unavailable = 0;
  for (const Isa isa : kEveryIsa) {
    if (is_available(isa)) {
      continue;
    }
    ++unavailable;
    try {
      knn(base, base, nearest(1), forced(isa));
      ADD_FAILURE() << to_string(isa) << " is not available and ran";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
      EXPECT_NE(std::string_view(error.what()).find(to_string(isa)), std::string_view::npos)
          << error.what();
    }
  }
  EXPECT_GT(unavailable, 0) << "no machine runs both neon and avx2";
}

}  // namespace
}  // namespace nearfield::contract
