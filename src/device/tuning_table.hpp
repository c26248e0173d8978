// What was measured on a device, and what it says of work that was not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield {

// Of a search. A selection has queries x rows values, of one column.
struct TuningShape {
  std::int64_t queries = 1;
  std::int64_t rows = 1;
  std::int64_t cols = 1;
  std::int64_t k = 1;

  bool operator==(const TuningShape&) const = default;
};

// What one way of doing it took, a number a round.
struct Timing {
  std::string name;
  std::vector<double> seconds;

  double median() const;
};

struct TuningPoint {
  TuningShape shape;
  std::vector<Timing> timings;
};

struct TuningTable {
  std::string device;
  std::string driver;
  std::string version;                   // of Nearfield
  std::string date;                      // UTC: "2026-11-16T22:00:00Z"
  std::vector<TuningPoint> selection;    // by selectors.def
  std::vector<TuningPoint> search;       // by DeviceMethod
  std::vector<TuningPoint> query_batch;  // by the queries of a block: "1024"
};

// Which of the candidates has the least median at the nearest point where all of them were
// measured: by the sum of the squares of what the logarithms of both shapes differ. Of two that are
// equal the first. Empty where there is no such point.
std::optional<std::size_t> fastest(std::span<const TuningPoint> points, const TuningShape& shape,
                                   std::span<const std::string_view> candidates);

}  // namespace nearfield
