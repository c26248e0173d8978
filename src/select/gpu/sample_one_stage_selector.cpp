#include "select/gpu/sample_selector.hpp"

namespace nearfield {

std::int64_t scratch_bytes_sample_one_stage(const SelectShape& shape) {
  return scratch_bytes_sample(shape);
}

// Items of a bucket follow those of the ones before it, whatever their places.
void run_sample_one_stage(const SelectJob& job, Scratch& scratch) {
  run_sample({"sample_one_stage", 0}, job, scratch);
}

}  // namespace nearfield
