#include "distance/device_keys.hpp"

#include <algorithm>
#include <functional>
#include <memory>

#include "core/checked.hpp"
#include "device/gpu/array_tiles.hpp"
#include "device/gpu/host_reads.hpp"
#include "device/gpu/open.hpp"
#include "device/gpu/pair_tiles.hpp"
#include "distance/gpu/key_step.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kKeyBytes = sizeof(double);
constexpr std::int64_t kBatchKeys = std::int64_t{8} << 20;
constexpr gpu::TileSize kMostKeys = {gpu::Grid::kMostY * kKeySide, std::int64_t{1} << 30};

// Memory that is mapped twice need not read the same, says OpenCL.
bool overlap(const PlacedRows& a, const PlacedRows& b) {
  const auto begins_within = [](MatrixView x, MatrixView y) {
    const std::less<> before;
    return !before(x.row(0), y.row(0)) && before(x.row(0), y.row(y.rows()));
  };
  return begins_within(a.view, b.view) || begins_within(b.view, a.view);
}

class KeyWork final : public gpu::PairWork {
 public:
  KeyWork(gpu::Device& device, const PlacedRows& queries, const PlacedRows& rows, MetricSpec metric,
          std::uintptr_t stream, gpu::HostReads host, double* keys)
      : device_(device),
        queries_(queries.view),
        rows_(rows.view),
        queue_(device.make_queue(stream)),
        query_tiles_(device, *queue_, gpu::byte_rows(queries), KeyStep::layout(queries_.dtype()),
                     overlap(queries, rows) ? gpu::HostReads::copied : host),
        row_tiles_(device, *queue_, gpu::byte_rows(rows), KeyStep::layout(rows_.dtype()), host),
        step_(metric, rows_.cols()),
        keys_(keys) {}

  bool maps_host() const { return query_tiles_.maps_host() || row_tiles_.maps_host(); }

  std::int64_t bytes(gpu::TileSize tile) const override {
    return query_tiles_.bytes(tile.queries, bytes_of(queries_)) +
           row_tiles_.bytes(tile.rows, bytes_of(rows_)) + tile.queries * tile.rows * kKeyBytes;
  }

  void take_rows(std::int64_t first, std::int64_t count, std::int64_t most_queries) override {
    found_.reset();
    row_tile_.rows.reset();
    first_row_ = first;
    row_count_ = count;
    row_tile_ = row_tiles_.take(first, count);
    found_ = device_.allocate(most_queries * count * kKeyBytes);
  }

  void run(std::int64_t first, std::int64_t count) override {
    const gpu::ArrayTile queries = query_tiles_.take(first, count);
    step_.all(*queue_, {queries, queries_.dtype(), 0, count},
              {row_tile_, rows_.dtype(), 0, row_count_}, *found_);
    queue_->read(*found_, keys_ + first * rows_.rows() + first_row_,
                 {count, row_count_ * kKeyBytes, row_count_ * kKeyBytes, rows_.rows() * kKeyBytes});
    queue_->wait();
  }

 private:
  static std::int64_t bytes_of(MatrixView rows) { return row_bytes(rows.dtype(), rows.cols()); }

  gpu::Device& device_;
  MatrixView queries_;  // for their shapes: they may be on the device
  MatrixView rows_;
  std::unique_ptr<gpu::Queue> queue_;
  gpu::ArrayTiles query_tiles_;
  gpu::ArrayTiles row_tiles_;
  KeyStep step_;
  double* keys_;
  std::int64_t first_row_ = 0;
  std::int64_t row_count_ = 0;
  gpu::ArrayTile row_tile_{};
  std::unique_ptr<gpu::Buffer> found_;
};

// Keys of a sample, which is run six times: a fifth of a call, once a process, and less of a large
// one. No more than a tile has: a sample is not cancelled.
std::int64_t sample_keys(const PlacedRows& queries, const PlacedRows& rows,
                         std::int64_t most_pairs) {
  return std::clamp<std::int64_t>(queries.view.rows() * rows.view.rows() / 32, 1,
                                  std::min<std::int64_t>(1 << 18, most_pairs));
}

PlacedRows first_rows(const PlacedRows& rows, std::int64_t most) {
  const std::int64_t bytes =
      std::max<std::int64_t>(row_bytes(rows.view.dtype(), rows.view.cols()), 1);
  const std::int64_t count = std::min({rows.view.rows(), most, gpu::kMostMeasured / bytes});
  return {rows.view.slice(0, count), rows.on_device, rows.stream};
}

// A tile of as many queries as others have, for a row is read as often as there are blocks of them,
// and of fewer rows. Its keys are made again.
class KeySample {
 public:
  KeySample(gpu::Device& device, const PlacedRows& queries, const PlacedRows& rows,
            MetricSpec metric, const Context& context, std::int64_t most_pairs, double* keys)
      : device_(device),
        queries_(
            first_rows(queries, std::clamp<std::int64_t>(most_pairs / rows.view.rows(), 1,
                                                         sample_keys(queries, rows, most_pairs)))),
        rows_(first_rows(rows,
                         std::max<std::int64_t>(
                             sample_keys(queries, rows, most_pairs) / queries_.view.rows(), 1))),
        metric_(metric),
        context_(context),
        keys_(keys) {}

  bool run(gpu::HostReads how) const {
    KeyWork work(device_, queries_, rows_, metric_, context_.stream, how, keys_);
    const gpu::TileSize tile{queries_.view.rows(), rows_.view.rows()};
    if (work.bytes(tile) > context_.device_memory_limit.value_or(device_.facts().memory)) {
      throw gpu::OutOfMemory("no sample fits the limit");
    }
    work.take_rows(0, tile.rows, tile.queries);
    work.run(0, tile.queries);
    return how == gpu::HostReads::copied || work.maps_host();
  }

 private:
  gpu::Device& device_;
  const PlacedRows queries_;
  const PlacedRows rows_;
  const MetricSpec metric_;
  const Context& context_;
  double* keys_;
};

}  // namespace

KeyDevice key_device(const Context& context) {
  const gpu::Opened opened = gpu::open_device(context.device);
  const gpu::Facts& facts = opened.device.facts();
  return {opened.id, facts.name, facts.driver, facts.has_float64};
}

std::string device_keys(const PlacedRows& queries, const PlacedRows& rows, MetricSpec metric,
                        std::int64_t keys_at_once, const Context& context, Monitor& monitor,
                        double* keys) {
  gpu::Device& device = gpu::open_device(context.device).device;
  const gpu::PairLimits limits{
      .most_pairs = std::clamp(keys_at_once, kKeySide * kKeySide, kBatchKeys),
      .most = kMostKeys,
      .least = kKeySide};
  if (queries.view.rows() == 0 || rows.view.rows() == 0) return {};
  const KeySample sample(device, queries, rows, metric, context, limits.most_pairs, keys);
  const gpu::HostReadsChoice host = choose_host_reads(
      device, "keys", gpu::host_bytes(queries) + gpu::host_bytes(rows), [&](gpu::HostReads how) {
        monitor.check();
        return sample.run(how);
      });
  KeyWork work(device, queries, rows, metric, context.stream, host.how, keys);
  run_in_tiles(device, {queries.view.rows(), rows.view.rows()}, limits, work, context, monitor,
               "keys");
  return host.how == gpu::HostReads::mapped && !work.maps_host() ? gpu::kNotMapped : host.why;
}

}  // namespace nearfield
