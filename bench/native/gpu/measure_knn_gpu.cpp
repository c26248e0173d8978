// Figures of the thesis, measured on a device (bench/reproduce runs it):
//   measure_knn_gpu FIGURE... --device opencl --size quick --rounds 3
// Prints lines of JSON: the device; then, for each figure, what was cut, and for each point and
// series the seconds of each round. Every answer is the CPU's before its time counts; one that is
// not ends the program with an error.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "bench/native/gpu/figures.hpp"
#include "cli/json.hpp"

namespace nearfield::bench {
namespace {

struct Figure {
  std::string_view number;
  void (*measure)(Measuring&);
};

constexpr std::array<Figure, 9> kFigures = {{{"5.1", &measure_distances},
                                             {"5.6", &measure_selections},
                                             {"5.7", &measure_parts},
                                             {"5.8", &measure_fused},
                                             {"5.9", &measure_fused_queries},
                                             {"5.11", &measure_large_selections},
                                             {"5.12", &measure_searches},
                                             {"5.13", &measure_speed_up},
                                             {"5.14", &measure_transfer}}};

// Of a figure: a quick run of all is to take minutes, and nobody waits a day for a full one.
double default_seconds(Size size) { return size == Size::full ? 1800 : 60; }

std::vector<std::string> figure_numbers() {
  std::vector<std::string> numbers;
  std::transform(kFigures.begin(), kFigures.end(), std::back_inserter(numbers),
                 [](const Figure& figure) { return std::string(figure.number); });
  return numbers;
}

const Figure& figure_of(const std::string& number) {
  return *std::find_if(kFigures.begin(), kFigures.end(),
                       [&](const Figure& figure) { return figure.number == number; });
}

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

int run(int argc, char** argv) {
  CLI::App app("Measures figures of the thesis on a device");
  std::vector<std::string> figures;
  Settings settings;
  std::string size = "quick";
  app.add_option("FIGURE", figures, "Which, by their numbers: all of them if none is named")
      ->check(CLI::IsMember(figure_numbers()));
  app.add_option("--device", settings.device, "As `nearfield devices` lists them")->required();
  app.add_option("--size", size, "How large: tiny is for tests")
      ->check(CLI::IsMember({"tiny", "quick", "full"}));
  app.add_option("--rounds", settings.rounds, "Times that everything is timed")
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", settings.seconds, "Of a figure, at most: further points are left out")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  settings.size = size == "tiny" ? Size::tiny : size == "quick" ? Size::quick : Size::full;
  if (settings.seconds == 0) settings.seconds = default_seconds(settings.size);
  print_device(settings);
  for (const std::string& number : figures.empty() ? figure_numbers() : figures) {
    Measuring measuring(number, settings);
    figure_of(number).measure(measuring);
  }
  return 0;
}

}  // namespace
}  // namespace nearfield::bench

int main(int argc, char** argv) try {
  return nearfield::bench::run(argc, argv);
} catch (const std::exception& error) {
  std::fprintf(stderr, "measure_knn_gpu: %s\n", error.what());
  return 1;
}
