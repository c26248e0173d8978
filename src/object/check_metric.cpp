#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include <nearfield/object_metric.hpp>

#include "core/fail.hpp"
#include "core/infinity.hpp"
#include "core/monitor.hpp"
#include "core/random.hpp"
#include "device/device_name.hpp"
#include "distance/kernels.hpp"
#include "object/object_list.hpp"

namespace nearfield {
namespace {

using Triple = std::array<std::int64_t, 3>;

// Of which signatures are fitted: as many as an index takes.
constexpr std::size_t kFitSample = 4096;

bool is_distance(double distance) { return distance >= 0 && !std::isinf(distance); }

void worsen(MetricReport::Violation& worst, double by, const Triple& objects) {
  if (by > worst.by) worst = {by, objects};
}

class MetricCheck {
 public:
  MetricCheck(const ObjectMetric& metric, std::span<const ObjectView> objects, Isa isa)
      : metric_(metric),
        objects_(objects),
        isa_(isa),
        slack_(metric.whole_numbers() ? 0 : metric.slack()),
        signatures_(metric.fit_signatures(objects.first(std::min(objects.size(), kFitSample)))) {
    if (signatures_ == nullptr) return;
    const auto bytes = static_cast<std::size_t>(signatures_->bytes());
    signature_from_.resize(bytes);
    signature_to_.resize(bytes);
  }

  void look_at(const Triple& triple) {
    const auto [a, b, c] = triple;
    const std::array from_a{self(a), between(a, b), between(a, c)};
    const std::array back{between(b, a), between(c, a), between(b, c)};
    look_under_limit(a, b, from_a[1]);
    ++report_.triples;
    worsen(report_.identity, from_a[0], {a, a, -1});
    look_back(from_a[1], back[0], {a, b, -1});
    look_back(from_a[2], back[1], {a, c, -1});
    // Each of the three as the longest side.
    look_at_way(from_a[2], from_a[1], back[2], triple);
    look_at_way(from_a[1], from_a[2], back[2], {a, c, b});
    look_at_way(back[2], from_a[1], from_a[2], {b, a, c});
  }

  MetricReport report() const { return report_; }

 private:
  double self(std::int64_t a) { return between(a, a); }

  double ask(std::int64_t a, std::int64_t b, double limit) {
    double distance = 0;
    metric_.distances(objects_[static_cast<std::size_t>(a)],
                      objects_.subspan(static_cast<std::size_t>(b), 1), limit, isa_,
                      std::span(&distance, 1));
    ++report_.distances;
    return distance;
  }

  double between(std::int64_t a, std::int64_t b) {
    const double distance = ask(a, b, kInfinity);
    if (!is_distance(distance)) {
      worsen(report_.not_a_distance, distance < 0 ? -distance : kInfinity, {a, b, -1});
      return distance;
    }
    if (metric_.whole_numbers()) {
      worsen(report_.whole_numbers, distance - std::trunc(distance), {a, b, -1});
    }
    if (signatures_ != nullptr) look_at_signatures(a, b, distance);
    return distance;
  }

  // In a unit just above the distance a bound that is too high is of level 1 or more; in a coarser
  // one its level says more of how high it is. Of whole numbers the unit is 1.
  void look_at_signatures(std::int64_t a, std::int64_t b, double distance) {
    signatures_->make(objects_[static_cast<std::size_t>(a)], signature_from_.data());
    signatures_->make(objects_[static_cast<std::size_t>(b)], signature_to_.data());
    const std::array<double, 2> units =
        metric_.whole_numbers() ? std::array{1.0, 1.0}
                                : std::array{std::max(distance * (1 + 0x1p-39), 0x1p-1000),
                                             distance > 0 ? distance / 64 : 1.0};
    for (const double unit : units) {
      std::uint8_t level = 0;
      signatures_->raise_levels(signature_from_.data(), signature_to_.data(), 1, unit, isa_,
                                &level);
      worsen(report_.bound, level * unit - distance * (1 + 0x1p-40), {a, b, -1});
    }
  }

  // In turn under the distance itself, which is then to be said, and under half of it.
  void look_under_limit(std::int64_t a, std::int64_t b, double distance) {
    if (!is_distance(distance)) return;
    const bool half = report_.triples % 2 != 0 && distance > 0;
    const double said = ask(a, b, half ? distance / 2 : distance);
    const bool wrong = half ? !(said > distance / 2) : said != distance;
    if (!wrong) return;
    worsen(report_.limit, is_distance(said) ? std::abs(said - distance) : kInfinity, {a, b, -1});
  }

  void look_back(double there, double back, const Triple& objects) {
    const double by = std::abs(there - back);
    if (by > slack_ * (there + back)) worsen(report_.symmetry, by, objects);
  }

  // PivotScale widens bounds by what is allowed here.
  void look_at_way(double direct, double first, double second, const Triple& objects) {
    const double allowed = slack_ * (direct + first + second);
    const double by = direct - first - second;
    if (by > allowed) worsen(report_.triangle, by, objects);
  }

  const ObjectMetric& metric_;
  std::span<const ObjectView> objects_;
  Isa isa_;
  double slack_;  // whole numbers have none, whatever the metric says
  std::shared_ptr<const ObjectSignatures> signatures_;
  std::vector<std::byte> signature_from_;
  std::vector<std::byte> signature_to_;
  MetricReport report_;
};

}  // namespace

bool MetricReport::holds() const {
  return not_a_distance.by == 0 && identity.by == 0 && symmetry.by == 0 && triangle.by == 0 &&
         whole_numbers.by == 0 && bound.by == 0 && limit.by == 0;
}

namespace {

// What a metric says of itself and does not keep, a line each.
std::string broken_declarations(const MetricReport& report) {
  std::string text;
  const auto add = [&](const MetricReport::Violation& one, const char* what) {
    if (one.by == 0) return;
    text += fmt::format(fmt::runtime(what), one.objects[0], one.objects[1], one.by);
  };
  add(report.whole_numbers,
      "from object {} to {} is {} above a whole number, but the metric says whole_numbers\n");
  add(report.bound,
      "the bound by the signatures of objects {} and {} is above their distance, by {} or more: "
      "searches lose neighbours; search without signatures, or lower it\n");
  add(report.limit,
      "from object {} to {} the metric says {} more or less when it is asked with a limit: up to "
      "the limit it must say the same, and beyond it a number above the limit\n");
  return text;
}

}  // namespace

std::string to_string(const MetricReport& report) {
  if (report.holds()) return fmt::format("a metric on {} triples", report.triples);
  std::string text;
  const auto [a, b, c] = report.triangle.objects;
  if (report.not_a_distance.by != 0) {
    text += fmt::format("not a number that can be a distance, between objects {} and {}\n",
                        report.not_a_distance.objects[0], report.not_a_distance.objects[1]);
  }
  if (report.identity.by != 0) {
    text += fmt::format("object {} is {} from itself, not 0\n", report.identity.objects[0],
                        report.identity.by);
  }
  if (report.symmetry.by != 0) {
    text += fmt::format("from object {} to {} and back differ by {}\n", report.symmetry.objects[0],
                        report.symmetry.objects[1], report.symmetry.by);
  }
  if (report.triangle.by != 0) {
    text += fmt::format(
        "from object {} to {} is {} more than by way of {}: pivots may lose neighbours; search "
        "with "
        "none, or raise the slack if that is rounding\n",
        a, c, report.triangle.by, b);
  }
  text += broken_declarations(report);
  text.pop_back();
  return text;
}

MetricReport check_metric(const ObjectMetric& metric, std::span<const ObjectView> objects,
                          std::int64_t triples, const Context& context) {
  if (triples < 0) {
    fail(ErrorCode::invalid_argument, "the number of triples is 0 or more, got {}", triples);
  }
  check_on_cpu(context, "checking a metric");
  check_usable(metric);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    check_object(metric, objects[i], static_cast<std::int64_t>(i));
  }
  MetricCheck check(metric, objects, isa_of(context));
  if (objects.empty()) return check.report();
  Random random(context.seed);
  Monitor monitor(context, triples);
  const auto some = [&] { return random.below(std::ssize(objects)); };
  for (std::int64_t i = 0; i < triples; ++i) {
    const std::int64_t a = some();
    const std::int64_t b = some();
    check.look_at({a, b, some()});
    monitor.advance(1);
  }
  monitor.finish();
  return check.report();
}

}  // namespace nearfield
