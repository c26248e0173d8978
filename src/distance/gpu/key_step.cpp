#include "distance/gpu/key_step.hpp"

#include <fmt/format.h>

#include "core/checked.hpp"

namespace nearfield {
namespace {

// keys.cu knows types by number.
static_assert(static_cast<int>(DType::f64) == 0 && static_cast<int>(DType::f32) == 1 &&
              static_cast<int>(DType::f16) == 2 && static_cast<int>(DType::bf16) == 3 &&
              static_cast<int>(DType::u8) == 4 && static_cast<int>(DType::i8) == 5 &&
              static_cast<int>(DType::bits) == 6);
constexpr std::int64_t kWordBytes = 8;
// Of pairs whose number only the device knows: enough for any device, and each goes round.
constexpr std::int64_t kPairBlocks = 1024;

std::uint64_t begin_of(const KeyVectors& vectors) {
  return static_cast<std::uint64_t>(vectors.first * vectors.tile.stride);
}
std::uint64_t stride_of(const KeyVectors& vectors) {
  return static_cast<std::uint64_t>(vectors.tile.stride);
}
std::uint32_t count_of(const KeyVectors& vectors) {
  return static_cast<std::uint32_t>(vectors.count);
}
std::uint32_t type_of(const KeyVectors& vectors) {
  return static_cast<std::uint32_t>(vectors.dtype);
}

// Queries up to which keys are made pair by pair: of a square, which takes as long for one query as
// for 16, most threads would have none. On a CPU, one query takes 1/3 (32 columns) to 1/6 of it.
constexpr std::int64_t kFewQueries = 3;

constexpr std::int64_t kPairThreads = 8;  // as in keys.cu

bool are_few(const KeyVectors& queries) { return queries.count <= kFewQueries; }

// Of the kernels for few queries, a block has as many rows as it has eights of threads, and every
// query.
gpu::Grid grid_of(const gpu::Queue& queue, const std::string& module, const KeyVectors& queries,
                  const KeyVectors& rows) {
  if (are_few(queries)) return {divide_up(rows.count, queue.threads(module) / kPairThreads), 1};
  return {divide_up(rows.count, kKeySide), divide_up(queries.count, kKeySide)};
}

}  // namespace

KeyStep::KeyStep(MetricSpec metric, std::int64_t cols)
    : metric_(metric),
      cols_(cols),
      module_(fmt::format("keys_{}", info(metric).name)),
      first_module_(fmt::format("first_{}", info(metric).name)) {}

gpu::RowLayout KeyStep::layout(DType dtype) {
  return {.word = dtype == DType::bits ? kWordBytes : 1};
}

std::uint32_t KeyStep::width(DType dtype) const {
  return static_cast<std::uint32_t>(
      dtype == DType::bits ? round_up(row_bytes(dtype, cols_), kWordBytes) : cols_);
}

void KeyStep::all(gpu::Queue& queue, const KeyVectors& queries, const KeyVectors& rows,
                  const gpu::Buffer& found) const {
  queue.run({module_, are_few(queries) ? "few_keys" : "keys"},
            grid_of(queue, module_, queries, rows),
            {*queries.tile.rows, begin_of(queries), stride_of(queries), count_of(queries),
             type_of(queries), *rows.tile.rows, begin_of(rows), stride_of(rows), count_of(rows),
             type_of(rows), width(rows.dtype), metric_.p, found});
}

void KeyStep::close(gpu::Queue& queue, const KeyVectors& queries, const KeyVectors& rows,
                    const gpu::Buffer& thresholds, const PairList& list) const {
  queue.fill(*list.count, 0);
  queue.run({module_, are_few(queries) ? "close_few_keys" : "close_keys"},
            grid_of(queue, module_, queries, rows),
            {*queries.tile.rows, begin_of(queries), stride_of(queries), count_of(queries),
             type_of(queries), *rows.tile.rows, begin_of(rows), stride_of(rows), count_of(rows),
             type_of(rows), width(rows.dtype), metric_.p, thresholds, *list.count,
             static_cast<std::uint32_t>(list.most), *list.places, *list.keys});
}

void KeyStep::first(gpu::Queue& queue, const KeyVectors& queries, const KeyVectors& rows,
                    const gpu::Buffer& thresholds, std::int64_t first, std::int64_t parts,
                    const PairList& list) const {
  queue.fill(*list.count, 0);
  queue.run(
      {first_module_, "first_keys"}, {parts, divide_up(queries.count, kKeySide)},
      {*queries.tile.rows, begin_of(queries), stride_of(queries), count_of(queries),
       type_of(queries), *rows.tile.rows, begin_of(rows), stride_of(rows), count_of(rows),
       type_of(rows), width(rows.dtype), metric_.p, static_cast<std::uint32_t>(first), thresholds,
       *list.count, static_cast<std::uint32_t>(list.most), *list.places, *list.keys});
}

void KeyStep::bounds(gpu::Queue& queue, const KeyVectors& queries, const KeyVectors& rows,
                     const gpu::Buffer& found) const {
  queue.run({module_, are_few(queries) ? "few_key_bounds" : "key_bounds"},
            grid_of(queue, module_, queries, rows),
            {*queries.tile.rows, begin_of(queries), stride_of(queries), count_of(queries),
             type_of(queries), *rows.tile.rows, begin_of(rows), stride_of(rows), count_of(rows),
             type_of(rows), width(rows.dtype), metric_.p, found});
}

void KeyStep::of_pairs(gpu::Queue& queue, const KeyVectors& queries, const KeyVectors& rows,
                       const PairList& list) const {
  queue.run(
      {module_, "pair_keys"}, {kPairBlocks, 1},
      {*queries.tile.rows, begin_of(queries), stride_of(queries), type_of(queries), *rows.tile.rows,
       begin_of(rows), stride_of(rows), type_of(rows), width(rows.dtype), metric_.p, *list.count,
       static_cast<std::uint32_t>(list.most), *list.places, *list.keys});
}

}  // namespace nearfield
