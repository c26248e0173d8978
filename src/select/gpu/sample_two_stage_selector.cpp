#include "select/gpu/sample_selector.hpp"

namespace nearfield {

std::int64_t scratch_bytes_sample_two_stage(const SelectShape& shape) {
  return scratch_bytes_sample(shape);
}

// Gathered in the order of their places: the keys are all that is left to sort by.
void run_sample_two_stage(const SelectJob& job, Scratch& scratch) {
  run_sample({"sample_two_stage", 32}, job, scratch);
}

}  // namespace nearfield
