#include "scan/pair_sink.hpp"

#include <algorithm>

namespace nearfield {

PairCollection::PairCollection(double bound, std::optional<std::int64_t> most, FoundBudget& budget)
    : budget_(budget), bound_(bound) {
  if (most) {
    closest_.emplace(*most);
    bound_ = std::min(bound, closest_->threshold());
  }
}

void PairCollection::take(const Candidates& candidates, std::span<const double> keys) {
  // Once the bound has fallen, nearly every block ends here, and no thread waits for another.
  const double bound = this->bound();
  if (std::none_of(keys.begin(), keys.end(), [&](double key) { return key <= bound; })) return;

  const std::scoped_lock lock(mutex_);
  const std::size_t before = all_.size();
  for_each_close(
      candidates, keys, [&](std::int64_t) { return this->bound(); },
      [&](std::int64_t first, double key, std::int64_t second) {
        if (!closest_) {
          all_.push_back({key, first, second});
          return;
        }
        closest_->offer({key, first, second});
        if (closest_->threshold() < this->bound()) bound_ = closest_->threshold();
      });
  if (!closest_) budget_.spend(static_cast<std::int64_t>(all_.size() - before));
}

std::span<const KeyedPair> PairCollection::finish() {
  if (closest_) return closest_->finish();
  std::sort(all_.begin(), all_.end());
  return all_;
}

void PairSink::thresholds(Range /*queries*/, std::span<double> out) const {
  std::fill(out.begin(), out.end(), pairs_.bound());
}

}  // namespace nearfield
