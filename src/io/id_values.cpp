#include "io/id_values.hpp"

#include <algorithm>
#include <array>
#include <new>

#include <nearfield/results.hpp>

#include "core/fail.hpp"
#include "io/file_rows.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kWordsPerRead = std::int64_t{256} << 10;
constexpr std::size_t kWordsPerWrite = 4096;

template <class Word>
void read_words(const InputFile& file, const FileLayout& layout, std::vector<std::int64_t>& ids) {
  const std::int64_t record = record_bytes(layout) / layout.value.bytes;
  const std::int64_t words = layout.rows * record;
  std::vector<Word> piece;
  for (std::int64_t first = 0; first < words; first += kWordsPerRead) {
    piece.resize(static_cast<std::size_t>(std::min(kWordsPerRead, words - first)));
    file.read_at(layout.offset + first * layout.value.bytes,
                 std::as_writable_bytes(std::span(piece)));
    if (!layout.counted) {
      ids.insert(ids.end(), piece.begin(), piece.end());
      continue;
    }
    for (std::int64_t at = first; const Word word : piece) {
      if (at % record == 0) {
        check_row_count(file, at / record, static_cast<std::int32_t>(word), layout.cols);
      } else {
        ids.push_back(word);
      }
      ++at;
    }
  }
}

void write_row(OutputFile& file, std::span<const std::int64_t> ids, std::int64_t value_bytes) {
  if (value_bytes == kIds64.bytes) {
    file.write(std::as_bytes(ids));
    return;
  }
  std::array<std::int32_t, kWordsPerWrite> piece;  // filled as far as it is used
  while (!ids.empty()) {
    const auto part = ids.first(std::min(ids.size(), kWordsPerWrite));
    std::ranges::transform(part, piece.begin(),
                           [](std::int64_t id) { return static_cast<std::int32_t>(id); });
    file.write(std::as_bytes(std::span(piece).first(part.size())));
    ids = ids.subspan(part.size());
  }
}

}  // namespace

std::vector<std::int64_t> read_id_values(const InputFile& file, const FileLayout& layout) {
  const std::int64_t count = layout.rows * layout.cols;
  std::vector<std::int64_t> ids;
  if (count == 0) {
    return ids;  // and no size of a row: a file of 0 rows may say any number of columns
  }
  try {
    ids.reserve(static_cast<std::size_t>(count));
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::memory_limit, "{}: no memory for its {} ids of 8 bytes", file.path(), count);
  }
  if (layout.value.bytes == kIds64.bytes) {
    read_words<std::int64_t>(file, layout, ids);
  } else {
    read_words<std::int32_t>(file, layout, ids);
  }
  return ids;
}

void write_id_values(OutputFile& file, std::span<const std::int64_t> ids,
                     const FileLayout& layout) {
  if (!layout.counted) {
    write_row(file, ids, layout.value.bytes);
    return;
  }
  const auto count = static_cast<std::int32_t>(layout.cols);
  const auto cols = static_cast<std::size_t>(layout.cols);
  for (; !ids.empty(); ids = ids.subspan(cols)) {
    file.write(std::as_bytes(std::span(&count, 1)));
    write_row(file, ids.first(cols), layout.value.bytes);
  }
}

void check_ids(const std::string& path, std::span<const std::int64_t> ids, std::int64_t cols,
               std::int64_t most) {
  const auto wrong =
      std::ranges::find_if(ids, [&](std::int64_t id) { return id < kNoId || id > most; });
  if (wrong != ids.end()) {
    const std::int64_t position = wrong - ids.begin();
    fail(ErrorCode::invalid_argument,
         "{}: id {} in row {}, column {} does not fit this file: its ids are between {} and {}",
         path, *wrong, position / cols, position % cols, kNoId, most);
  }
}

}  // namespace nearfield
