#include "bench/native/cpu/lsh_sift/lines.hpp"

#include <fmt/format.h>

#include "bench/native/cpu/program.hpp"
#include "cli/json.hpp"

namespace nearfield::bench {

void print_times(const std::string& figure, const std::string& series, const LshPlace& place,
                 const std::vector<double>& seconds) {
  cli::JsonArray rounds;
  for (const double second : seconds) rounds.add_number(fmt::format("{}", second));
  print(cli::JsonObject()
            .add("figure", figure)
            .add("series", series)
            .add("timed", "call")
            .add("checked", true)
            .add("q", place.queries)
            .add("n", place.rows)
            .add("d", place.cols)
            .add("k", place.k)
            .add("bits", place.bits)
            .add("tables", place.tables)
            .add("asked", place.asked)
            .add("rounds", rounds));
}

void print_recall(const std::string& figure, const std::string& data, const std::string& series,
                  double recall) {
  constexpr double kOf = 10'000;
  const auto correct = static_cast<std::int64_t>(kOf * recall + 0.5);
  print(cli::JsonObject()
            .add("figure", figure)
            .add("data", data)
            .add("series", series)
            .add("ratio", 0)
            .add("correct", correct)
            .add("wrong", static_cast<std::int64_t>(kOf) - correct)
            .add("none", 0)
            .add("tied", 0));
}

}  // namespace nearfield::bench
