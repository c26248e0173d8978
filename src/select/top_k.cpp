#include "select/top_k.hpp"

#include <algorithm>

namespace nearfield {
namespace {

// Below this a selection runs so often that its fixed cost shows.
constexpr std::int64_t kLeastCapacity = 32;

// After every neighbour, those at infinity included.
constexpr Neighbor kLast{std::numeric_limits<double>::infinity(),
                         std::numeric_limits<std::int64_t>::max()};
// Before every neighbour: with k = 0 nothing gets in.
constexpr Neighbor kFirst{-std::numeric_limits<double>::infinity(), -1};

}  // namespace

std::int64_t TopK::capacity(std::int64_t k) { return std::max(2 * k, kLeastCapacity); }

TopK::TopK(std::int64_t k) : k_(k), worst_(k > 0 ? kLast : kFirst) {}

void TopK::push(Neighbor candidate) {
  // All at once at the first: many queries of a large base end with few survivors each.
  if (buffer_.empty()) buffer_.reserve(static_cast<std::size_t>(capacity(k_)));
  buffer_.push_back(candidate);
  if (static_cast<std::int64_t>(buffer_.size()) == capacity(k_)) shrink();
}

void TopK::shrink() {
  std::nth_element(buffer_.begin(), buffer_.begin() + (k_ - 1), buffer_.end());
  buffer_.resize(static_cast<std::size_t>(k_));
  worst_ = buffer_.back();
}

std::span<const Neighbor> TopK::finish() {
  if (static_cast<std::int64_t>(buffer_.size()) > k_) shrink();
  std::sort(buffer_.begin(), buffer_.end());
  return buffer_;
}

}  // namespace nearfield
