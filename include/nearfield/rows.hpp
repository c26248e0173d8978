// Where rows come from: memory, a file, or anything else that can be read in pieces.
#pragma once

#include <cstdint>

#include <nearfield/matrix.hpp>

namespace nearfield {

class RowSource {
 public:
  virtual ~RowSource() = default;

  virtual DType dtype() const = 0;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t cols() const = 0;

  // True if `read` needs no buffer: all rows are in memory already.
  virtual bool resident() const = 0;

  // Rows [first, first + count): a view into the source if resident, else `buffer` filled with
  // them (it has that type, at least `count` rows, and is the caller's). Not called from two
  // threads at once.
  virtual MatrixView read(std::int64_t first, std::int64_t count, Matrix& buffer) const = 0;
};

class MatrixRows final : public RowSource {
 public:
  explicit MatrixRows(MatrixView view) : view_(view) {}

  DType dtype() const override { return view_.dtype(); }
  std::int64_t rows() const override { return view_.rows(); }
  std::int64_t cols() const override { return view_.cols(); }
  bool resident() const override { return true; }
  MatrixView read(std::int64_t first, std::int64_t count, Matrix&) const override {
    return view_.slice(first, count);
  }

 private:
  MatrixView view_;
};

}  // namespace nearfield
