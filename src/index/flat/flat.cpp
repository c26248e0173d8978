// Every vector is looked at: the search of the library, part by part.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <nearfield/convert.hpp>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "filter/filter.hpp"
#include "index/family.hpp"
#include "search/allowed_rows.hpp"
#include "search/knn.hpp"
#include "search/plan.hpp"
#include "search/tiled_rows.hpp"
#include "search/within.hpp"

namespace nearfield {
namespace {

// Rows of a part that are searched at once: those that are packed, or those that are not. A view of
// the part must outlive it.
class Stretch {
 public:
  // Both ends are multiples of 64, or that of the part.
  Stretch(const AskedPart& part, Range range, SharedPacked packed)
      : packed_(std::move(packed)), finder_(part.finder.get()) {
    // Rows whose ids are their numbers have codes, all of them, and are one range from 0 on.
    const std::span<const std::int64_t> ids = part.view.ids();
    if (!part.by_row && !ids.empty()) {
      ids_ = ids.subspan(static_cast<std::size_t>(range.begin),
                         static_cast<std::size_t>(range.size()));
    }
    take_filter(part.filter(), range);
    if (!part.view.part->has_vectors()) {
      const MatrixView none = part.view.part->rows(0);
      rows_ = std::make_unique<RowsWithoutValues>(none.dtype(), range.size(), none.cols());
      return;
    }
    const PackedBytes* const tiles = part.view.part->tiles();
    if (tiles == nullptr) {
      rows_ = std::make_unique<MatrixRows>(part.view.rows().slice(range.begin, range.size()),
                                           packed_.get());
      return;
    }
    rows_ = std::make_unique<TiledRows>(*tiles, range, packed_.get());
    const std::int64_t few = range.size() / default_tuning().tiles.most_forbidden;
    if (allowed_rows(filter_, range.size()) < few) pick_rows();
  }
  Stretch(Stretch&&) noexcept = default;

  const RowSource& rows() const { return *rows_; }
  RowFilter filter() const { return filter_; }
  const RowFinder* finder() const { return finder_; }
  std::span<const std::int64_t> ids() const { return ids_; }

 private:
  void take_filter(const RowFilter& whole, Range range) {
    if (whole.kind() == RowFilter::Kind::list) {
      for (const std::int64_t row : whole.ids()) {
        if (row >= range.begin && row < range.end) listed_.push_back(row - range.begin);
      }
      filter_ = RowFilter::list(listed_);
    } else if (whole.kind() == RowFilter::Kind::bitset) {
      filter_ = RowFilter::bitset(
          whole.words().subspan(static_cast<std::size_t>(range.begin / 64),
                                static_cast<std::size_t>(divide_up(range.size(), 64))));
    }
  }

  // Rows that are read one by one, as those in tiles are, are searched alone where they are few:
  // the others would be read for nothing.
  void pick_rows() {
    if (filter_.kind() == RowFilter::Kind::bitset) {
      for (std::int64_t row = 0; row < rows_->rows(); ++row) {
        if (bit_of(filter_.words(), row)) listed_.push_back(row);
      }
    } else {
      std::ranges::sort(listed_);
      listed_.erase(std::unique(listed_.begin(), listed_.end()), listed_.end());
    }
    for (const std::int64_t row : listed_) {
      picked_ids_.push_back(ids_[static_cast<std::size_t>(row)]);
    }
    unpicked_ = std::move(rows_);
    rows_ = std::make_unique<PickedRows>(*unpicked_, listed_);
    ids_ = picked_ids_;
    filter_ = RowFilter();
  }

  SharedPacked packed_;
  const RowFinder* finder_;
  std::unique_ptr<RowSource> rows_;
  std::unique_ptr<RowSource> unpicked_;
  std::span<const std::int64_t> ids_;
  std::vector<std::int64_t> listed_;
  std::vector<std::int64_t> picked_ids_;
  RowFilter filter_;
};

// At least one, which may be empty.
std::vector<Stretch> stretches_of(std::span<const AskedPart> parts, MetricSpec metric,
                                  const Context& context) {
  std::vector<Stretch> stretches;
  const Isa isa = isa_of(context);
  for (const AskedPart& part : parts) {
    if (part.only_rows) {
      stretches.emplace_back(part, *part.only_rows, nullptr);
      continue;
    }
    SharedPacked packed = part.view.packed_for(metric, isa);
    const std::int64_t end = packed != nullptr ? packed->rows.count() : 0;
    if (packed != nullptr) stretches.emplace_back(part, Range{0, end}, std::move(packed));
    if (end < part.view.count || end == 0) {
      stretches.emplace_back(part, Range{end, part.view.count}, nullptr);
    }
  }
  return stretches;
}

// What a search holds while the next one adds to it: itself, and of ranges, which grow by what is
// added, both once more.
std::int64_t bytes_held(const Neighbors& found) {
  return std::ssize(found.ids) *
             static_cast<std::int64_t>(2 * sizeof(std::int64_t) + sizeof(float)) +
         std::ssize(found.counts) * static_cast<std::int64_t>(sizeof(std::int64_t)) +
         found.k * static_cast<std::int64_t>(2 * sizeof(std::int64_t) + sizeof(float));
}
std::int64_t bytes_held(const Ranges& found) {
  return 2 * static_cast<std::int64_t>(found.ids.capacity() *
                                           (2 * sizeof(std::int64_t) + sizeof(float)) +
                                       found.offsets.capacity() * sizeof(std::int64_t));
}
constexpr std::int64_t copies_of_next(const Neighbors& /*found*/) { return 1; }
constexpr std::int64_t copies_of_next(const Ranges& /*found*/) { return 2; }

// A context for one stretch after the other, whose progress goes from 0 to the end of all, and
// whose memory limit is what those before have left of it.
class OneByOne {
 public:
  OneByOne(MatrixView queries, std::span<const Stretch> stretches, const Context& context)
      : queries_(queries.rows()), limit_(context.memory_limit), own_(context) {
    for (const Stretch& stretch : stretches) total_ += queries_ * stretch.rows().rows();
    if (!context.progress) return;
    own_.progress = [this, report = context.progress](const Progress& progress) {
      report({done_ + progress.done, total_});
    };
  }
  OneByOne(const OneByOne&) = delete;
  OneByOne& operator=(const OneByOne&) = delete;

  template <class Result>
  void end_stretch(const Stretch& stretch, const Result& result) {
    done_ += queries_ * stretch.rows().rows();
    if (!limit_) return;
    held_ = bytes_held(result);
    own_.memory_limit = std::max<std::int64_t>(*limit_ - held_, 0) / copies_of_next(result);
  }

  // Of a stretch: says who else has what it lacks.
  template <class Search>
  auto within_limit(const Search& search) const {
    try {
      return search(own_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::memory_limit || held_ == 0) throw;
      fail(error.code(), "{} ({} of {} bytes hold what other parts of the index have found)",
           error.what(), held_, *limit_);
    }
  }

 private:
  std::int64_t queries_;
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;
  std::int64_t held_ = 0;
  std::optional<std::int64_t> limit_;
  Context own_;
};

void add_stats(const Stats& of_part, Stats& all) {
  if (of_part.plan.pairs > all.plan.pairs) all.plan = of_part.plan;  // that of the largest
  all.pairs_considered += of_part.pairs_considered;
  all.pairs_verified += of_part.pairs_verified;
  all.seconds += of_part.seconds;
}

// The next of two sorted lists.
class Merge {
 public:
  Merge(std::span<const double> keys, std::span<const std::int64_t> ids,
        std::span<const double> other_keys, std::span<const std::int64_t> other_ids)
      : keys_{keys, other_keys}, ids_{ids, other_ids} {}

  bool ended() const { return at_[0] == keys_[0].size() && at_[1] == keys_[1].size(); }

  // Which list it is in, and where.
  std::pair<std::size_t, std::size_t> next() {
    const std::size_t list =
        at_[1] == keys_[1].size() || (at_[0] < keys_[0].size() && head(0) < head(1)) ? 0 : 1;
    return {list, at_[list]++};
  }

 private:
  Neighbor head(std::size_t list) const { return {keys_[list][at_[list]], ids_[list][at_[list]]}; }

  std::array<std::span<const double>, 2> keys_;
  std::array<std::span<const std::int64_t>, 2> ids_;
  std::array<std::size_t, 2> at_{};
};

// The first k of both, for each query, where the first of them are.
void merge_into(Neighbors& result, const Neighbors& other) {
  const std::array<const Neighbors*, 2> lists{&result, &other};
  const auto k = static_cast<std::size_t>(result.k);
  std::vector<std::int64_t> ids(k);
  std::vector<double> keys(k);
  std::vector<float> distances(k);
  for (std::int64_t query = 0; query < result.queries; ++query) {
    const auto found = [&](const Neighbors& list) {
      return static_cast<std::size_t>(list.counts[static_cast<std::size_t>(query)]);
    };
    Merge merge(result.keys_of(query).first(found(result)),
                result.ids_of(query).first(found(result)), other.keys_of(query).first(found(other)),
                other.ids_of(query).first(found(other)));
    std::size_t count = 0;
    for (; count < k && !merge.ended(); ++count) {
      const auto [list, i] = merge.next();
      ids[count] = lists[list]->ids_of(query)[i];
      keys[count] = lists[list]->keys_of(query)[i];
      distances[count] = lists[list]->distances_of(query)[i];
    }
    const std::int64_t to = query * result.k;
    std::copy_n(ids.begin(), count, result.ids.begin() + to);
    std::copy_n(keys.begin(), count, result.keys.begin() + to);
    std::copy_n(distances.begin(), count, result.distances.begin() + to);
    result.counts[static_cast<std::size_t>(query)] = static_cast<std::int64_t>(count);
  }
}

// All of both, for each query.
void merge_into(Ranges& result, const Ranges& other) {
  Ranges both;
  both.offsets.push_back(0);
  const std::array<const Ranges*, 2> lists{&result, &other};
  for (std::size_t query = 0; query + 1 < result.offsets.size(); ++query) {
    const auto part = [&](const Ranges& list, const auto& values) {
      const auto begin = static_cast<std::size_t>(list.offsets[query]);
      return std::span(values).subspan(begin,
                                       static_cast<std::size_t>(list.offsets[query + 1]) - begin);
    };
    Merge merge(part(result, result.keys), part(result, result.ids), part(other, other.keys),
                part(other, other.ids));
    while (!merge.ended()) {
      const auto [list, i] = merge.next();
      const Ranges& from = *lists[list];
      both.ids.push_back(part(from, from.ids)[i]);
      both.keys.push_back(part(from, from.keys)[i]);
      both.distances.push_back(part(from, from.distances)[i]);
    }
    both.offsets.push_back(std::ssize(both.ids));
  }
  result.ids = std::move(both.ids);
  result.keys = std::move(both.keys);
  result.distances = std::move(both.distances);
  result.offsets = std::move(both.offsets);
}

class Flat final : public Family {
 public:
  explicit Flat(const IndexSpec& spec)
      : metric_(spec.metric), dtype_(spec.dtype), tiles_alone_(keeps_tiles_alone(spec)) {}

  Neighbors search(MatrixView queries, std::span<const AskedPart> parts, std::int64_t k,
                   const Context& context) const override {
    return all_rows<Neighbors>(
        queries, parts, context,
        [&](MatrixView asked, const Stretch& stretch, bool first, const Context& own) {
          // Of those behind the first only as many as there are: the last rows of a part are few.
          const std::int64_t most = first ? k : std::min(k, stretch.rows().rows());
          const KnnOptions options{
              .k = most, .metric = metric_, .filter = stretch.filter(), .ids = stretch.ids()};
          const MatrixRows rows(asked);
          return stretch.finder() != nullptr
                     ? knn(rows, stretch.rows(), options, own, *stretch.finder())
                     : knn(rows, stretch.rows(), options, own);
        });
  }

  Ranges within(MatrixView queries, std::span<const AskedPart> parts, double radius,
                const Context& context) const override {
    return all_rows<Ranges>(
        queries, parts, context,
        [&](MatrixView asked, const Stretch& stretch, bool /*first*/, const Context& own) {
          const WithinOptions options{.radius = radius,
                                      .metric = metric_,
                                      .filter = stretch.filter(),
                                      .ids = stretch.ids()};
          const MatrixRows rows(asked);
          return stretch.finder() != nullptr
                     ? nearfield::within(rows, stretch.rows(), options, own, *stretch.finder())
                     : nearfield::within(rows, stretch.rows(), options, own);
        });
  }

 private:
  template <class Result, class Search>
  Result all_rows(MatrixView queries, std::span<const AskedPart> parts, const Context& context,
                  const Search& search) const {
    const Matrix bytes = as_bytes(queries, context);
    if (bytes.rows() > 0) queries = bytes;
    const std::vector<Stretch> stretches = stretches_of(parts, metric_, context);
    OneByOne run(queries, stretches, context);
    const auto search_one = [&](const Stretch& stretch) {
      return run.within_limit([&](const Context& own) {
        return search(queries, stretch, &stretch == &stretches.front(), own);
      });
    };
    Result result = search_one(stretches.front());
    run.end_stretch(stretches.front(), result);
    for (const Stretch& stretch : std::span(stretches).subspan(1)) {
      const Result other = search_one(stretch);
      merge_into(result, other);
      run.end_stretch(stretch, result);
      add_stats(other.stats, result.stats);
      result.exact = result.exact && other.exact;
    }
    return result;
  }

  // Floats that hold bytes, as many libraries keep descriptors, meet bytes in tiles; others read
  // them from there. Empty if some do not, and under a memory limit, which the copy is not counted
  // in.
  Matrix as_bytes(MatrixView queries, const Context& context) const {
    if (!tiles_alone_ || queries.dtype() == dtype_ || !holds(queries.dtype(), dtype_) ||
        context.memory_limit) {
      return {};
    }
    Matrix bytes(dtype_, queries.rows(), queries.cols());
    return convert_values(queries, Rounding::none, bytes) ? Matrix() : std::move(bytes);
  }

  MetricSpec metric_;
  DType dtype_;
  bool tiles_alone_;
};

}  // namespace

std::unique_ptr<Family> make_flat(const IndexSpec& spec) {
  if (const auto given = family_parameters(spec.family); !given.empty()) {
    fail(ErrorCode::invalid_argument, "flat has no parameters, got '{}'", given.front().name);
  }
  return std::make_unique<Flat>(spec);
}

}  // namespace nearfield
