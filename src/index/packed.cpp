#include "index/packed.hpp"

#include <algorithm>
#include <utility>

#include "filter/rounded/tile_kernel.hpp"
#include "index/tuning.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kWordRows = 64;

// Of bytes that meet bytes.
BaseRounding lossless_rounding(MetricSpec metric, DType dtype, std::int64_t cols, Isa isa) {
  return *choose_rounding(metric, dtype, dtype, cols, isa);
}

}  // namespace

bool should_pack(std::int64_t rows, std::int64_t packed) {
  // All are packed anew each time: so often that it is 3 times for each row at most.
  return rows - packed >= std::max(index_tuning().least_packed_rows, packed / 2);
}

SharedPacked pack(MatrixView rows, MetricSpec metric, const Context& context) {
  const std::int64_t whole = rows.rows() / kWordRows * kWordRows;
  if (whole < index_tuning().least_packed_rows) return nullptr;
  auto base = prepare(rows.slice(0, whole), metric, context);
  return base ? std::make_shared<const PreparedBase>(*std::move(base)) : nullptr;
}

std::int64_t pack_bytes(const IndexSpec& spec, std::int64_t rows, int threads) {
  const bool packed = rows >= index_tuning().least_packed_rows && scans_tiles(spec) &&
                      !keeps_tiles_alone(spec) &&
                      choose_rounding(spec.metric, spec.dtype, spec.dtype, spec.cols, isa_of({}));
  return packed ? prepared_bytes(rows, spec.cols, threads) : 0;
}

SharedPacked packed_of_file(const StoredPacked& stored, std::int64_t rows) {
  const Isa isa = isa_of({});
  BaseRounding rounding = stored.rounding;
  rounding.isa = isa;
  RoundedRows rounded(rounding, tile_kernel(isa).form, rows, stored.tensors);
  return std::make_shared<const PreparedBase>(
      PreparedBase{stored.metric, isa, std::move(rounding), std::move(rounded)});
}

bool scans_tiles(const IndexSpec& spec) { return spec.family == "flat"; }

bool keeps_tiles_alone(const IndexSpec& spec) {
  if (!scans_tiles(spec)) return false;
  const auto rounding =
      choose_rounding(spec.metric, spec.dtype, spec.dtype, spec.cols, Isa::scalar);
  return rounding && rounding->lossless;
}

PackedBytes packed_bytes(const IndexSpec& spec, std::int64_t capacity) {
  const Isa isa = isa_of({});
  return {lossless_rounding(spec.metric, spec.dtype, spec.cols, isa), tile_kernel(isa).form,
          capacity};
}

SharedPacked packed_first(const PackedBytes& bytes, MetricSpec metric, std::int64_t rows, Isa isa) {
  BaseRounding rounding = lossless_rounding(metric, bytes.dtype(), bytes.cols(), isa);
  RoundedRows first = bytes.first(rows, rounding);
  return std::make_shared<const PreparedBase>(
      PreparedBase{metric, isa, std::move(rounding), std::move(first)});
}

std::int64_t bytes_of(const RoundedTensors& tensors) {
  return static_cast<std::int64_t>(tensors.values.size_bytes() + tensors.bias.size_bytes() +
                                   tensors.terms.size_bytes() + tensors.odd.size_bytes());
}

}  // namespace nearfield
