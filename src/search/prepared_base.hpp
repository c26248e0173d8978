// What PreparedRows holds for the engine.
#pragma once

#include <optional>

#include <nearfield/context.hpp>
#include <nearfield/isa.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>

#include "distance/kernels.hpp"
#include "filter/rounded/rounded_rows.hpp"

namespace nearfield {

struct PreparedBase {
  MetricSpec metric;
  Isa isa;
  BaseRounding rounding;
  RoundedRows rows;
};

// What it takes to prepare so many rows, with what its making takes.
std::int64_t prepared_bytes(std::int64_t rows, std::int64_t cols, int threads);

// Empty if nothing can be prepared of such rows. Looks at nothing of them later.
std::optional<PreparedBase> prepare(MatrixView rows, MetricSpec metric, const Context& context);

}  // namespace nearfield
