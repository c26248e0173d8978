// The command line of the programs that measure figures of a thesis on this CPU:
//   PROGRAM FIGURE... --device cpu --size quick --rounds 3
// They print lines of JSON as the programs of bench/native/gpu do. bench/reproduce runs them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/json.hpp"

namespace nearfield::bench {

struct CpuSettings {
  std::string size = "quick";  // or tiny, full
  int rounds = 3;
  std::string device = "cpu";  // another only where a program measures that beside the CPU
};

using CpuFigures = std::vector<std::pair<std::string, std::function<void()>>>;

// Whether --device may name another than the CPU.
enum class DeviceToo { no, yes };

// What main() returns. add_options: those of one program alone. figures: made once the command line
// is read.
int measure_on_cpu(const std::string& program, int argc, char** argv,
                   const std::function<CpuFigures(const CpuSettings&)>& figures,
                   const std::function<void(CLI::App&)>& add_options = {},
                   DeviceToo device_too = DeviceToo::no);

void print(const cli::JsonObject& line);
void print_note(const std::string& figure, const std::string& text);

}  // namespace nearfield::bench
