#include "index/packing.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "index/index_format.hpp"

namespace nearfield {
namespace {

using namespace index_format;

// Whole groups, of so many rows.
std::int64_t piece_rows(std::int64_t row_size, std::int64_t rows) {
  constexpr std::int64_t kPieceBytes = 4 << 20;
  return round_up(
      std::clamp<std::int64_t>(kPieceBytes / row_size, 1, std::max<std::int64_t>(rows, 1)),
      kGroupRows);
}

// As the largest part is rounded, or by a sample of it.
void fit(BaseRounding& rounding, std::span<const PartView> parts, const Monitor& monitor) {
  if (parts.empty())
    return rounding.centre_on(std::vector<float>(static_cast<std::size_t>(rounding.cols)));
  const PartView& largest = *std::ranges::max_element(parts, {}, &PartView::count);
  const BaseRounding* const known =
      largest.packed != nullptr ? &largest.packed->rounding : largest.part->stored_rounding();
  if (known != nullptr) {
    const Isa isa = rounding.isa;
    rounding = *known;
    rounding.isa = isa;
  } else {
    const DefaultFloats floats;
    fit_rounding(rounding, largest.rows(), monitor);
  }
}

// Without what a kernel reads behind them.
std::span<const std::byte> values_of(const RoundedRows& rows) {
  const std::span<const std::byte> all = rows.tensors().values;
  return all.first(all.size() - kTileBytes);
}

}  // namespace

std::unique_ptr<Packing> Packing::of(const IndexSpec& spec, std::span<const PartView> parts,
                                     int threads, Monitor& monitor) {
  if (!scans_tiles(spec)) return nullptr;
  auto rounding = choose_rounding(spec.metric, spec.dtype, spec.dtype, spec.cols, isa_of({}));
  if (!rounding) return nullptr;
  if (!rounding->lossless) fit(*rounding, parts, monitor);
  return std::unique_ptr<Packing>(new Packing(*std::move(rounding), parts, threads, monitor));
}

std::int64_t Packing::bytes_for(const IndexSpec& spec, std::int64_t rows, int threads) {
  if (!scans_tiles(spec) ||
      !choose_rounding(spec.metric, spec.dtype, spec.dtype, spec.cols, isa_of({}))) {
    return 0;
  }
  constexpr std::int64_t kOfARow = sizeof(std::int32_t);
  constexpr std::int64_t kOfAGroup = sizeof(GroupTerms) + sizeof(std::uint32_t);
  const std::int64_t row_size = row_bytes(spec.dtype, spec.cols);
  const std::int64_t groups = divide_up(rows, kGroupRows);
  const std::int64_t piece = piece_rows(row_size, rows);
  return groups * (kGroupRows * kOfARow + kOfAGroup) + piece * row_size +
         prepared_bytes(piece, spec.cols, threads);
}

Packing::Packing(BaseRounding rounding, std::span<const PartView> parts, int threads,
                 Monitor& monitor)
    : rounding_(std::move(rounding)), parts_(parts), threads_(threads), monitor_(monitor) {
  const std::int64_t groups = divide_up(live_rows(parts), kGroupRows);
  bias_.reserve(static_cast<std::size_t>(groups * kGroupRows));
  terms_.reserve(static_cast<std::size_t>(groups));
  odd_.reserve(static_cast<std::size_t>(groups));
  for_each_piece([&](const RoundedRows& piece) {
    const RoundedTensors tensors = piece.tensors();
    value_bytes_ += std::ssize(values_of(piece));
    bias_.insert(bias_.end(), tensors.bias.begin(), tensors.bias.end());
    terms_.insert(terms_.end(), tensors.terms.begin(), tensors.terms.end());
    odd_.insert(odd_.end(), tensors.odd.begin(), tensors.odd.end());
  });
}

// Of whole groups, but for the last.
void Packing::for_each_piece(const Use& use) const {
  const std::int64_t row_size = row_bytes(rounding_.base, rounding_.cols);
  const std::int64_t most = piece_rows(row_size, live_rows(parts_));
  Matrix rows(rounding_.base, most, rounding_.cols);
  std::int64_t filled = 0;
  const auto end_piece = [&] {
    const MatrixView piece = rows.view().slice(0, std::exchange(filled, 0));
    use(RoundedRows(rounding_, QueryForm::bytes, piece, 0, threads_, monitor_));
  };
  for_each_run(parts_, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t count = std::min(end - row, most - filled);
      view.part->read(row, count, rows, filled);
      filled += count;
      row += count;
      if (filled == most) end_piece();
    }
  });
  if (filled > 0) end_piece();
}

void Packing::add_to(std::vector<TensorToWrite>& tensors,
                     std::map<std::string, std::string>& metadata) const {
  tensors.push_back(
      {kValues, TensorType::u8, {value_bytes_ + kTileBytes}, [this](const TakeBytes& take) {
         for_each_piece([&](const RoundedRows& piece) { take(values_of(piece)); });
         const std::array<std::byte, kTileBytes> behind{};
         take(behind);
       }});
  const auto add = [&](const char* name, TensorType type, std::vector<std::int64_t> shape,
                       const auto& values) {
    tensors.push_back(
        tensor_in_memory(name, type, std::move(shape), std::as_bytes(std::span(values))));
  };
  add(kBias, TensorType::i32, {std::ssize(bias_)}, bias_);
  add(kTerms, TensorType::f32, {std::ssize(terms_), 2}, terms_);
  add(kOdd, TensorType::u32, {std::ssize(odd_)}, odd_);
  if (rounding_.lossless) return;
  add(kCentre, TensorType::f32, {rounding_.cols}, rounding_.centre);
  metadata[kStep] = fmt::format("{}", rounding_.step);
  metadata[kRotated] = rounding_.rotation ? "1" : "0";
}

}  // namespace nearfield
