// The least work of transport: flows along the cheapest ways that are left, until all is moved.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include <nearfield/object_metrics.hpp>

#include "core/fail.hpp"
#include "core/infinity.hpp"
#include "object/hash_of_numbers.hpp"

namespace nearfield {
namespace {

// Of all mass: sums may differ by so much, since who divides by a sum rounds.
constexpr double kMassRounding = 1e-9;

// Of all mass: what is left in a bin and smaller is rounding of the flows. Not more than that: mass
// that stays where it is costs nothing, which the triangle inequality does not forgive.
constexpr double kFlowRounding = 1e-15;

// From bins with too much to bins with too little. Moving within a bin costs nothing, and under a
// metric nothing is gained by moving more than the difference.
class Transport {
 public:
  Transport(std::span<const double> surplus, std::span<const double> ground, double nothing)
      : ground_(ground), bins_(surplus.size()), nothing_(nothing) {
    for (std::size_t bin = 0; bin < bins_; ++bin) {
      if (surplus[bin] > nothing) sources_.push_back({bin, surplus[bin]});
      if (surplus[bin] < -nothing) sinks_.push_back({bin, -surplus[bin]});
    }
    flows_.resize(sources_.size() * sinks_.size());
    source_prices_.resize(sources_.size());
    sink_prices_.resize(sinks_.size());
  }

  double least_work() {
    while (move_along_cheapest_way()) {
    }
    double work = 0;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      for (std::size_t j = 0; j < sinks_.size(); ++j) work += flow(i, j) * cost(i, j);
    }
    return work;
  }

 private:
  struct Place {
    std::size_t bin;
    double left;
  };

  double cost(std::size_t source, std::size_t sink) const {
    return ground_[sources_[source].bin * bins_ + sinks_[sink].bin];
  }
  double& flow(std::size_t source, std::size_t sink) {
    return flows_[source * sinks_.size() + sink];
  }

  // Dijkstra's search over costs that prices keep from being negative. False where nothing is left.
  bool move_along_cheapest_way() {
    const std::size_t sources = sources_.size();
    const std::size_t all = sources + sinks_.size();
    std::vector<double> away(all, kInfinity);
    std::vector<std::size_t> before(all, all);
    std::vector<bool> done(all);
    for (std::size_t i = 0; i < sources; ++i) {
      if (sources_[i].left > nothing_) away[i] = 0;
    }
    const auto reach = [&](std::size_t from, std::size_t to, double way) {
      if (away[from] + way >= away[to]) return;
      away[to] = away[from] + way;
      before[to] = from;
    };
    std::optional<std::size_t> end;
    for (;;) {
      std::size_t next = all;
      for (std::size_t i = 0; i < all; ++i) {
        if (!done[i] && away[i] < kInfinity && (next == all || away[i] < away[next])) next = i;
      }
      if (next == all) break;
      done[next] = true;
      if (next < sources) {
        for (std::size_t j = 0; j < sinks_.size(); ++j) {
          const double way = cost(next, j) + source_prices_[next] - sink_prices_[j];
          reach(next, sources + j, std::max(way, 0.0));
        }
        continue;
      }
      const std::size_t sink = next - sources;
      if (sinks_[sink].left > nothing_) {
        end = next;
        break;
      }
      for (std::size_t i = 0; i < sources; ++i) {
        if (flow(i, sink) <= 0) continue;
        const double way = sink_prices_[sink] - source_prices_[i] - cost(i, sink);
        reach(next, i, std::max(way, 0.0));
      }
    }
    if (!end) return false;
    raise_prices(away, away[*end]);
    push(before, *end);
    return true;
  }

  void raise_prices(const std::vector<double>& away, double most) {
    for (std::size_t i = 0; i < sources_.size(); ++i) source_prices_[i] += std::min(away[i], most);
    for (std::size_t j = 0; j < sinks_.size(); ++j) {
      sink_prices_[j] += std::min(away[sources_.size() + j], most);
    }
  }

  // As much as both ends and the flows that are taken back allow.
  void push(const std::vector<std::size_t>& before, std::size_t end) {
    const std::size_t sources = sources_.size();
    const std::size_t none = before.size();
    double most = sinks_[end - sources].left;
    std::size_t at = end;
    for (; before[at] != none; at = before[at]) {
      if (at < sources) most = std::min(most, flow(at, before[at] - sources));
    }
    most = std::min(most, sources_[at].left);
    sources_[at].left -= most;
    sinks_[end - sources].left -= most;
    for (at = end; before[at] != none; at = before[at]) {
      if (at < sources) {
        flow(at, before[at] - sources) -= most;
      } else {
        flow(before[at], at - sources) += most;
      }
    }
  }

  std::span<const double> ground_;
  std::size_t bins_;
  double nothing_;
  std::vector<Place> sources_;
  std::vector<Place> sinks_;
  std::vector<double> flows_;
  std::vector<double> source_prices_;
  std::vector<double> sink_prices_;
};

}  // namespace

EarthMoversDistance::EarthMoversDistance(std::vector<double> ground_distances)
    : bins(std::llround(std::sqrt(static_cast<double>(ground_distances.size())))),
      ground(std::move(ground_distances)),
      name(fmt::format("earth movers:{}:{}", bins, hash_of_numbers(ground))) {
  if (bins * bins != std::ssize(ground)) {
    fail(ErrorCode::invalid_argument, "{} ground distances are not those between each two bins",
         ground.size());
  }
  const auto at = [&](std::int64_t a, std::int64_t b) {
    return ground[static_cast<std::size_t>(a * bins + b)];
  };
  for (std::int64_t a = 0; a < bins; ++a) {
    for (std::int64_t b = 0; b < bins; ++b) {
      if (!(at(a, b) >= 0) || std::isinf(at(a, b)) || at(a, b) != at(b, a) || at(a, a) != 0) {
        fail(ErrorCode::invalid_argument,
             "the ground distance of bins {} and {} is {}, and {} the other way: no metric", a, b,
             at(a, b), at(b, a));
      }
    }
  }
}

double EarthMoversDistance::operator()(std::span<const double> a, std::span<const double> b) const {
  if (std::ssize(a) != bins || std::ssize(b) != bins) {
    fail(ErrorCode::invalid_argument, "histograms of {} and {} bins, and ground distances of {}",
         a.size(), b.size(), bins);
  }
  const double mass = std::accumulate(a.begin(), a.end(), 0.0);
  const double other = std::accumulate(b.begin(), b.end(), 0.0);
  const bool negative = std::any_of(a.begin(), a.end(), [](double x) { return !(x >= 0); }) ||
                        std::any_of(b.begin(), b.end(), [](double x) { return !(x >= 0); });
  if (negative || std::abs(mass - other) > kMassRounding * std::max(mass, other)) {
    fail(ErrorCode::invalid_argument,
         "masses are not negative and have equal sums, got {} and {}: divide each by its sum", mass,
         other);
  }
  std::vector<double> surplus(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) surplus[i] = a[i] - b[i];
  return Transport(surplus, ground, kFlowRounding * mass / static_cast<double>(bins + 1))
      .least_work();
}

}  // namespace nearfield
