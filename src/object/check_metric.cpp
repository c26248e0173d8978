#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <nearfield/object_metric.hpp>

#include "core/fail.hpp"
#include "core/infinity.hpp"
#include "core/monitor.hpp"
#include "core/random.hpp"
#include "device/device_name.hpp"
#include "object/object_list.hpp"

namespace nearfield {
namespace {

using Triple = std::array<std::int64_t, 3>;

void worsen(MetricReport::Violation& worst, double by, const Triple& objects) {
  if (by > worst.by) worst = {by, objects};
}

class MetricCheck {
 public:
  MetricCheck(const ObjectMetric& metric, std::span<const ObjectView> objects, Isa isa)
      : metric_(metric), objects_(objects), isa_(isa) {}

  void look_at(const Triple& triple) {
    const auto [a, b, c] = triple;
    const std::array from_a{self(a), between(a, b), between(a, c)};
    const std::array back{between(b, a), between(c, a), between(b, c)};
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

  double between(std::int64_t a, std::int64_t b) {
    double distance = 0;
    metric_.distances(objects_[static_cast<std::size_t>(a)],
                      objects_.subspan(static_cast<std::size_t>(b), 1), kInfinity, isa_,
                      std::span(&distance, 1));
    ++report_.distances;
    if (!(distance >= 0) || std::isinf(distance)) {
      worsen(report_.not_a_distance, distance < 0 ? -distance : kInfinity, {a, b, -1});
    }
    return distance;
  }

  void look_back(double there, double back, const Triple& objects) {
    const double by = std::abs(there - back);
    if (by > metric_.slack() * (there + back)) worsen(report_.symmetry, by, objects);
  }

  void look_at_way(double direct, double first, double second, const Triple& objects) {
    const double allowed = metric_.slack() * (direct + first + second);
    const double by = direct - first - second;
    if (by > allowed) worsen(report_.triangle, by, objects);
  }

  const ObjectMetric& metric_;
  std::span<const ObjectView> objects_;
  Isa isa_;
  MetricReport report_;
};

}  // namespace

bool MetricReport::holds() const {
  return not_a_distance.by == 0 && identity.by == 0 && symmetry.by == 0 && triangle.by == 0;
}

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
  MetricCheck check(metric, objects, context.isa.value_or(default_isa()));
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
