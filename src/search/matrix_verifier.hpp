#pragma once

#include <string>

#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>

#include "distance/kernels.hpp"
#include "filter/filter_maker.hpp"
#include "scan/verifier.hpp"
#include "search/far_rows.hpp"

namespace nearfield {

// "sqeuclidean/f32/avx2", or where else it runs.
std::string kernel_name(MetricSpec metric, DType dtype, std::string_view where);

// Keys of a metric over two matrices, each a piece of a larger one.
class MatrixVerifier final : public Verifier {
 public:
  // `kernels` must have an entry for the metric and the base's type.
  MatrixVerifier(MetricSpec metric, const DistanceKernels& kernels, Piece queries, Piece base);

  void keys(const Candidates& candidates, std::span<const double> thresholds, std::span<double> out,
            const Monitor& monitor) const override;

 private:
  // Of one query: every key, or only those of rows that are not proven too far.
  void every_key(const std::byte* query, const RowList& rows, std::span<double> keys) const;
  void near_keys(const std::byte* query, const FarRows& far, RowList rows,
                 std::span<double> keys) const;

  // Keys that are not finite: says which belong to rows that are not, and which only overflowed.
  void settle_not_finite(const RowList& rows, std::span<double> keys) const;

  MetricSpec metric_;
  Isa isa_;
  Piece queries_;
  Piece base_;
  KeyKernel kernel_;
};

}  // namespace nearfield
