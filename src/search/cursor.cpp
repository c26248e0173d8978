#include <nearfield/cursor.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "core/checked.hpp"
#include "core/fail.hpp"

namespace nearfield {
namespace {

// Of each row, the columns of a from `from` on, then those of b.
template <class T>
std::vector<T> joined(const std::vector<T>& a, std::int64_t a_width, std::int64_t from,
                      const std::vector<T>& b, std::int64_t b_width, std::int64_t rows) {
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(rows * (a_width - from + b_width)));
  for (std::int64_t row = 0; row < rows; ++row) {
    out.insert(out.end(), a.begin() + row * a_width + from, a.begin() + (row + 1) * a_width);
    out.insert(out.end(), b.begin() + row * b_width, b.begin() + (row + 1) * b_width);
  }
  return out;
}

template <class T>
std::vector<T> columns(const std::vector<T>& all, std::int64_t width, std::int64_t from,
                       std::int64_t count, std::int64_t rows) {
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(rows * count));
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto first = all.begin() + row * width + from;
    out.insert(out.end(), first, first + count);
  }
  return out;
}

}  // namespace

KnnCursor::KnnCursor(const RowSource& queries, const RowSource& base, const KnnOptions& options)
    : queries_(queries), base_(base), options_(options) {
  ahead_.queries = queries.rows();
  ahead_.counts.assign(static_cast<std::size_t>(queries.rows()), 0);
  ahead_.exact = true;
}

// Makes sure that k columns are ahead.
void KnnCursor::fetch(std::int64_t k, const Context& context) {
  const std::int64_t have = ahead_.k - used_;
  if (have >= k) return;
  const std::vector<Neighbor> last = last_of(ahead_);
  KnnOptions options = options_;
  options.after = last;
  options.k = k - have;
  if (!context.memory_limit) {
    const std::int64_t left = std::max<std::int64_t>(base_.rows() - handed_out_ - have, 0);
    options.k = std::max(options.k, std::min(options.k + handed_out_ + k, left));
  }
  const Neighbors more = knn(queries_, base_, options, context);
  const std::int64_t rows = ahead_.queries;
  ahead_.ids = joined(ahead_.ids, ahead_.k, used_, more.ids, more.k, rows);
  ahead_.keys = joined(ahead_.keys, ahead_.k, used_, more.keys, more.k, rows);
  ahead_.distances = joined(ahead_.distances, ahead_.k, used_, more.distances, more.k, rows);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto i = static_cast<std::size_t>(row);
    ahead_.counts[i] = std::max<std::int64_t>(ahead_.counts[i] - used_, 0) + more.counts[i];
  }
  ahead_.k = have + more.k;
  ahead_.exact = ahead_.exact && more.exact;
  ahead_.stats = more.stats;
  used_ = 0;
}

Neighbors KnnCursor::next(std::int64_t k, const Context& context) {
  if (k < 0 || k > kMaxRows) {
    fail(ErrorCode::invalid_argument, "k is 0 to {}, got {}", kMaxRows, k);
  }
  ahead_.stats = {};
  fetch(k, context);
  Neighbors found;
  found.queries = ahead_.queries;
  found.k = k;
  found.ids = columns(ahead_.ids, ahead_.k, used_, k, ahead_.queries);
  found.keys = columns(ahead_.keys, ahead_.k, used_, k, ahead_.queries);
  found.distances = columns(ahead_.distances, ahead_.k, used_, k, ahead_.queries);
  for (const std::int64_t count : ahead_.counts) {
    found.counts.push_back(std::clamp<std::int64_t>(count - used_, 0, k));
  }
  found.exact = ahead_.exact;
  found.stats = ahead_.stats;
  used_ += k;
  handed_out_ += k;
  return found;
}

}  // namespace nearfield
