#include "bench/native/cpu/program.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <nearfield/device.hpp>
#include <nearfield/isa.hpp>

namespace nearfield::bench {
namespace {

void print_device(const std::string& id) {
  for (const DeviceInfo& device : devices().devices) {
    if (device.id != id && !device.id.starts_with(id + ":")) continue;
    return print(cli::JsonObject()
                     .add("device", device.id)
                     .add("name", id == "cpu" ? std::string(to_string(default_isa())) : device.name)
                     .add("driver", id == "cpu" ? "no device" : device.driver)
                     .add("is_cpu", device.is_cpu)
                     .add("units", device.units)
                     .add("memory", device.memory));
  }
  throw std::runtime_error(fmt::format("no device is named '{}': see nearfield devices", id));
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
    print_device(settings.device);
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
