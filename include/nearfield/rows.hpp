// Where rows come from: memory, a file, or anything else that can be read in pieces.
#pragma once

#include <cstdint>
#include <optional>

#include <nearfield/matrix.hpp>

namespace nearfield {

struct PreparedBase;

class RowSource {
 public:
  virtual ~RowSource() = default;

  virtual DType dtype() const = 0;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t cols() const = 0;

  // All rows, if they are in memory already; `read` is then never called.
  virtual std::optional<MatrixView> in_memory() const { return std::nullopt; }

  // Copies rows [first, first + count) to rows [at, at + count) of `into`, a matrix of the same
  // type and width. Not called from two threads at once.
  virtual void read(std::int64_t first, std::int64_t count, Matrix& into,
                    std::int64_t at) const = 0;

  // What was made of them for the engine, if anything was (prepared.hpp).
  virtual const PreparedBase* prepared() const { return nullptr; }
};

// A copy of them.
Matrix read_all(const RowSource& rows);

// Looks at both.
class MatrixRows final : public RowSource {
 public:
  explicit MatrixRows(MatrixView view, const PreparedBase* prepared = nullptr)
      : view_(view), prepared_(prepared) {}

  DType dtype() const override { return view_.dtype(); }
  std::int64_t rows() const override { return view_.rows(); }
  std::int64_t cols() const override { return view_.cols(); }
  std::optional<MatrixView> in_memory() const override { return view_; }
  void read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const override;
  const PreparedBase* prepared() const override { return prepared_; }

 private:
  MatrixView view_;
  const PreparedBase* prepared_;
};

}  // namespace nearfield
