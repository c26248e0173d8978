#include "distance/gpu/product_tiles.hpp"

#include <algorithm>
#include <memory>

#include "device/gpu/pair_tiles.hpp"

namespace nearfield {
namespace {

// Multiplications of a tile: some milliseconds of a card, a second of a CPU.
constexpr std::int64_t kMostProducts = std::int64_t{1} << 33;
constexpr std::int64_t kBatchProducts = std::int64_t{16} << 20;
constexpr gpu::TileSize kMostOfTile = {4096, std::int64_t{1} << 30};

class ProductWork final : public gpu::PairWork {
 public:
  ProductWork(gpu::Device& device, MatrixView queries, MatrixView rows, const ProductStep& step,
              std::uintptr_t stream, std::byte* found)
      : device_(device),
        queries_(queries),
        rows_(rows),
        step_(step),
        queue_(device.make_queue(stream)),
        found_(found) {}

  std::int64_t bytes(gpu::TileSize tile) const override {
    return step_.vectors_bytes(queries_.dtype(), tile.queries) +
           step_.vectors_bytes(rows_.dtype(), tile.rows) +
           ProductStep::found_bytes(tile.queries, tile.rows);
  }

  void take_rows(std::int64_t first, std::int64_t count, std::int64_t most_queries) override {
    tile_.reset();
    row_vectors_ = {};
    first_row_ = first;
    row_vectors_ = step_.convert_rows(device_, *queue_, rows_.slice(first, count));
    tile_ = device_.allocate(ProductStep::found_bytes(most_queries, count));
    // Its rows, which it has read by then, take memory no more.
    queue_->wait();
    row_vectors_.source.reset();
  }

  void run(std::int64_t first, std::int64_t count) override {
    const ConvertedVectors queries =
        step_.convert_queries(device_, *queue_, queries_.slice(first, count));
    step_.multiply(*queue_, queries, row_vectors_, *tile_);
    const std::int64_t bytes = row_vectors_.count * kFoundBytes;
    queue_->read(*tile_, found_ + (first * rows_.rows() + first_row_) * kFoundBytes,
                 {count, bytes, bytes, rows_.rows() * kFoundBytes});
    queue_->wait();
  }

 private:
  gpu::Device& device_;
  MatrixView queries_;
  MatrixView rows_;
  const ProductStep& step_;
  std::unique_ptr<gpu::Queue> queue_;
  std::byte* found_;
  std::int64_t first_row_ = 0;
  ConvertedVectors row_vectors_;
  std::unique_ptr<gpu::Buffer> tile_;
};

}  // namespace

void run_product_tiles(gpu::Device& device, MatrixView queries, MatrixView rows,
                       const ProductStep& step, const Context& context, Monitor& monitor,
                       std::byte* found) {
  ProductWork work(device, queries, rows, step, context.stream, found);
  const std::int64_t cols = std::max<std::int64_t>(rows.cols(), 1);
  const gpu::PairLimits limits{
      .most_pairs = std::clamp(kMostProducts / cols, kProductTile * kProductTile, kBatchProducts),
      .most = kMostOfTile,
      .least = kProductTile};  // fewer would be padded to as many
  run_in_tiles(device, {queries.rows(), rows.rows()}, limits, work, context, monitor, "products");
}

}  // namespace nearfield
