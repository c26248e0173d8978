// The command line of the programs that measure figures of a thesis on a device:
//   PROGRAM FIGURE... --device opencl --size quick --rounds 3
// They print lines of JSON: the device; then, for each figure, what was cut, and for each point and
// series the seconds of each round. Every answer is the CPU's before its time counts; one that is
// not ends the program with an error. bench/reproduce runs them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/native/gpu/measuring.hpp"

namespace nearfield::bench {

struct Figure {
  std::string number;
  std::function<void(Measuring&)> measure;
};

// What main() returns. add_options: those of one program alone.
int measure_figures(const std::string& program, const std::vector<Figure>& figures, int argc,
                    char** argv, const std::function<void(CLI::App&)>& add_options = {});

}  // namespace nearfield::bench
