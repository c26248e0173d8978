#include "distance/device_products.hpp"

#include <limits>

#include "core/byte_type.hpp"
#include "core/fail.hpp"
#include "core/tasks.hpp"
#include "device/gpu/open.hpp"
#include "distance/gpu/product_tiles.hpp"

namespace nearfield {
namespace {

DeviceProducts run(MatrixView queries, MatrixView rows, ProductKind kind, ProductOutput output,
                   const ProductScale& scale, const Context& context, Monitor& monitor,
                   void* found) {
  const gpu::Opened opened = gpu::open_device(context.device);
  const ProductStep step(queries.dtype(), rows.dtype(), rows.cols(), kind, output, scale);
  run_product_tiles(opened.device, queries, rows, step, context, monitor,
                    static_cast<std::byte*>(found));
  return {opened.id, scale};
}

void check_halves(MatrixView rows) {
  if (!is_byte(rows.dtype()) && rows.dtype() != DType::f32 && rows.dtype() != DType::f16) {
    fail(ErrorCode::unsupported, "products of halves are made of f32, f16, u8 and i8, not of {}",
         to_string(rows.dtype()));
  }
}

void check_cols(MatrixView queries, MatrixView rows) {
  if (queries.cols() != rows.cols()) {
    fail(ErrorCode::invalid_argument, "queries have {} columns and rows {}", queries.cols(),
         rows.cols());
  }
}

}  // namespace

// By the largest term of a sum.
std::int64_t most_byte_cols(DType queries, DType rows, ProductOutput output) {
  const auto largest = [](DType x) { return std::int64_t{x == DType::u8 ? 255 : 128}; };
  const std::int64_t apart = queries == rows ? 255 : 255 + 128;
  const std::int64_t term =
      output == ProductOutput::sqeuclidean ? apart * apart : largest(queries) * largest(rows);
  return std::numeric_limits<std::int32_t>::max() / term;
}

DeviceProducts device_products(MatrixView queries, MatrixView rows, ProductKind kind,
                               ProductOutput output, const Context& context, Monitor& monitor,
                               float* found) {
  check_cols(queries, rows);
  check_halves(queries);
  check_halves(rows);
  if (kind == ProductKind::i8) {
    fail(ErrorCode::invalid_argument, "products of bytes are integers: ask for those");
  }
  const int threads = resolve_threads(context.threads);
  const ProductScale scale = product_scale(largest_value(queries, threads),
                                           largest_value(rows, threads), rows.cols(), kind);
  return run(queries, rows, kind, output, scale, context, monitor, found);
}

DeviceProducts device_byte_products(MatrixView queries, MatrixView rows, ProductOutput output,
                                    const Context& context, Monitor& monitor, std::int32_t* found) {
  check_cols(queries, rows);
  if (!is_byte(queries.dtype()) || !is_byte(rows.dtype())) {
    fail(ErrorCode::unsupported, "products of bytes are made of u8 and i8, not of {} and {}",
         to_string(queries.dtype()), to_string(rows.dtype()));
  }
  const std::int64_t most = most_byte_cols(queries.dtype(), rows.dtype(), output);
  if (rows.cols() > most) {
    fail(ErrorCode::unsupported,
         "sums over {} columns of {} and {} may not fit 32 bits, over {} they do: use halves",
         rows.cols(), to_string(queries.dtype()), to_string(rows.dtype()), most);
  }
  return run(queries, rows, ProductKind::i8, output, {}, context, monitor, found);
}

}  // namespace nearfield
