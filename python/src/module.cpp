#include "bindings.hpp"

NB_MODULE(_core, module) {
  using namespace nearfield::python;
  bind_errors(module);
  bind_info(module);
  bind_rows(module);
  bind_device_arrays(module);
  bind_filter(module);
  bind_running(module);
  bind_run(module);
  bind_searches(module);
  bind_match_pairs(module);
  bind_dedup(module);
  bind_cursor(module);
  bind_index(module);
  bind_quantize(module);
  bind_metric_index(module);
  bind_select(module);
  bind_pairwise(module);
  bind_tune(module);
  bind_tune_index(module);
  bind_files(module);
}
