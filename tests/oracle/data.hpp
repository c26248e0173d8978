// Data that is hard to search: shared by tests and benchmarks, the same bits for the same seed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <nearfield/image_features.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/rows.hpp>

namespace nearfield::data {

enum class Kind {
  uniform,
  gaussian,
  small_integers,           // many equal distances
  all_equal,                // every row the same: the order is by id alone
  duplicates,               // each row about four times
  zeros,                    // a third of the rows is zero
  offset,                   // floats: 1e4 plus differences of 1e-2, where expanded L2 fails
  offset_large,             // f64: 1e6 plus 1e-2; f32: 1e6 plus about 1
  wild_norms,               // lengths many orders of magnitude apart
  one_dimension_dominates,  // one column 100 times the others
  denormals,                // and, in f64, numbers whose squares are denormal
  with_non_finite,          // floats: a NaN or an infinity in a fifth of the rows
  huge,                     // sums overflow float32 (f16: come close), and float64 for f64
};

std::span<const Kind> kinds();
std::string_view to_string(Kind kind);

struct Shape {
  Kind kind = Kind::gaussian;
  DType dtype = DType::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::uint64_t seed = 0;
};

// Values are rounded and clamped to what the type holds; a bit is set for a value above 1/2. Where
// a kind means nothing to a type (NaN bytes) the rows are ordinary ones. Two matrices of one seed
// and width share rows, so that queries can be rows of the base.
Matrix make_matrix(const Shape& shape);

// Copies with a stride of at least extra_bytes more than a row needs, starting at an address that
// is a multiple of the element size only. Everything around the values is 0xFF, which is NaN in all
// the float types, and the allocation ends with the last value: a kernel that reads a row's padding
// gives wrong keys, and one that reads past the last row trips the address sanitizer.
class Strided {
 public:
  Strided(MatrixView original, std::int64_t extra_bytes, std::int64_t offset_elements);

  MatrixView view() const { return {memory_.data() + start_, dtype_, rows_, cols_, stride_}; }
  operator MatrixView() const { return view(); }  // NOLINT(google-explicit-constructor)

 private:
  std::vector<std::byte> memory_;
  std::int64_t start_;
  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t stride_;
  DType dtype_;
};

// Rows as a file gives them: not resident, copied on demand. Throws std::logic_error, which no
// search throws by itself, if `read` is called against its contract.
class PiecewiseRows final : public RowSource {
 public:
  explicit PiecewiseRows(MatrixView view) : view_(view) {}

  DType dtype() const override { return view_.dtype(); }
  std::int64_t rows() const override { return view_.rows(); }
  std::int64_t cols() const override { return view_.cols(); }
  void read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const override;

 private:
  MatrixView view_;
  mutable std::atomic<bool> reading_ = false;
};

// Descriptors of images as a file gives them: read anew each time. The images must outlive it.
class UnkeptFeatures final : public ImageFeatures {
 public:
  explicit UnkeptFeatures(const std::vector<Matrix>& images)
      : features_({images.begin(), images.end()}) {}

  std::int64_t images() const override { return features_.images(); }
  DType dtype() const override { return features_.dtype(); }
  std::int64_t cols() const override { return features_.cols(); }
  std::int64_t rows(std::int64_t image) const override { return features_.rows(image); }
  Matrix read(std::int64_t image) const override {
    ++reads_;
    return features_.read(image);
  }

  std::int64_t reads() const { return reads_; }

 private:
  MatrixFeatures features_;
  mutable std::int64_t reads_ = 0;
};

// About half of the rows, as a RowFilter that looks at this object's memory. The bitset has stray
// bits beyond the last row and a word too many, the list is unsorted with repeats: all allowed.
class RowChoice {
 public:
  RowChoice(RowFilter::Kind kind, std::int64_t rows, std::uint64_t seed);

  RowFilter filter() const;

 private:
  RowFilter::Kind kind_;
  std::vector<std::uint64_t> words_;
  std::vector<std::int64_t> ids_;
};

// Few combinations that hold every pair of values of every two factors: element f of a combination
// is in [0, sizes[f]). Most mistakes need two circumstances to meet, few need three.
std::vector<std::vector<int>> all_pairs(const std::vector<int>& sizes);

}  // namespace nearfield::data
