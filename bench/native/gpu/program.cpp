#include "bench/native/gpu/program.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "cli/json.hpp"

namespace nearfield::bench {
namespace {

// Of a figure: a quick run of all is to take minutes, and nobody waits a day for a full one.
double default_seconds(Size size) { return size == Size::full ? 1800 : 60; }

void print_device(const Settings& settings) {
  const gpu::Opened opened = gpu::open_device(settings.device);
  const gpu::Facts& facts = opened.device.facts();
  if (!facts.has_float64) {
    throw std::runtime_error(
        fmt::format("{} has no float64, which keys are: take a device that has", opened.id));
  }
  fmt::print("{}\n", cli::JsonObject()
                         .add("device", opened.id)
                         .add("name", facts.name)
                         .add("driver", facts.driver)
                         .add("is_cpu", facts.is_cpu)
                         .add("units", facts.units)
                         .add("memory", facts.memory)
                         .add("largest_buffer", facts.largest_buffer)
                         .add("warp", facts.warp)
                         .text());
  std::fflush(stdout);
}

std::vector<std::string> numbers_of(const std::vector<Figure>& figures) {
  std::vector<std::string> numbers;
  std::transform(figures.begin(), figures.end(), std::back_inserter(numbers),
                 [](const Figure& figure) { return figure.number; });
  return numbers;
}

int run(const std::vector<Figure>& figures, int argc, char** argv,
        const std::function<void(CLI::App&)>& add_options) {
  CLI::App app("Measures figures of a thesis on a device");
  std::vector<std::string> asked;
  Settings settings;
  std::string size = "quick";
  app.add_option("FIGURE", asked, "Which, by their numbers: all of them if none is named")
      ->check(CLI::IsMember(numbers_of(figures)));
  app.add_option("--device", settings.device, "As `nearfield devices` lists them")->required();
  app.add_option("--size", size, "How large: tiny is for tests")
      ->check(CLI::IsMember({"tiny", "quick", "full"}));
  app.add_option("--rounds", settings.rounds, "Times that everything is timed")
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", settings.seconds, "Of a figure, at most: further points are left out")
      ->check(CLI::PositiveNumber);
  if (add_options) add_options(app);
  CLI11_PARSE(app, argc, argv);
  settings.size = size == "tiny" ? Size::tiny : size == "quick" ? Size::quick : Size::full;
  if (settings.seconds == 0) settings.seconds = default_seconds(settings.size);
  print_device(settings);
  for (const std::string& number : asked.empty() ? numbers_of(figures) : asked) {
    Measuring measuring(number, settings);
    const auto figure = std::find_if(figures.begin(), figures.end(),
                                     [&](const Figure& one) { return one.number == number; });
    figure->measure(measuring);
  }
  return 0;
}

}  // namespace

int measure_figures(const std::string& program, const std::vector<Figure>& figures, int argc,
                    char** argv, const std::function<void(CLI::App&)>& add_options) try {
  return run(figures, argc, argv, add_options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
  return 1;
}

}  // namespace nearfield::bench
