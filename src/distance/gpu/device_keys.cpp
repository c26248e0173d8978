#include "distance/device_keys.hpp"

#include <algorithm>
#include <memory>

#include "core/checked.hpp"
#include "device/gpu/open.hpp"
#include "device/gpu/pair_tiles.hpp"

namespace nearfield {
namespace {

// keys.cu knows types by number.
static_assert(static_cast<int>(DType::f64) == 0 && static_cast<int>(DType::f32) == 1 &&
              static_cast<int>(DType::f16) == 2 && static_cast<int>(DType::bf16) == 3 &&
              static_cast<int>(DType::u8) == 4 && static_cast<int>(DType::i8) == 5 &&
              static_cast<int>(DType::bits) == 6);
constexpr std::int64_t kSide = 16;  // keys of a block, both ways
constexpr std::int64_t kKeyBytes = sizeof(double);
constexpr std::int64_t kBatchKeys = std::int64_t{8} << 20;
constexpr gpu::TileSize kMost = {gpu::Grid::kMostY * kSide, std::int64_t{1} << 30};

class KeyWork final : public gpu::PairWork {
 public:
  KeyWork(gpu::Device& device, MatrixView queries, MatrixView rows, MetricSpec metric,
          std::uintptr_t stream, double* keys)
      : device_(device),
        queries_(queries),
        rows_(rows),
        metric_(metric),
        queue_(device.make_queue(stream)),
        module_(fmt::format("keys_{}", info(metric).name)),
        keys_(keys) {}

  std::int64_t bytes(gpu::TileSize tile) const override {
    return tile.queries * stride_of(queries_) + tile.rows * stride_of(rows_) +
           tile.queries * tile.rows * kKeyBytes;
  }

  void take_rows(std::int64_t first, std::int64_t count, std::int64_t most_queries) override {
    tile_.reset();
    row_tile_.reset();
    first_row_ = first;
    row_count_ = count;
    row_tile_ = copy(rows_.slice(first, count));
    tile_ = device_.allocate(most_queries * count * kKeyBytes);
  }

  void run(std::int64_t first, std::int64_t count) override {
    const auto queries = copy(queries_.slice(first, count));
    queue_->run({module_, "keys"}, {divide_up(row_count_, kSide), divide_up(count, kSide)},
                {*queries, static_cast<std::uint64_t>(stride_of(queries_)),
                 static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(queries_.dtype()),
                 *row_tile_, static_cast<std::uint64_t>(stride_of(rows_)),
                 static_cast<std::uint32_t>(row_count_), static_cast<std::uint32_t>(rows_.dtype()),
                 width(), metric_.p, *tile_});
    queue_->read(*tile_, keys_ + first * rows_.rows() + first_row_,
                 {count, row_count_ * kKeyBytes, rows_.rows() * kKeyBytes, row_count_ * kKeyBytes});
    queue_->wait();
  }

 private:
  // Bytes on the device. Words of bits are read whole.
  static std::int64_t stride_of(MatrixView rows) {
    return round_up(row_bytes(rows.dtype(), rows.cols()), rows.dtype() == DType::bits ? 8 : 1);
  }

  std::unique_ptr<gpu::Buffer> copy(MatrixView rows) {
    const std::int64_t stride = stride_of(rows);
    auto buffer = device_.allocate(rows.rows() * stride);
    const std::int64_t bytes = row_bytes(rows.dtype(), rows.cols());
    if (stride != bytes) queue_->fill(*buffer, 0);
    queue_->write(*buffer, rows.row(0), {rows.rows(), bytes, rows.stride_bytes(), stride});
    return buffer;
  }

  std::uint32_t width() const {
    return static_cast<std::uint32_t>(rows_.dtype() == DType::bits ? stride_of(rows_)
                                                                   : rows_.cols());
  }

  gpu::Device& device_;
  MatrixView queries_;
  MatrixView rows_;
  MetricSpec metric_;
  std::unique_ptr<gpu::Queue> queue_;
  std::string module_;
  double* keys_;
  std::int64_t first_row_ = 0;
  std::int64_t row_count_ = 0;
  std::unique_ptr<gpu::Buffer> row_tile_;
  std::unique_ptr<gpu::Buffer> tile_;
};

}  // namespace

std::string device_keys(MatrixView queries, MatrixView rows, MetricSpec metric,
                        std::int64_t keys_at_once, const Context& context, Monitor& monitor,
                        double* keys) {
  const gpu::Opened opened = gpu::open_device(context.device);
  if (!opened.device.facts().has_float64) {
    fail(ErrorCode::unsupported, "keys are float64, which {} ({}) lacks: use another device",
         opened.id, opened.device.facts().name);
  }
  KeyWork work(opened.device, queries, rows, metric, context.stream, keys);
  const gpu::PairLimits limits{.most_pairs = std::clamp(keys_at_once, kSide * kSide, kBatchKeys),
                               .most = kMost,
                               .least = kSide};
  run_in_tiles(opened.device, {queries.rows(), rows.rows()}, limits, work, context, monitor,
               "keys");
  return opened.id;
}

}  // namespace nearfield
