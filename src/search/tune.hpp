// tune with work of the caller's: tests have no minute.
#pragma once

#include <vector>

#include <nearfield/tune.hpp>

#include "device/tuning_table.hpp"

namespace nearfield {

struct TuneWork {
  std::vector<TuningShape> selection;
  // With so many rows at most, and fewer where a search would take much longer than `seconds`.
  std::vector<TuningShape> search;
  std::vector<TuningShape> query_batch;
  double seconds;
};
TuneWork tune_work(TuneEffort effort);

TuningTable tune(const TuneWork& work, const Context& context);

}  // namespace nearfield
