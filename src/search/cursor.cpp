#include <nearfield/cursor.hpp>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "device/device_name.hpp"
#include "search/check_rows.hpp"

namespace nearfield {
namespace {

// Columns [from, from + count) of each row of one result.
struct Columns {
  const Neighbors& of;
  std::int64_t from;
  std::int64_t count;
};

template <class T>
void append_row(const std::vector<T>& values, const Columns& columns, std::int64_t row,
                std::vector<T>& out) {
  const auto first = values.begin() + row * columns.of.k + columns.from;
  out.insert(out.end(), first, first + columns.count);
}

// The columns of a, then those of b, side by side.
Neighbors side_by_side(const Columns& a, const Columns& b) {
  Neighbors out;
  out.queries = a.of.queries;
  out.k = a.count + b.count;
  const auto slots = static_cast<std::size_t>(out.queries * out.k);
  out.ids.reserve(slots);
  out.keys.reserve(slots);
  out.distances.reserve(slots);
  out.counts.reserve(static_cast<std::size_t>(out.queries));
  for (std::int64_t row = 0; row < out.queries; ++row) {
    std::int64_t count = 0;
    for (const Columns& columns : {a, b}) {
      if (columns.count == 0) continue;
      append_row(columns.of.ids, columns, row, out.ids);
      append_row(columns.of.keys, columns, row, out.keys);
      append_row(columns.of.distances, columns, row, out.distances);
      const std::int64_t found = columns.of.counts[static_cast<std::size_t>(row)];
      count += std::clamp<std::int64_t>(found - columns.from, 0, columns.count);
    }
    out.counts.push_back(count);
  }
  out.exact = a.of.exact && b.of.exact;
  return out;
}

// Of a result without its statistics.
std::int64_t bytes_of(std::int64_t queries, std::int64_t k) {
  constexpr std::int64_t kSlot = sizeof(std::int64_t) + sizeof(double) + sizeof(float);
  constexpr std::int64_t kCount = sizeof(std::int64_t);
  const std::int64_t row =
      checked_add(checked_mul(k, kSlot, "bytes of the result"), kCount, "bytes of the result");
  return checked_mul(queries, row, "bytes of the result");
}

}  // namespace

KnnCursor::KnnCursor(const RowSource& queries, const RowSource& base, const KnnOptions& options)
    : queries_(queries), base_(base), options_(options) {
  ahead_.queries = queries.rows();
  ahead_.counts.assign(static_cast<std::size_t>(queries.rows()), 0);
  ahead_.exact = true;
  last_ = last_of(ahead_);
}

// One more pass: at least k more of each query, and as many as were handed out, if memory is not
// bounded. Under a limit, what this holds already is taken off it.
Neighbors KnnCursor::search(std::int64_t k, Context context) const {
  KnnOptions options = options_;
  options.after = last_;
  options.k = k;
  const std::int64_t have = ahead_.k - used_;
  if (context.memory_limit) {
    // `last_` twice, for its successor; what is ahead twice, for its copy in the result.
    const auto last = static_cast<std::int64_t>(2 * last_.size() * sizeof(Neighbor));
    const std::int64_t copied = have > 0 ? bytes_of(ahead_.queries, k + have) : 0;
    *context.memory_limit -= last + copied + bytes_of(ahead_.queries, ahead_.k);
  } else {
    const std::int64_t left = std::max<std::int64_t>(base_.rows() - handed_out_ - have, 0);
    options.k = std::max(k, std::min(2 * k + handed_out_ + have, left));
  }
  return knn(queries_, base_, options, context);
}

Neighbors KnnCursor::next_of(std::int64_t k, const Context& context) {
  const std::int64_t have = ahead_.k - used_;
  if (have >= k) {
    Neighbors found = side_by_side({ahead_, used_, k}, {ahead_, ahead_.k, 0});
    used_ += k;
    return found;
  }
  Neighbors more = search(k - have, context);
  more.exact = more.exact && ahead_.exact;
  std::vector<Neighbor> last = last_of(more);
  if (have == 0 && more.k == k) {  // what is asked for, and nothing to keep
    ahead_ = Neighbors();
    ahead_.queries = more.queries;
    ahead_.exact = more.exact;
    used_ = 0;
    last_ = std::move(last);
    return more;
  }
  Neighbors found = side_by_side({ahead_, used_, have}, {more, 0, k - have});
  found.stats = more.stats;
  // From here on nothing throws.
  ahead_ = std::move(more);
  used_ = k - have;
  last_ = std::move(last);
  return found;
}

Neighbors KnnCursor::next(std::int64_t k, const Context& context) {
  check_k(k);
  on_device(context);  // says what is wrong also where no search follows
  try {
    Neighbors found = next_of(k, context);
    handed_out_ += k;
    return found;
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::memory_limit,
         "the system has no memory for the next {} neighbours of {} queries: ask for fewer at a "
         "time",
         k, queries_.rows());
  }
}

}  // namespace nearfield
