#include "bench/native/cpu/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>

#include <fmt/format.h>
#include <nearfield/isa.hpp>

#include "core/tasks.hpp"

namespace nearfield::bench {
namespace {

void print_cpu() {
  const std::int64_t memory = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE);
  print(cli::JsonObject()
            .add("device", "cpu")
            .add("name", std::string(to_string(default_isa())))
            .add("driver", "no device")
            .add("is_cpu", true)
            .add("units", usable_cores())
            .add("memory", memory));
}

}  // namespace

void print(const cli::JsonObject& line) {
  fmt::print("{}\n", line.text());
  std::fflush(stdout);
}

void print_note(const std::string& figure, const std::string& text) {
  print(cli::JsonObject().add("figure", figure).add("note", text));
}

int measure_on_cpu(const std::string& program, int argc, char** argv,
                   const std::function<CpuFigures(const CpuSettings&)>& figures,
                   const std::function<void(CLI::App&)>& add_options) {
  CLI::App app("Measures figures of a thesis on this CPU");
  std::vector<std::string> asked;
  CpuSettings settings;
  std::string device;
  app.add_option("FIGURE", asked, "Which: all of them if none is named");
  app.add_option("--device", device, "cpu")->check(CLI::IsMember({"cpu"}));
  app.add_option("--size", settings.size, "How large: tiny is for tests")
      ->check(CLI::IsMember({"tiny", "quick", "full"}));
  app.add_option("--rounds", settings.rounds, "Times that everything is timed")
      ->check(CLI::PositiveNumber);
  if (add_options) add_options(app);
  CLI11_PARSE(app, argc, argv);
  try {
    print_cpu();
    for (const auto& [number, measure] : figures(settings)) {
      if (asked.empty() || std::ranges::find(asked, number) != asked.end()) measure();
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", program, error.what());
    return 1;
  }
}

}  // namespace nearfield::bench
