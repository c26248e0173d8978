#include "filter/rounded/packed_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "core/checked.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kWordRows = 64;   // of a bitset
constexpr std::int64_t kPieceBytes = 4;  // of a row that lie together

// As they are stored, which for unsigned bytes is less 128.
Rounded sums_of(std::span<const std::byte> row, std::byte flip) {
  Rounded rounded;
  for (const std::byte byte : row) {  // vectorises
    const std::int32_t value = static_cast<std::int8_t>(byte ^ flip);
    rounded.sum += value;
    rounded.squares += value * value;
  }
  return rounded;
}

// From one place to another, each with its distance between pieces.
struct Pieces {
  const std::byte* from;
  std::int64_t from_step;
  std::byte* to;
  std::int64_t to_step;
};

// Bytes of a piece that are not there stay as they are.
void copy_pieces(Pieces pieces, std::int64_t bytes, std::byte flip) {
  const std::uint32_t flips = 0x01010101U * static_cast<std::uint32_t>(flip);
  for (; bytes >= kPieceBytes; bytes -= kPieceBytes) {
    std::uint32_t piece = 0;
    std::memcpy(&piece, pieces.from, kPieceBytes);
    piece ^= flips;
    std::memcpy(pieces.to, &piece, kPieceBytes);
    pieces.from += pieces.from_step;
    pieces.to += pieces.to_step;
  }
  for (std::int64_t i = 0; i < bytes; ++i) pieces.to[i] = pieces.from[i] ^ flip;
}

}  // namespace

std::int64_t PackedBytes::bytes_for(std::int64_t cols, std::int64_t capacity) {
  const std::int64_t groups = divide_up(capacity, kGroupRows);
  constexpr std::int64_t kOfAGroup = kGroupRows * sizeof(std::int32_t) + sizeof(GroupTerms) + 4;
  return TileRows::all_bytes(capacity, cols) + groups * kOfAGroup;
}

PackedBytes::PackedBytes(const BaseRounding& rounding, QueryForm form, std::int64_t capacity)
    : rounding_(rounding),
      form_(form),
      capacity_(capacity),
      depth_(TileRows::bytes_per_row(rounding.cols) / kPieceBytes),
      own_(true),
      own_values_(TileRows::all_bytes(capacity, rounding.cols)),
      own_bias_(round_up(capacity, kGroupRows)),
      own_terms_(static_cast<std::size_t>(divide_up(capacity, kGroupRows))),
      own_odd_(own_terms_.size()),
      tensors_{.values = {own_values_.data(),
                          static_cast<std::size_t>(TileRows::all_bytes(capacity, rounding.cols))},
               .bias = {own_bias_.data(), own_terms_.size() * kGroupRows},
               .terms = own_terms_,
               .odd = own_odd_} {
  // What a kernel reads and nobody puts: the last group's end, and behind it.
  const std::int64_t last = capacity / kGroupRows * kGroupRows;
  std::memset(own_values_.data() + last * depth_ * kPieceBytes, 0,
              tensors_.values.size() - static_cast<std::size_t>(last * depth_ * kPieceBytes));
  std::fill(own_bias_.data() + last, own_bias_.data() + tensors_.bias.size(), 0);
}

PackedBytes::PackedBytes(const BaseRounding& rounding, std::int64_t rows,
                         const RoundedTensors& tensors)
    : rounding_(rounding),
      form_(QueryForm::bytes),
      capacity_(rows),
      depth_(TileRows::bytes_per_row(rounding.cols) / kPieceBytes),
      own_(false),
      tensors_(tensors) {}

// Of its first piece; the next one is a block's rows further.
std::int64_t PackedBytes::offset_of(std::int64_t row) const {
  return row / kBlockRows * kBlockRows * depth_ * kPieceBytes + row % kBlockRows * kPieceBytes;
}

void PackedBytes::put(std::int64_t row, const std::byte* values) {
  const auto flip = static_cast<std::byte>(rounding_.offset());
  std::byte* const out = own_values_.data() + offset_of(row);
  std::memset(out + (depth_ - 1) * kBlockRows * kPieceBytes, 0, kPieceBytes);
  copy_pieces({values, kPieceBytes, out, kBlockRows * kPieceBytes}, cols(), flip);
  const Rounded rounded = sums_of({values, static_cast<std::size_t>(cols())}, flip);
  own_bias_[row] = bias_of(rounding_, form_, rounded);
  // Also where it is even: a row that was never published may have been there.
  std::uint32_t& odd = own_odd_[static_cast<std::size_t>(row / kGroupRows)];
  const std::uint32_t bit = std::uint32_t{1} << (row % kGroupRows);
  odd = (rounded.squares & 1) != 0 ? odd | bit : odd & ~bit;
}

void PackedBytes::take(std::int64_t first, std::int64_t count, std::byte* out) const {
  const auto flip = static_cast<std::byte>(rounding_.offset());
  const std::int64_t end = first + count;
  for (std::int64_t row = first; row < end;) {
    if (row % kBlockRows == 0 && end - row >= kBlockRows) {
      take_block(row, out);
      row += kBlockRows;
      out += kBlockRows * cols();
      continue;
    }
    const std::byte* const pieces = tensors_.values.data() + offset_of(row);
    copy_pieces({pieces, kBlockRows * kPieceBytes, out, kPieceBytes}, cols(), flip);
    ++row;
    out += cols();
  }
}

// Reads each line once, not once for each row.
void PackedBytes::take_block(std::int64_t first, std::byte* out) const {
  const auto flip = static_cast<std::byte>(rounding_.offset());
  const std::byte* pieces = tensors_.values.data() + offset_of(first);
  for (std::int64_t col = 0; col < cols(); col += kPieceBytes, pieces += kBlockRows * kPieceBytes) {
    const std::int64_t bytes = std::min(kPieceBytes, cols() - col);
    for (std::int64_t row = 0; row < kBlockRows; ++row) {
      copy_pieces({pieces + row * kPieceBytes, 0, out + row * cols() + col, 0}, bytes, flip);
    }
  }
}

std::int64_t PackedBytes::searchable(std::int64_t rows) const {
  if (!own_ || rows == capacity_) return rows;
  const std::int64_t behind = divide_up(kTileBytes, depth_ * kPieceBytes);
  return std::max<std::int64_t>(rows - round_up(behind, kWordRows), 0) / kWordRows * kWordRows;
}

bool PackedBytes::serves(QueryForm form) const {
  return (form == QueryForm::offset_bytes) == (form_ == QueryForm::offset_bytes);
}

RoundedRows PackedBytes::first(std::int64_t rows, const BaseRounding& rounding) const {
  const auto groups = static_cast<std::size_t>(divide_up(rows, kGroupRows));
  const auto bytes = static_cast<std::size_t>(TileRows::all_bytes(rows, cols()));
  return {rounding,
          form_,
          rows,
          {.values = tensors_.values.first(bytes),
           .bias = tensors_.bias.first(groups * kGroupRows),
           .terms = tensors_.terms.first(groups),
           .odd = tensors_.odd.first(groups)},
          form_};
}

}  // namespace nearfield
