#include "index/lsh/lsh_parameters.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "core/fail.hpp"
#include "index/family.hpp"

namespace nearfield {
namespace {

struct NamedKind {
  std::string_view name;
  LshKind kind;
};
constexpr std::array kKinds{NamedKind{"sign", LshKind::sign},
                            NamedKind{"gaussian", LshKind::gaussian},
                            NamedKind{"floor", LshKind::floor}, NamedKind{"e8", LshKind::e8},
                            NamedKind{"learned", LshKind::learned}};

// Two to a bucket at most where rows are spread evenly; 24 bits of starts take 64 MiB.
constexpr int kLeastAutoBits = 4;
constexpr int kMostAutoBits = 24;
constexpr int kE8Bits = 8 * kLshCellBits;

bool has_sides(LshKind kind) {
  return kind == LshKind::sign || kind == LshKind::gaussian || kind == LshKind::learned;
}

// Keys have a multiple of these.
int bit_unit(LshKind kind, int each) {
  if (kind == LshKind::e8) return kE8Bits;
  return kind == LshKind::floor ? kLshCellBits : each;
}

void check_hashable(const IndexSpec& spec) {
  const Metric metric = spec.metric.metric;
  if (metric == Metric::inner_product) {
    fail(ErrorCode::invalid_argument,
         "lsh looks up what is near, and the largest products may be with vectors that are far: "
         "scale the vectors to one length and use cosine, or use flat");
  }
  if (spec.dtype == DType::bits ||
      (metric != Metric::sqeuclidean && metric != Metric::euclidean && metric != Metric::cosine)) {
    fail(ErrorCode::invalid_argument,
         "lsh is for floats and bytes under sqeuclidean, euclidean or cosine, and these are {} "
         "under {}: use {}",
         to_string(spec.dtype), to_string(spec.metric), spec.dtype == DType::bits ? "mih" : "flat");
  }
}

LshKind kind_of(std::string_view value) {
  std::string known;
  for (const auto& [name, kind] : kKinds) {
    if (name == value) return kind;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  fail(ErrorCode::invalid_argument, "lsh has no hash '{}': it has {}", value, known);
}

bool is_sorted(std::string_view value) {
  if (value != "sort" && value != "table") {
    fail(ErrorCode::invalid_argument, "lsh has no match '{}': it has table and sort", value);
  }
  return value == "sort";
}

bool is_by_tiles(std::string_view value) {
  if (value != "tiles" && value != "pairs") {
    fail(ErrorCode::invalid_argument, "lsh has no compare '{}': it has pairs and tiles", value);
  }
  return value == "tiles";
}

void take_parameter(const FamilyParameter& given, LshParameters& parameters) {
  if (given.name == "hash") {
    parameters.kind = kind_of(given.value);
  } else if (given.name == "bits") {
    parameters.bits = given.number(1, kMostLshBits);
  } else if (given.name == "each") {
    parameters.each = static_cast<int>(given.number(1, 2));
  } else if (given.name == "tables") {
    parameters.tables = given.number(1, kMostLshTables);
  } else if (given.name == "probes") {
    parameters.probes = given.number(1, kMostLshProbes);
  } else if (given.name == "width") {
    parameters.width = given.number(1, 100'000);
  } else if (given.name == "match") {
    parameters.sorted = is_sorted(given.value);
  } else if (given.name == "compare") {
    parameters.tiles = is_by_tiles(given.value);
  } else if (given.name == "seed") {
    parameters.seed = static_cast<std::uint64_t>(given.number(0, INT64_MAX));
  } else {
    fail(ErrorCode::invalid_argument,
         "lsh has no parameter '{}': it has hash, bits, each, tables, probes, width, match, "
         "compare, seed",
         given.name);
  }
}

}  // namespace

int LshScheme::bits_of_a_projection() const { return has_sides(kind) ? each : kLshCellBits; }

LshScheme LshParameters::scheme(std::int64_t rows) const {
  const int unit = bit_unit(kind, each);
  if (bits > 0) return {kind, static_cast<int>(bits), each};
  const int by_rows = std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))),
                                 kLeastAutoBits, kMostAutoBits);
  return {kind, (by_rows + unit - 1) / unit * unit, each};
}

LshParameters parse_lsh(const IndexSpec& spec) {
  check_hashable(spec);
  LshParameters parameters;
  bool width = false;
  for (const FamilyParameter& given : family_parameters(spec.family)) {
    take_parameter(given, parameters);
    width = width || given.name == "width";
  }
  if (parameters.each == 2 && !has_sides(parameters.kind)) {
    fail(ErrorCode::invalid_argument, "two bits of each projection are of sign, gaussian, learned");
  }
  if (width && has_sides(parameters.kind)) {
    fail(ErrorCode::invalid_argument, "'width' is that of cells: of floor and e8");
  }
  if (const int unit = bit_unit(parameters.kind, parameters.each); parameters.bits % unit != 0) {
    fail(ErrorCode::invalid_argument, "keys of this hash have a multiple of {} bits, not {}", unit,
         parameters.bits);
  }
  return parameters;
}

std::string lsh_family(const LshParameters& parameters) {
  const auto named = std::ranges::find(kKinds, parameters.kind, &NamedKind::kind);
  std::string family = fmt::format("lsh,hash={},bits={},tables={},probes={}", named->name,
                                   parameters.bits, parameters.tables, parameters.probes);
  if (parameters.each == 2) family += ",each=2";
  if (!has_sides(parameters.kind)) family += fmt::format(",width={}", parameters.width);
  if (parameters.sorted) family += ",match=sort";
  if (parameters.tiles) family += ",compare=tiles";
  if (parameters.seed != 0) family += fmt::format(",seed={}", parameters.seed);
  return family;
}

}  // namespace nearfield
