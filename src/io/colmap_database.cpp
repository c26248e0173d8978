#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <nearfield/colmap.hpp>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/memory_errors.hpp"
#include "io/colmap_schema.hpp"
#include "io/sqlite.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kColmapImageIds = 2'147'483'647;  // they are smaller
constexpr std::int64_t kColmapSift = 0;                  // FeatureExtractorType of COLMAP 4
constexpr std::int64_t kSiftCols = 128;

struct ColmapImage {
  std::int64_t id;
  std::string name;
  std::int64_t rows = 0;
};

// What COLMAP calls the types of descriptors that it had by 4.2.1.
std::string descriptor_type_name(std::int64_t type) {
  constexpr std::array<std::string_view, 5> kNames{"SIFT", "ALIKED_N16ROT", "ALIKED_N32", "LOMA_B",
                                                   "LOMA_B128"};
  if (type < 0 || type >= std::ssize(kNames)) return "unknown";
  return std::string(kNames[static_cast<std::size_t>(type)]);
}

// Rows of a table with an INTEGER PRIMARY KEY lie in its order. Without ORDER BY, and without an
// index, SQLite need not sort them first: a damaged file may have pages that lead to each other for
// ever, and is noticed here.
class GrowingKeys {
 public:
  GrowingKeys(const SqliteDatabase& database, std::string_view table)
      : database_(database), table_(table) {}

  std::int64_t next(const SqliteStatement& row) {
    const std::optional<std::int64_t> key = row.integer(0);
    if (!key || (last_ && *key <= *last_)) {
      fail(ErrorCode::corrupt_file,
           "{}: table {} has the key {} after {}, but they must grow: the file is damaged",
           database_.path(), table_, row.describe(0), last_ ? fmt::format("{}", *last_) : "none");
    }
    last_ = key;
    return *key;
  }

 private:
  const SqliteDatabase& database_;
  std::string_view table_;
  std::optional<std::int64_t> last_;
};

}  // namespace

class ColmapDatabase::Impl {
 public:
  explicit Impl(const std::string& path) : database_(path), schema_(read_colmap_schema(database_)) {
    with_memory_errors("the names of the images of " + path, [&] {
      read_images();
      read_shapes();
    });
  }

  std::int64_t images() const { return std::ssize(images_); }
  std::int64_t cols() const { return cols_; }
  const ColmapImage& image(std::int64_t number) const {
    if (number < 0 || number >= images()) {
      fail(ErrorCode::invalid_argument, "{}: there is no image {}: it has {}, numbered from 0",
           database_.path(), number, images());
    }
    return images_[static_cast<std::size_t>(number)];
  }

  Matrix read(std::int64_t number) const {
    const ColmapImage& wanted = image(number);
    Matrix descriptors(DType::u8, wanted.rows, cols_);
    if (wanted.rows == 0) return descriptors;
    SqliteStatement row =
        database_.prepare("SELECT data FROM descriptors NOT INDEXED WHERE image_id = ?");
    row.bind(1, wanted.id);
    const auto bytes = row.step() ? row.bytes(0) : std::nullopt;
    if (!bytes || std::ssize(*bytes) != descriptors.bytes()) {
      fail(ErrorCode::io,
           "{}: the descriptors of image {} ({}) had {} bytes when the database was opened and now "
           "have {}: leave it alone until matching has ended",
           database_.path(), wanted.id, wanted.name, descriptors.bytes(),
           bytes ? bytes->size() : 0);
    }
    std::memcpy(descriptors.row(0), bytes->data(), bytes->size());
    return descriptors;
  }

  bool matched(ImagePair pair) const {
    return database_.prepare("SELECT 1 FROM matches NOT INDEXED WHERE pair_id = ?")
        .bind(1, pair_id(pair))
        .step();
  }

  std::vector<ImagePair> without_matched(std::span<const ImagePair> pairs) const {
    return with_memory_errors(
        fmt::format("24 bytes of each of {} pairs of images", pairs.size()), [&] {
          const std::vector<std::int64_t> ids = ids_without_matched(pairs);
          std::vector<ImagePair> left;
          left.reserve(ids.size());
          std::ranges::copy_if(pairs, std::back_inserter(left), [&](const ImagePair& pair) {
            return std::ranges::binary_search(ids, pair_id(pair));
          });
          return left;
        });
  }

  void begin() {
    if (database_.in_transaction()) {
      fail(ErrorCode::invalid_argument, "{}: begin was called twice without a commit",
           database_.path());
    }
    if (database_.is_read_only()) {
      fail(ErrorCode::io, "{}: cannot be written, so matches have no place: make it writable",
           database_.path());
    }
    // At once, not at the first write: who must wait for another process waits here.
    database_.execute("BEGIN IMMEDIATE");
  }

  void commit() {
    check_writing("commit");
    database_.execute("COMMIT");
  }

  void write(ImagePair pair, const Pairs& matches) {
    check_writing("write");
    const std::int64_t id = pair_id(pair);
    if (matched(pair)) {
      fail(ErrorCode::invalid_argument,
           "{}: images {} and {} have matches already: leave them out (without_matched), or remove "
           "theirs (clear_matches)",
           database_.path(), image(pair.first).name, image(pair.second).name);
    }
    const std::vector<std::uint32_t> rows = sorted_rows(pair, matches);
    remove("two_view_geometries", id);
    SqliteStatement insert =
        database_.prepare("INSERT INTO matches(pair_id, rows, cols, data) VALUES(?, ?, 2, ?)");
    insert.bind(1, id).bind(2, std::ssize(matches.first)).bind(3, std::as_bytes(std::span(rows)));
    insert.run();
  }

  void clear_matches(std::span<const ImagePair> pairs) {
    check_writing("clear_matches");
    for (const ImagePair& pair : pairs) {
      remove("matches", pair_id(pair));
      remove("two_view_geometries", pair_id(pair));
    }
  }

 private:
  void read_images() {
    SqliteStatement rows = database_.prepare("SELECT image_id, name FROM images NOT INDEXED");
    for (GrowingKeys keys(database_, "images"); rows.step();) {
      const std::int64_t id = keys.next(rows);
      const auto name = rows.text(1);
      if (id < 0 || id >= kColmapImageIds || !name) {
        fail(ErrorCode::corrupt_file,
             "{}: image_id {} has the name {}, but ids are from 0 to {} and names are text",
             database_.path(), id, name ? *name : rows.describe(1), kColmapImageIds - 1);
      }
      images_.push_back({id, std::string(*name)});
    }
  }

  // Descriptors of images that are no more there are left alone.
  void read_shapes() {
    SqliteStatement rows = database_.prepare(fmt::format(
        "SELECT image_id, rows, cols, length(data), typeof(data), {} FROM descriptors NOT INDEXED",
        schema_.has_descriptor_type ? "type" : std::to_string(kColmapSift)));
    const ColmapImage* width_of = nullptr;
    for (GrowingKeys keys(database_, "descriptors"); rows.step();) {
      const auto found = std::ranges::lower_bound(images_, keys.next(rows), {}, &ColmapImage::id);
      if (found == images_.end() || found->id != rows.integer(0)) continue;
      const auto [count, cols] = checked_shape(*found, rows);
      if (count == 0) continue;
      if (width_of != nullptr && cols != cols_) {
        fail(ErrorCode::unsupported,
             "{}: image {} has descriptors of {} values but image {} of {}: all must have the same",
             database_.path(), found->name, cols, width_of->name, cols_);
      }
      found->rows = count;
      cols_ = cols;
      width_of = &*found;
    }
  }

  // (rows, cols) of a row of the query above.
  std::pair<std::int64_t, std::int64_t> checked_shape(const ColmapImage& image,
                                                      const SqliteStatement& row) const {
    const auto rows = row.integer(1);
    const auto cols = row.integer(2);
    const bool has_none = rows == 0 && row.integer(3).value_or(0) == 0;
    if (has_none) return {0, 0};
    if (row.integer(5) != kColmapSift) {
      fail(ErrorCode::unsupported,
           "{}: the descriptors of image {} are of type {} ({}), and only SIFT ({}) is known: its "
           "matcher compares bytes",
           database_.path(), image.name, row.describe(5),
           descriptor_type_name(row.integer(5).value_or(-1)), kColmapSift);
    }
    const bool within =
        rows && cols && *rows >= 1 && *rows <= kMaxRows && *cols >= 1 && *cols <= kMaxCols;
    if (!within || row.text(4) != "blob" || row.integer(3) != *rows * *cols) {
      fail(
          ErrorCode::corrupt_file,
          "{}: the descriptors of image {} are {} rows x {} columns in {} bytes of type {}: a byte "
          "for each value is expected, at most {} columns",
          database_.path(), image.name, row.describe(1), row.describe(2), row.describe(3),
          row.text(4).value_or("?"), kMaxCols);
    }
    return {*rows, *cols};
  }

  std::int64_t pair_id(const ImagePair& pair) const {
    const auto [smaller, larger] = std::minmax(image(pair.first).id, image(pair.second).id);
    if (smaller == larger) {
      fail(ErrorCode::invalid_argument, "{}: image {} has no matches with itself", database_.path(),
           image(pair.first).name);
    }
    return kColmapImageIds * smaller + larger;
  }

  // Sorted. The table is walked beside them and never held: it may be far longer.
  std::vector<std::int64_t> ids_without_matched(std::span<const ImagePair> pairs) const {
    std::vector<std::int64_t> ids(pairs.size());
    std::ranges::transform(pairs, ids.begin(),
                           [&](const ImagePair& each) { return pair_id(each); });
    std::ranges::sort(ids);
    auto next = ids.begin();
    auto kept = ids.begin();
    SqliteStatement rows = database_.prepare("SELECT pair_id FROM matches NOT INDEXED");
    for (GrowingKeys keys(database_, "matches"); rows.step();) {
      const std::int64_t matched = keys.next(rows);
      while (next != ids.end() && *next < matched) *kept++ = *next++;
      while (next != ids.end() && *next == matched) ++next;
    }
    ids.erase(std::copy(next, ids.end(), kept), ids.end());
    return ids;
  }

  void check_writing(std::string_view what) const {
    if (!database_.in_transaction()) {
      fail(ErrorCode::invalid_argument, "{}: {} without begin before it", database_.path(), what);
    }
  }

  void remove(std::string_view table, std::int64_t pair_id) const {
    database_.prepare(fmt::format("DELETE FROM {} WHERE pair_id = ?", table))
        .bind(1, pair_id)
        .run();
  }

  void check_rows_of(std::int64_t number, std::span<const std::int64_t> rows) const {
    for (const std::int64_t row : rows) {
      if (row >= 0 && row < image(number).rows) continue;
      fail(ErrorCode::invalid_argument,
           "{}: a match is of row {} of image {}, which has {}, numbered from 0", database_.path(),
           row, image(number).name, image(number).rows);
    }
  }

  // Two numbers a match, that of the image with the smaller id first.
  std::vector<std::uint32_t> sorted_rows(const ImagePair& pair, const Pairs& matches) const {
    if (matches.first.size() != matches.second.size()) {
      fail(ErrorCode::invalid_argument, "{}: matches have {} first and {} second rows",
           database_.path(), matches.first.size(), matches.second.size());
    }
    check_rows_of(pair.first, matches.first);
    check_rows_of(pair.second, matches.second);
    const bool swapped = image(pair.first).id > image(pair.second).id;
    const auto& smaller = swapped ? matches.second : matches.first;
    const auto& larger = swapped ? matches.first : matches.second;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted;
    sorted.reserve(smaller.size());
    for (std::size_t i = 0; i < smaller.size(); ++i) {
      sorted.emplace_back(static_cast<std::uint32_t>(smaller[i]),
                          static_cast<std::uint32_t>(larger[i]));
    }
    std::ranges::sort(sorted);
    std::vector<std::uint32_t> rows;
    rows.reserve(2 * sorted.size());
    for (const auto& [one, other] : sorted) {
      rows.push_back(one);
      rows.push_back(other);
    }
    return rows;
  }

  SqliteDatabase database_;  // to close it takes back what was not committed
  ColmapSchema schema_;
  std::vector<ColmapImage> images_;  // by id
  std::int64_t cols_ = kSiftCols;
};

ColmapDatabase::ColmapDatabase(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
ColmapDatabase::ColmapDatabase(ColmapDatabase&&) noexcept = default;
ColmapDatabase& ColmapDatabase::operator=(ColmapDatabase&&) noexcept = default;
ColmapDatabase::~ColmapDatabase() = default;

std::int64_t ColmapDatabase::images() const { return impl_->images(); }
std::int64_t ColmapDatabase::cols() const { return impl_->cols(); }
std::int64_t ColmapDatabase::rows(std::int64_t image) const { return impl_->image(image).rows; }
Matrix ColmapDatabase::read(std::int64_t image) const { return impl_->read(image); }
std::int64_t ColmapDatabase::image_id(std::int64_t image) const { return impl_->image(image).id; }
const std::string& ColmapDatabase::name(std::int64_t image) const {
  return impl_->image(image).name;
}

bool ColmapDatabase::matched(ImagePair pair) const { return impl_->matched(pair); }
std::vector<ImagePair> ColmapDatabase::without_matched(std::span<const ImagePair> pairs) const {
  return impl_->without_matched(pairs);
}

void ColmapDatabase::begin() { impl_->begin(); }
void ColmapDatabase::commit() { impl_->commit(); }
void ColmapDatabase::write(ImagePair pair, const Pairs& matches) { impl_->write(pair, matches); }
void ColmapDatabase::clear_matches(std::span<const ImagePair> pairs) {
  impl_->clear_matches(pairs);
}

}  // namespace nearfield
