#include "index/pivot/pivot_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/infinity.hpp"
#include "core/tasks.hpp"
#include "object/object_verifier.hpp"

namespace nearfield {
namespace {

// Divisions and products of the scale itself round, too.
constexpr double kScaleSlack = 0x1p-40;

std::uint8_t to_byte(double value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
}

// Which pivots an object keeps: its nearest, its farthest, its second nearest and so on, since
// these say most.
void kvp_order(std::span<const double> distances, std::int64_t kept, std::span<std::uint8_t> out) {
  std::array<std::uint8_t, kMostPivotPool> sorted;
  const auto end = sorted.begin() + std::ssize(distances);
  std::iota(sorted.begin(), end, std::uint8_t{0});
  std::sort(sorted.begin(), end, [&](std::uint8_t a, std::uint8_t b) {
    return distances[a] < distances[b] || (distances[a] == distances[b] && a < b);
  });
  for (std::int64_t i = 0; i < kept; ++i) {
    const std::int64_t from = i % 2 == 0 ? i / 2 : std::ssize(distances) - 1 - i / 2;
    out[static_cast<std::size_t>(i)] = sorted[static_cast<std::size_t>(from)];
  }
}

}  // namespace

std::uint8_t PivotScale::bucket(double distance) const {
  return to_byte(std::min<double>(most, std::floor(distance / unit)));
}

// Of a query q, a pivot p and an object x be a = d(q, p), b = d(p, x) and d = d(q, x), in buckets.
// Their triangle may be broken by the part s, the slack, of a + b + d, as check_metric allows. Then
//   b <= a + d + s (a + b + d), so that d >= b (1 - s) / (1 + s) - a >= b - 2 s b - a, and
//   a <= b + d + s (a + b + d), so that d >= a - 2 s a - b.
// b is in [bucket, bucket + 1): the first bound is at least bucket - (a + 2 s 256), the second
// above (a - 2 s a - 1) - bucket. In the last bucket b may be any above it, and so `below` is not
// above that.
void PivotScale::reach(double distance, std::int64_t pivot, PivotReach& out) const {
  const auto at = static_cast<std::size_t>(pivot);
  const double buckets = distance / unit;
  const double part = 2 * slack + kScaleSlack;
  const double above = whole ? distance : std::ceil(buckets + part * (kMostLevel + 1));
  const double below = whole ? distance : std::floor(buckets - part * buckets) - 1;
  out.above[at] = to_byte(above);
  out.below[at] = to_byte(std::min<double>(below, most));
  out.distances[at] = distance;
}

// As in `reach`: d <= a + b + s (a + b + d), so that d <= (a + b) (1 + s) / (1 - s).
double PivotScale::most_distance(double of_pivot, std::uint8_t bucket) const {
  if (bucket >= most) return kInfinity;
  if (whole) return of_pivot + bucket;
  if (slack >= 1) return kInfinity;
  return (of_pivot + (bucket + 1) * unit) * ((1 + slack) / (1 - slack) + kScaleSlack);
}

double PivotScale::least_distance(int level) const {
  return whole ? level : level * unit * (1 - kScaleSlack);
}

int PivotScale::highest_level(double distance) const {
  if (!(distance >= 0)) return -1;
  const double level = std::floor(distance / unit * (1 + kScaleSlack));
  return static_cast<int>(std::min<double>(level, kMostLevel));
}

PivotScale pivot_scale(const ObjectMetric& metric, double largest, int bits, bool signatures) {
  PivotScale scale;
  scale.most = (1 << bits) - 1;
  scale.slack = metric.slack();
  // Signatures of whole numbers speak in ones.
  scale.whole = metric.whole_numbers() && (signatures || largest <= scale.most);
  if (!scale.whole && largest > 0) scale.unit = largest / (scale.most + 1);
  return scale;
}

PivotTable::PivotTable(const ObjectMetric& metric, ObjectList pivots, std::int64_t kept,
                       PivotScale scale)
    : metric_(&metric),
      pivots_(std::move(pivots)),
      kept_(kept),
      scale_(scale),
      blocks_(block_bytes(pivots_.size(), kept)) {}

PivotTable::PivotTable(const ObjectMetric& metric, ObjectList pivots, std::int64_t kept,
                       PivotScale scale, std::span<const std::uint8_t> blocks, std::int64_t rows)
    : metric_(&metric),
      pivots_(std::move(pivots)),
      kept_(kept),
      scale_(scale),
      blocks_(block_bytes(pivots_.size(), kept), blocks, rows) {}

std::int64_t PivotTable::block_bytes(std::int64_t pool, std::int64_t kept) {
  return kept * kBoundBlock * (kept < pool ? 2 : 1);
}

void PivotTable::append(const ObjectList& objects, Isa isa, int threads, Monitor& monitor) {
  const std::int64_t begin = blocks_.rows();
  blocks_.append(objects.size() - begin);
  const std::int64_t first_block = begin / kBoundBlock;
  const std::int64_t end_block = divide_up(objects.size(), kBoundBlock);
  const int used = metric_->any_thread() ? threads : 1;
  run_tasks(end_block - first_block, used, [&](std::int64_t task, int) {
    const std::int64_t first = std::max((first_block + task) * kBoundBlock, begin);
    const std::int64_t end = std::min((first_block + task + 1) * kBoundBlock, objects.size());
    take_block(objects, {first, end}, isa, monitor);
    monitor.advance(end - first);
  });
}

void PivotTable::take_block(const ObjectList& objects, Range rows, Isa isa,
                            const Monitor& monitor) {
  std::array<ObjectView, kBoundBlock> views;
  const auto count = static_cast<std::size_t>(rows.size());
  for (std::size_t i = 0; i < count; ++i) {
    views[i] = objects.view(rows.begin + static_cast<std::int64_t>(i));
  }
  const auto pool = static_cast<std::size_t>(pivots_.size());
  std::vector<double> by_pivot(pool * count);
  for (std::size_t pivot = 0; pivot < pool; ++pivot) {
    const auto out = std::span(by_pivot).subspan(pivot * count, count);
    all_distances(*metric_, pivots_.view(static_cast<std::int64_t>(pivot)),
                  std::span(views).first(count), isa, out, monitor);
  }
  std::vector<double> of_row(pool);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t pivot = 0; pivot < pool; ++pivot) of_row[pivot] = by_pivot[pivot * count + i];
    put_row(rows.begin + static_cast<std::int64_t>(i), of_row);
  }
}

void PivotTable::put_row(std::int64_t row, std::span<const double> distances) {
  std::uint8_t* out = blocks_.own_block_of(row) + row % kBoundBlock;
  if (all_kept()) {
    for (const double distance : distances) {
      *out = scale_.bucket(distance);
      out += kBoundBlock;
    }
    return;
  }
  std::array<std::uint8_t, kMostPivotPool> order;
  kvp_order(distances, kept_, order);
  for (std::int64_t slot = 0; slot < kept_; ++slot) {
    const std::uint8_t pivot = order[static_cast<std::size_t>(slot)];
    out[2 * slot * kBoundBlock] = scale_.bucket(distances[pivot]);
    out[(2 * slot + 1) * kBoundBlock] = pivot;
  }
}

PivotReach PivotTable::reach_of(ObjectView query, Isa isa, const Monitor& monitor) const {
  std::vector<ObjectView> views;
  views.reserve(static_cast<std::size_t>(pivots_.size()));
  for (std::int64_t i = 0; i < pivots_.size(); ++i) views.push_back(pivots_.view(i));
  std::vector<double> distances(views.size());
  all_distances(*metric_, query, views, isa, distances, monitor);
  PivotReach reach;
  for (std::size_t i = 0; i < distances.size(); ++i) {
    scale_.reach(distances[i], static_cast<std::int64_t>(i), reach);
  }
  return reach;
}

void PivotTable::raise_levels(const PivotReach& reach, std::int64_t slots, Range rows,
                              const BoundKernels& kernels, std::uint8_t* levels) const {
  const auto scan = all_kept() ? kernels.all_pivots : kernels.kept_pivots;
  blocks_.for_each_run(rows, [&](const std::uint8_t* blocks, std::int64_t count, std::int64_t row) {
    scan({blocks, count, blocks_.block_bytes(), slots, pivots_.size(), &reach,
          levels + (row - rows.begin)});
  });
}

double PivotTable::most_distance(const PivotReach& reach, std::int64_t slots,
                                 std::int64_t row) const {
  const std::uint8_t* const entry = blocks_.block_of(row) + row % kBoundBlock;
  double most = kInfinity;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const std::int64_t at = (all_kept() ? slot : 2 * slot) * kBoundBlock;
    const std::size_t pivot = all_kept() ? static_cast<std::size_t>(slot) : entry[at + kBoundBlock];
    most = std::min(most, scale_.most_distance(reach.distances[pivot], entry[at]));
  }
  return most;
}

PivotTable PivotTable::picked(std::span<const std::int64_t> rows) const {
  PivotTable table(*metric_, pivots_, kept_, scale_);
  table.blocks_ = picked_columns(blocks_, rows);
  return table;
}

RowBlocks picked_columns(const RowBlocks& from, std::span<const std::int64_t> rows) {
  RowBlocks to(from.block_bytes());
  to.append(std::ssize(rows));
  for (std::int64_t i = 0; i < std::ssize(rows); ++i) {
    const std::int64_t row = rows[static_cast<std::size_t>(i)];
    const std::uint8_t* const in = from.block_of(row) + row % kBoundBlock;
    std::uint8_t* const out = to.own_block_of(i) + i % kBoundBlock;
    for (std::int64_t byte = 0; byte < from.block_bytes(); byte += kBoundBlock) {
      out[byte] = in[byte];
    }
  }
  return to;
}

}  // namespace nearfield
