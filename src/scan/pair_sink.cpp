#include "scan/pair_sink.hpp"

#include <algorithm>
#include <utility>

namespace nearfield {

PairCollection::PairCollection(double bound, Admits admits, std::optional<std::int64_t> most,
                               FoundBudget& budget, const PairIds& ids)
    : admits_(std::move(admits)), budget_(budget), ids_(ids), bound_(bound) {
  if (most) {
    closest_.emplace(*most);
    bound_ = std::min(bound, closest_->threshold());
  }
}

KeyedPair PairCollection::named(double key, std::int64_t first, std::int64_t second) const {
  const std::int64_t a = id_of(ids_.first, first);
  const std::int64_t b = id_of(ids_.second, second);
  return ids_.one_set && b < a ? KeyedPair{key, b, a} : KeyedPair{key, a, b};
}

void PairCollection::take(const Candidates& candidates, std::span<const double> keys) {
  // Once the bound has fallen, nearly every block ends here, and no thread waits for another.
  const std::int64_t close = count_close(keys, bound());
  if (close == 0) return;
  if (!closest_) budget_.spend(close);

  const std::scoped_lock lock(mutex_);
  for_each_close(
      candidates, keys, [&](std::int64_t) { return this->bound(); },
      [&](std::int64_t first, double key, std::int64_t second) {
        if (!admits_(key)) return;
        if (!closest_) {
          all_.push_back(named(key, first, second));
          return;
        }
        closest_->offer(named(key, first, second));
        if (closest_->threshold() < this->bound()) bound_ = closest_->threshold();
      });
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
