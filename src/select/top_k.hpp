// Keeps the k first neighbours of a stream under the total order.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <nearfield/results.hpp>

namespace nearfield {

// A buffer of twice k: what comes in before the threshold is appended, and when the buffer is full,
// a selection in linear time keeps the first k and lowers the threshold. So a candidate costs a
// comparison, and one that gets in a few more, for any k; and since the order is total, what is
// kept does not depend on the order of arrival.
class TopK {
 public:
  explicit TopK(std::int64_t k);

  static std::int64_t capacity(std::int64_t k);

  // A key above this can no longer get in. (One equal to it can, with a smaller id.)
  double threshold() const { return worst_.key; }

  void offer(Neighbor candidate) {
    if (candidate < worst_) push(candidate);
  }

  // The first k that were offered, sorted. Ends the stream.
  std::span<const Neighbor> finish();

 private:
  void push(Neighbor candidate);
  void shrink();

  std::int64_t k_;
  Neighbor worst_;
  std::vector<Neighbor> buffer_;
};

}  // namespace nearfield
