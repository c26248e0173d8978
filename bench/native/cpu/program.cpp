#include "bench/native/cpu/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>

#include <fmt/format.h>
#include <nearfield/isa.hpp>

#include "core/tasks.hpp"
#include "device/gpu/open.hpp"

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

void print_device(const std::string& device) {
  const gpu::Opened opened = gpu::open_device(device);
  const gpu::Facts& facts = opened.device.facts();
  print(cli::JsonObject()
            .add("device", opened.id)
            .add("name", facts.name)
            .add("driver", facts.driver)
            .add("is_cpu", facts.is_cpu)
            .add("units", facts.units)
            .add("memory", facts.memory));
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
                   const std::function<void(CLI::App&)>& add_options, DeviceToo device_too) {
  CLI::App app("Measures figures of a thesis on this CPU");
  std::vector<std::string> asked;
  CpuSettings settings;
  app.add_option("FIGURE", asked, "Which: all of them if none is named");
  CLI::Option* const device = app.add_option("--device", settings.device, "cpu");
  if (device_too == DeviceToo::no) device->check(CLI::IsMember({"cpu"}));
  app.add_option("--size", settings.size, "How large: tiny is for tests")
      ->check(CLI::IsMember({"tiny", "quick", "full"}));
  app.add_option("--rounds", settings.rounds, "Times that everything is timed")
      ->check(CLI::PositiveNumber);
  if (add_options) add_options(app);
  CLI11_PARSE(app, argc, argv);
  try {
    if (settings.device == "cpu") {
      print_cpu();
    } else {
      print_device(settings.device);
    }
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
