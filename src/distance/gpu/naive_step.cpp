#include "distance/gpu/naive_step.hpp"

#include <cmath>
#include <string_view>

#include "core/byte_type.hpp"
#include "core/checked.hpp"
#include "core/fail.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kNaiveModule = "naive_distances";

void check_naive(const KeyVectors& queries, const KeyVectors& rows) {
  const DType dtype = rows.dtype;
  const bool is_read = dtype == DType::f32 || dtype == DType::f16 || is_byte(dtype);
  if (is_read && queries.dtype == dtype && queries.tile.stride == rows.tile.stride &&
      queries.count <= gpu::Grid::kMostY) {
    return;
  }
  fail(ErrorCode::invalid_argument,
       "naive distances are of vectors of one type (f32, f16, u8, i8) and stride, and of at most "
       "{} queries: here {} and {}, strides {} and {}, {} queries",
       gpu::Grid::kMostY, to_string(queries.dtype), to_string(dtype), queries.tile.stride,
       rows.tile.stride, queries.count);
}

}  // namespace

void naive_distances(gpu::Queue& queue, const KeyVectors& queries, const KeyVectors& rows,
                     std::int64_t cols, const gpu::Buffer& found) {
  check_naive(queries, rows);
  queue.run({kNaiveModule, "naive_distances"}, {rows.count, queries.count},
            {*queries.tile.rows, static_cast<std::uint64_t>(queries.first), *rows.tile.rows,
             static_cast<std::uint64_t>(rows.first), static_cast<std::uint64_t>(rows.tile.stride),
             static_cast<std::uint32_t>(cols), static_cast<std::uint32_t>(rows.dtype), found});
}

void round_to_halves(gpu::Queue& queue, const gpu::Buffer& values, std::int64_t count, int scale) {
  queue.run({kNaiveModule, "round_to_halves"}, {divide_up(count, queue.threads(kNaiveModule)), 1},
            {values, static_cast<std::uint64_t>(count), std::ldexp(1.0F, scale)});
}

}  // namespace nearfield
