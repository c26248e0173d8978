// What must give the same answer: every ISA of this CPU, and the device that NEARFIELD_TEST_DEVICE
// names ("opencl").
#pragma once

#include <string>
#include <vector>

#include <nearfield/context.hpp>

namespace nearfield::contract {

struct Backend {
  std::string name;  // as a plan ends its kernel: "avx2", "opencl:0"
  Context context;
};

std::vector<Backend> backends();

}  // namespace nearfield::contract
