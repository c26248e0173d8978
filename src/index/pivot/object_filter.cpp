#include "index/pivot/object_filter.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/tasks.hpp"
#include "distance/kernels.hpp"
#include "index/pivot/choose_pivots.hpp"

namespace nearfield {
namespace {

// Of which signatures are fitted.
constexpr std::int64_t kFitSample = 4096;

// Fewer objects for each pivot are not worth the distances of a query to the pivots.
constexpr std::int64_t kObjectsPerPivot = 4;

std::shared_ptr<const ObjectSignatures> fitted(const ObjectMetric& metric,
                                               const ObjectList& objects,
                                               std::span<const std::int64_t> rows) {
  std::vector<ObjectView> sample;
  const std::int64_t count = std::min(kFitSample, std::ssize(rows));
  for (std::int64_t i = 0; i < count; ++i) {
    sample.push_back(objects.view(rows[static_cast<std::size_t>(i * std::ssize(rows) / count)]));
  }
  return metric.fit_signatures(sample);
}

ObjectList objects_at(const ObjectMetric& metric, const ObjectList& objects,
                      std::span<const std::int64_t> rows) {
  ObjectList picked(metric);
  for (const std::int64_t row : rows) picked.append(objects.view(row));
  return picked;
}

}  // namespace

bool says_of_pivots(const PivotOptions& options) {
  const PivotOptions usual;
  return options.kept != usual.kept || options.bits != usual.bits ||
         options.choice != usual.choice || options.choice_budget != usual.choice_budget;
}

ObjectFilter::ObjectFilter(const ObjectMetric& metric) : metric_(&metric), signature_rows_(0) {}

ObjectFilter::ObjectFilter(const ObjectMetric& metric, PivotScale scale,
                           std::optional<PivotTable> pivots,
                           std::shared_ptr<const ObjectSignatures> signatures,
                           RowBlocks signature_rows)
    : metric_(&metric),
      scale_(scale),
      pivots_(std::move(pivots)),
      signatures_(std::move(signatures)),
      signature_rows_(std::move(signature_rows)),
      rows_(pivots_ ? pivots_->blocks().rows() : signature_rows_.rows()) {}

std::int64_t ObjectFilter::pool_of(const PivotOptions& options, bool signatures) {
  return options.pool.value_or(signatures && !says_of_pivots(options) ? 0 : kUsualPool);
}

ObjectFilter ObjectFilter::made(const ObjectMetric& metric, const ObjectList& objects,
                                std::span<const std::int64_t> rows, const PivotOptions& options,
                                const Context& context, Monitor& monitor, std::int64_t& distances) {
  ObjectFilter filter(metric);
  if (rows.empty()) return filter;
  if (options.signatures) filter.signatures_ = fitted(metric, objects, rows);
  const bool signatures = filter.signatures_ != nullptr;
  if (signatures) filter.signature_rows_ = RowBlocks(kBoundBlock * filter.signatures_->bytes());
  const std::int64_t pool =
      std::min(pool_of(options, signatures), std::ssize(rows) / kObjectsPerPivot);
  const ChosenPivots chosen =
      choose_pivots(metric, objects, rows, pool, options, context.seed, isa_of(context), monitor);
  distances += chosen.distances;
  filter.scale_ = pivot_scale(metric, chosen.largest, options.bits, signatures);
  if (!chosen.rows.empty()) {
    const std::int64_t all = std::ssize(chosen.rows);
    filter.pivots_.emplace(metric, objects_at(metric, objects, chosen.rows),
                           options.kept > 0 ? std::min(options.kept, all) : all, filter.scale_);
  }
  filter.append(objects, context, monitor);
  distances += objects.size() * filter.pivots();
  return filter;
}

void ObjectFilter::append(const ObjectList& objects, const Context& context, Monitor& monitor) {
  const int threads = resolve_threads(context.threads);
  const Isa isa = isa_of(context);
  if (signatures_ != nullptr) append_signatures(objects, threads, monitor);
  if (pivots_) pivots_->append(objects, isa, threads, monitor);
  rows_ = objects.size();
}

void ObjectFilter::append_signatures(const ObjectList& objects, int threads, Monitor& monitor) {
  const std::int64_t begin = signature_rows_.rows();
  signature_rows_.append(objects.size() - begin);
  const std::int64_t first_block = begin / kBoundBlock;
  const std::int64_t blocks = divide_up(objects.size(), kBoundBlock) - first_block;
  const int used = metric_->any_thread() ? threads : 1;
  run_tasks(blocks, used, [&](std::int64_t task, int) {
    const std::int64_t first = std::max((first_block + task) * kBoundBlock, begin);
    const std::int64_t end = std::min((first_block + task + 1) * kBoundBlock, objects.size());
    for (std::int64_t row = first; row < end; ++row) {
      auto* const out =
          signature_rows_.own_block_of(row) + row % kBoundBlock * signatures_->bytes();
      signatures_->make(objects.view(row), reinterpret_cast<std::byte*>(out));
    }
    if (pivots_) {
      monitor.check();  // their table counts
    } else {
      monitor.advance(end - first);
    }
  });
}

void ObjectFilter::truncate(std::int64_t rows) {
  if (pivots_) pivots_->truncate(std::min(rows, pivots_->blocks().rows()));
  if (signatures_ != nullptr) signature_rows_.truncate(std::min(rows, signature_rows_.rows()));
  rows_ = rows;
}

std::int64_t ObjectFilter::bytes() const { return bytes_for(rows_); }

std::int64_t ObjectFilter::bytes_for(std::int64_t rows) const {
  return (pivots_ ? RowBlocks::bytes_for(pivots_->blocks().block_bytes(), rows) : 0) +
         (signatures_ != nullptr ? RowBlocks::bytes_for(signature_rows_.block_bytes(), rows) : 0);
}

std::string ObjectFilter::name() const {
  if (!pivots_) return signatures_ != nullptr ? "signatures" : "every row";
  const std::string pivots = pivots_->all_kept() ? fmt::format("{} pivots", pivots_->kept())
                                                 : fmt::format("{} of {} pivots", pivots_->kept(),
                                                               pivots_->pivots().size());
  return signatures_ != nullptr ? pivots + " and signatures" : pivots;
}

ObjectFilter ObjectFilter::picked(std::span<const std::int64_t> rows) const {
  ObjectFilter filter(*metric_);
  filter.scale_ = scale_;
  filter.rows_ = std::ssize(rows);
  if (pivots_) filter.pivots_ = pivots_->picked(rows);
  if (signatures_ == nullptr) return filter;
  filter.signatures_ = signatures_;
  filter.signature_rows_ = RowBlocks(signature_rows_.block_bytes());
  filter.signature_rows_.append(filter.rows_);
  const std::int64_t bytes = signatures_->bytes();
  for (std::int64_t i = 0; i < filter.rows_; ++i) {
    const std::int64_t row = rows[static_cast<std::size_t>(i)];
    std::memcpy(filter.signature_rows_.own_block_of(i) + i % kBoundBlock * bytes,
                signature_rows_.block_of(row) + row % kBoundBlock * bytes,
                static_cast<std::size_t>(bytes));
  }
  return filter;
}

ObjectBounds::ObjectBounds(const ObjectFilter& filter, std::span<const ObjectView> all, Range these,
                           std::optional<std::int64_t> slots, Isa isa, int threads,
                           const Monitor& monitor)
    : filter_(filter), first_(these.begin), slots_(0), isa_(isa), kernels_(bound_kernels(isa)) {
  const auto queries =
      all.subspan(static_cast<std::size_t>(these.begin), static_cast<std::size_t>(these.size()));
  if (filter.signatures_ != nullptr) {
    const auto bytes = static_cast<std::size_t>(filter.signatures_->bytes());
    signatures_.resize(queries.size() * bytes);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      filter.signatures_->make(queries[i], signatures_.data() + i * bytes);
    }
  }
  if (!filter.pivots_ || slots == 0) return;
  slots_ = std::min(slots.value_or(filter.pivots_->kept()), filter.pivots_->kept());
  reaches_.resize(queries.size());
  const int used = filter.metric_->any_thread() ? threads : 1;
  run_tasks(std::ssize(queries), used, [&](std::int64_t query, int) {
    const auto i = static_cast<std::size_t>(query);
    reaches_[i] = filter.pivots_->reach_of(queries[i], isa, monitor);
  });
  distances_ = std::ssize(queries) * filter.pivots_->pivots().size();
}

std::int64_t ObjectBounds::bytes(const ObjectFilter& filter, std::int64_t queries) {
  const std::int64_t signature = filter.signatures_ != nullptr ? filter.signatures_->bytes() : 0;
  return queries *
         (signature + (filter.pivots_ ? static_cast<std::int64_t>(sizeof(PivotReach)) : 0));
}

bool ObjectBounds::surely_within(std::int64_t query, std::int64_t row, double key) const {
  if (slots_ == 0) return false;
  const PivotReach& reach = reaches_[static_cast<std::size_t>(query - first_)];
  return filter_.pivots_->most_distance(reach, slots_, row) <= key;
}

void ObjectBounds::levels(Range queries, Range rows, std::uint8_t* out, std::int64_t stride) const {
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    const auto i = static_cast<std::size_t>(query - first_);
    std::uint8_t* const levels = out + (query - queries.begin) * stride;
    std::memset(levels, 0, static_cast<std::size_t>(round_up(rows.size(), kBoundBlock)));
    if (slots_ > 0) {
      filter_.pivots_->raise_levels(reaches_[i], slots_, rows, kernels_, levels);
    }
    if (filter_.signatures_ == nullptr) continue;
    const std::byte* const own =
        signatures_.data() + i * static_cast<std::size_t>(filter_.signatures_->bytes());
    filter_.signature_rows_.for_each_run(
        rows, [&](const std::uint8_t* blocks, std::int64_t count, std::int64_t row) {
          filter_.signatures_->raise_levels(own, reinterpret_cast<const std::byte*>(blocks),
                                            std::min(count * kBoundBlock, rows.end - row),
                                            filter_.scale_.unit, isa_, levels + (row - rows.begin));
        });
  }
}

}  // namespace nearfield
