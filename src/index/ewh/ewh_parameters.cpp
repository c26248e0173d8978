#include "index/ewh/ewh_parameters.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/ranges.h>

#include "core/fail.hpp"
#include "index/family.hpp"

namespace nearfield {
namespace {

std::int64_t ewh_number(const FamilyParameter& given, std::int64_t least, std::int64_t most) {
  const std::int64_t value = given.number();
  if (value < least || value > most) {
    fail(ErrorCode::invalid_argument, "{} of ewh is {} to {} here, not {}", given.name, least, most,
         value);
  }
  return value;
}

double recall_of_ewh(const FamilyParameter& given) {
  double value = 0;
  const char* const end = given.value.data() + given.value.size();
  const auto [stop, error] = std::from_chars(given.value.data(), end, value);
  if (error != std::errc() || stop != end || !(value > 0 && value < 1)) {
    fail(ErrorCode::invalid_argument, "{} of ewh is a share between 0 and 1, not '{}'", given.name,
         given.value);
  }
  return value;
}

// "3:2:1".
std::vector<int> ewh_weights(const FamilyParameter& given) {
  std::vector<int> weights;
  for (std::size_t at = 0; at <= given.value.size();) {
    const std::size_t end = std::min(given.value.find(':', at), given.value.size());
    const FamilyParameter one{given.name, given.value.substr(at, end - at)};
    weights.push_back(static_cast<int>(ewh_number(one, 1, kMostEwhScore)));
    at = end + 1;
  }
  return weights;
}

void check_ewh_weights(const EwhParameters& parameters) {
  const std::vector<int>& weights = parameters.weights;
  if (weights.empty()) return;
  if (std::ssize(weights) != parameters.errors + 1 ||
      !std::ranges::is_sorted(weights, std::greater<>())) {
    fail(ErrorCode::invalid_argument,
         "ewh with {} errors has {} weights that do not rise, of 0 errors first, not {}",
         parameters.errors, parameters.errors + 1, fmt::join(weights, ":"));
  }
  if (parameters.tables.value_or(1) * weights.front() > kMostEwhScore) {
    fail(ErrorCode::invalid_argument,
         "{} tables with a weight of {} reach scores above {}: give smaller weights",
         *parameters.tables, weights.front(), kMostEwhScore);
  }
}

}  // namespace

EwhParameters parse_ewh(const IndexSpec& spec) {
  if (spec.dtype != DType::bits || spec.metric.metric != Metric::hamming) {
    fail(ErrorCode::invalid_argument,
         "ewh is for packed bits under hamming, and these are {} under {}: use flat",
         to_string(spec.dtype), to_string(spec.metric));
  }
  const std::int64_t most_bits = std::min<std::int64_t>(kMostEwhBits, spec.cols);
  EwhParameters parameters;
  parameters.errors = static_cast<int>(std::min<std::int64_t>(parameters.errors, most_bits));
  parameters.near = std::max<std::int64_t>(1, spec.cols / 10);
  for (const FamilyParameter& given : family_parameters(spec.family)) {
    if (given.name == "tables") {
      parameters.tables = ewh_number(given, 1, kMostEwhTables);
    } else if (given.name == "bits") {
      parameters.bits = static_cast<int>(ewh_number(given, 1, most_bits));
    } else if (given.name == "errors") {
      parameters.errors = static_cast<int>(ewh_number(given, 0, kMostEwhErrors));
    } else if (given.name == "weights") {
      parameters.weights = ewh_weights(given);
    } else if (given.name == "threshold") {
      parameters.threshold = static_cast<int>(ewh_number(given, 1, kMostEwhScore));
    } else if (given.name == "seed") {
      parameters.seed = ewh_number(given, 0, std::numeric_limits<std::int64_t>::max());
    } else if (given.name == "near") {
      parameters.near = ewh_number(given, 1, spec.cols);
    } else if (given.name == "recall") {
      parameters.recall = recall_of_ewh(given);
    } else {
      fail(ErrorCode::invalid_argument,
           "ewh has no parameter '{}': it has tables, bits, errors, weights, threshold, seed, near "
           "and recall",
           given.name);
    }
  }
  if (parameters.errors > parameters.bits.value_or(static_cast<int>(most_bits))) {
    fail(ErrorCode::invalid_argument, "tables of {} bits do not differ in {}: give fewer errors",
         parameters.bits.value_or(static_cast<int>(most_bits)), parameters.errors);
  }
  check_ewh_weights(parameters);
  return parameters;
}

}  // namespace nearfield
