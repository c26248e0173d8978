#include "row_pieces.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nearfield/error.hpp>

#include "interrupt.hpp"
#include "progress_bar.hpp"

namespace nearfield::cli {
namespace {

// Large enough for disks, small beside what a process takes anyway.
constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;

}  // namespace

void for_each_piece(const RowSource& source, RowRange range, bool quiet,
                    const std::function<void(const Matrix& piece, std::int64_t first)>& use) {
  const CancelToken cancel = cancel_on_interrupt();
  ProgressBar bar("rows");
  const std::int64_t bytes = std::max<std::int64_t>(row_bytes(source.dtype(), source.cols()), 1);
  const std::int64_t most = std::max<std::int64_t>(kPieceBytes / bytes, 1);
  Matrix piece;
  for (std::int64_t done = 0; done < range.count;) {
    if (cancel.cancelled()) {
      throw Error(ErrorCode::cancelled,
                  fmt::format("cancelled after {} of {} rows", done, range.count));
    }
    const std::int64_t count = std::min(most, range.count - done);
    if (piece.rows() != count) {
      piece = Matrix(source.dtype(), count, source.cols());
    }
    source.read(range.first + done, count, piece, 0);
    use(piece, range.first + done);
    done += count;
    if (!quiet) {
      bar.show({done, range.count});
    }
  }
}

}  // namespace nearfield::cli
