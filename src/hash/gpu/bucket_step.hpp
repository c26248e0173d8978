// Bucket tables made on a device: what the kernels of bucket_table.cu are given.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>

#include "device/gpu/array_tiles.hpp"
#include "device/gpu/gpu.hpp"
#include "hash/bucket_table.hpp"

namespace nearfield {

// The tables of BucketTable, to the bit. By one thread at a time.
class BucketStep {
 public:
  // `name` is one of the context's devices, whose memory is limited as it says. cols: of the rows.
  BucketStep(const Context& context, std::string_view name, std::int64_t cols);

  // How many rows there is room for at a time, with buckets of so many bits. Throws memory_limit
  // where there is none.
  std::int64_t most_rows(int bits) const;

  // Of rows of packed bits: bit i of a bucket is that at the i-th of the positions. They are copied
  // to the device, unless they are those of the call before, which must not have changed.
  BucketTable make(MatrixView rows, std::span<const std::uint32_t> positions);

 private:
  void make_room(std::int64_t rows, int bits);
  void hold(MatrixView rows);
  void sort(std::int64_t rows, int bits);

  gpu::Device& device_;
  std::int64_t limit_;
  std::int64_t row_bytes_;  // on the device
  MatrixView held_;
  gpu::ArrayTile rows_{};
  std::unique_ptr<gpu::Buffer> positions_;
  std::unique_ptr<gpu::Buffer> entries_;
  std::unique_ptr<gpu::Buffer> sorted_;
  std::unique_ptr<gpu::Buffer> counts_;
  std::unique_ptr<gpu::Buffer> totals_;
  std::unique_ptr<gpu::Buffer> starts_;
  std::unique_ptr<gpu::Buffer> listed_;
  // The last: what it still has to do reads and writes the others.
  std::unique_ptr<gpu::Queue> queue_;
};

}  // namespace nearfield
