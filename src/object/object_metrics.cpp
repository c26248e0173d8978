#include <nearfield/object_metrics.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/fail.hpp"
#include "object/text_metrics.hpp"

namespace nearfield {
namespace {

using SharedMetric = std::shared_ptr<const ObjectMetric>;

template <class T, class Metric>
SharedMetric typed(Metric metric) {
  return std::make_shared<TypedMetric<T, Metric>>(std::move(metric));
}

using Numbers = std::vector<double>;

// What stands behind the name, if the metric needs something.
double parameter(std::string_view name, std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) {
    fail(ErrorCode::invalid_argument,
         "the metric '{}' needs a number behind it, as in '{}:2', got '{}'", name, name, text);
  }
  return value;
}

// Of a point. Whether they are too few, the metric says.
std::int64_t whole_columns(double columns) {
  constexpr double kMost = 1e9;
  if (!(std::abs(columns) <= kMost) || std::trunc(columns) != columns) {  // it refuses NaN
    fail(ErrorCode::invalid_argument,
         "the columns of a point are a whole number of at most {}, got {}", kMost, columns);
  }
  return static_cast<std::int64_t>(columns);
}

struct NamedMetric {
  ObjectMetricInfo info;
  SharedMetric (*make)(double parameter);

  std::string_view word() const { return info.name.substr(0, info.name.find(':')); }
  bool needs_parameter() const { return info.name.find(':') != std::string_view::npos; }
};

constexpr std::array kNamed = {
    NamedMetric{{"edit", "symbols added, dropped or replaced", ObjectInput::text},
                [](double) { return edit_metric(); }},
    NamedMetric{{"damerau", "the same, and neighbours swapped", ObjectInput::text},
                [](double) { return damerau_metric(); }},
    NamedMetric{
        {"jaccard", "what only one of two sets has, of what either has", ObjectInput::members},
        [](double) { return typed<std::vector<std::uint64_t>>(JaccardDistance()); }},
    NamedMetric{{"angular", "the angle between two vectors", ObjectInput::numbers},
                [](double) { return typed<Numbers>(AngularDistance()); }},
    NamedMetric{{"lp:P", "the P-th root of the sum of |x-y|^P", ObjectInput::numbers},
                [](double p) { return typed<Numbers>(LpDistance(p)); }},
    NamedMetric{
        {"hausdorff:D", "of sets of points of D numbers each", ObjectInput::numbers},
        [](double columns) { return typed<Numbers>(HausdorffDistance(whole_columns(columns))); }},
};

}  // namespace

std::span<const ObjectMetricInfo> object_metrics() {
  static const auto infos = [] {
    std::array<ObjectMetricInfo, kNamed.size()> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = kNamed[i].info;
    return all;
  }();
  return infos;
}

std::shared_ptr<const ObjectMetric> object_metric(std::string_view name) {
  const std::size_t colon = name.find(':');
  const std::string_view word = name.substr(0, colon);
  std::string names;
  for (const NamedMetric& named : kNamed) {
    names += fmt::format(" {}", named.info.name);
    if (named.word() != word) continue;
    if (named.needs_parameter()) {
      return named.make(
          parameter(word, colon == std::string_view::npos ? "" : name.substr(colon + 1)));
    }
    if (colon == std::string_view::npos) return named.make(0);
  }
  fail(ErrorCode::invalid_argument, "unknown metric '{}' of objects; there are:{}", name, names);
}

}  // namespace nearfield
