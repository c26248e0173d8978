// A base that is searched again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

// Rows, and beside them their values rounded to a byte each, made once: a search of them reads
// those, and of a row itself only if it may be in the answer. Answers are the same, to the bit.
// A search of many queries at a time makes the same for itself, and then drops it; one of a few
// does not, since that would cost more than it saves.
class PreparedRows final : public RowSource {
 public:
  // Looks at the rows, which must outlive it and stay as they are. For searches under this metric,
  // on the same ISA. Throws unsupported if nothing can be prepared for it: such rows are searched
  // as they are.
  PreparedRows(MatrixView rows, MetricSpec metric, const Context& context = {});
  PreparedRows(PreparedRows&&) noexcept;
  PreparedRows& operator=(PreparedRows&&) noexcept;
  ~PreparedRows() override;

  MetricSpec metric() const { return metric_; }
  // What it holds beside the rows: at most cols + 8 a row, rounded up to 32 rows.
  std::int64_t bytes() const;

  DType dtype() const override { return rows_.dtype(); }
  std::int64_t rows() const override { return rows_.rows(); }
  std::int64_t cols() const override { return rows_.cols(); }
  std::optional<MatrixView> in_memory() const override { return rows_.in_memory(); }
  void read(std::int64_t first, std::int64_t count, Matrix& into, std::int64_t at) const override {
    rows_.read(first, count, into, at);
  }
  const PreparedBase* prepared() const override { return base_.get(); }

 private:
  MatrixRows rows_;
  MetricSpec metric_;
  std::unique_ptr<PreparedBase> base_;
};

}  // namespace nearfield
