// COLMAP's database: descriptors of images are read from it, and matches written to it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nearfield/image_features.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/results.hpp>

namespace nearfield {

// A database of COLMAP 3 or 4 with SIFT descriptors, one byte a value; any of another kind is an
// error that says what was found. Images are numbered in the order of COLMAP's image_id. What is in
// the file is not trusted: its counts are checked against the bytes that are there, and no trigger,
// view or function of it runs. Another process may write while this one reads; who waits longer
// than 5 seconds for the other gets ErrorCode::io. No cancel or deadline ends this wait, nor
// opening the file, which reads the names and shapes of all images, nor without_matched, which
// reads the keys of all matches, nor a commit. Not for several threads at once.
class ColmapDatabase final : public ImageFeatures {
 public:
  // The file must be there: an empty one is COLMAP's to make.
  explicit ColmapDatabase(const std::string& path);
  ColmapDatabase(ColmapDatabase&&) noexcept;
  ColmapDatabase& operator=(ColmapDatabase&&) noexcept;
  ~ColmapDatabase() override;  // what was not committed is as if it had not been written

  std::int64_t images() const override;
  DType dtype() const override { return DType::u8; }
  std::int64_t cols() const override;  // 128 where no image has descriptors
  std::int64_t rows(std::int64_t image) const override;
  Matrix read(std::int64_t image) const override;

  std::int64_t image_id(std::int64_t image) const;
  const std::string& name(std::int64_t image) const;

  // Whether matches of these two are there, in either order: also those of COLMAP, also if none
  // were found.
  bool matched(ImagePair pair) const;

  // Those that have no matches yet, in their order: to go on with work that was interrupted. Takes
  // at most 24 bytes a pair, the result included.
  std::vector<ImagePair> without_matched(std::span<const ImagePair> pairs) const;

  // What is written from begin to commit is there as a whole or not at all. Committing waits for
  // the disk, so rather every few seconds than after every pair.
  void begin();
  void commit();

  // Between begin and commit. Matches of an image's rows, sorted by those of the one with the
  // smaller image_id, as COLMAP does; the pair must have none yet. An empty list is written too:
  // the pair is done. COLMAP's geometry of the pair, which would be of other matches, is removed.
  void write(ImagePair pair, const Pairs& matches);

  // Between begin and commit. Removes the matches of these pairs, and COLMAP's geometries with
  // them. To overwrite, clear each pair before it is written, not all at the beginning: work that
  // fails then keeps what it did not reach.
  void clear_matches(std::span<const ImagePair> pairs);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// COLMAP's list of pairs: two names of images a line, with blanks between them. Lines that are
// empty or begin with # do not count, nor does a pair that was there before, in either order. A
// name that the database does not have, and an image with itself, are errors that name the line.
std::vector<ImagePair> read_image_pairs(const std::string& path, const ColmapDatabase& database);

}  // namespace nearfield
