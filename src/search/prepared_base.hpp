// What PreparedRows holds for the engine.
#pragma once

#include <nearfield/isa.hpp>
#include <nearfield/metric.hpp>

#include "filter/rounded/rounded_rows.hpp"

namespace nearfield {

struct PreparedBase {
  MetricSpec metric;
  Isa isa;
  Rounding rounding;
  RoundedRows rows;
};

}  // namespace nearfield
