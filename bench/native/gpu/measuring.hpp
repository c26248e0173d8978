// What every figure is measured with: contenders that run in turn, each checked before its time
// counts, and a line of JSON for each.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/context.hpp>

#include "cli/json.hpp"
#include "device/gpu/open.hpp"

namespace nearfield::bench {

// tiny: for tests. quick: minutes on a CPU with OpenCL. full: the thesis's sizes, on a GPU.
enum class Size : std::uint8_t { tiny, quick, full };

struct Settings {
  std::string device;
  Size size = Size::quick;
  int rounds = 3;
  double seconds = 0;  // of a figure, at most: then no further point is begun
};

// Numbers that play no part are 0.
struct Point {
  std::int64_t queries = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t k = 0;
  std::int64_t parts = 0;
  std::int64_t batch = 0;   // queries of a table
  std::int64_t queues = 0;  // that work side by side: CUDA's streams
  std::int64_t tables = 0;  // of hashing
  std::int64_t bits = 0;    // of such a table
  std::int64_t near = 0;    // bits in which what is to be found may differ
  std::int64_t share = 0;   // of the CPU, in percent
};

// Kernels: what they read is on the device, and what they find stays there. Call: one of the
// library's, copies included. Copy: between the memories of host and device, or within that of the
// device.
enum class Timed : std::uint8_t { kernels, call, copy };

struct Contender {
  std::string series;
  Timed timed;
  std::function<void()> run;
  std::function<void()> check;  // of the last run: throws where it is not the CPU's answer
};
using Contenders = std::vector<Contender>;

// Of one figure.
class Measuring {
 public:
  Measuring(std::string figure, const Settings& settings);

  gpu::Device& device() const { return opened_.device; }
  gpu::Queue& queue() const { return *queue_; }
  Context context() const;  // which names the device
  Size size() const { return settings_.size; }

  // The largest power of two up to `wanted` of which the device and the host have the memory: the
  // bytes of one in the largest buffer, and in all of them. Says what it cuts.
  std::int64_t fitting(std::string_view what, std::int64_t wanted, std::int64_t in_a_buffer,
                       std::int64_t in_all);

  // Whether the device and the host have the memory for so many bytes in one buffer. False is said,
  // with what it is for.
  bool has_room(std::string_view what, std::int64_t bytes) const;

  // False once the figure has had its time, which is said: a figure ends with it.
  bool has_time(const Point& next);

  // Contenders are made, run once, which compiles their kernels, and checked; then they are timed
  // in turn. A point for which the device has no memory is left out, and that is said.
  void measure(const Point& point, const std::function<Contenders()>& make);

  void note(std::string_view text) const;
  // A line of another kind, which says the figure first.
  cli::JsonObject line() const;
  static void print(const cli::JsonObject& line);

 private:
  std::int64_t half_of_memory() const;
  void report(const Point& point, const Contender& contender,
              const std::vector<double>& rounds) const;

  const std::string figure_;
  const Settings settings_;
  const gpu::Opened opened_;
  const std::unique_ptr<gpu::Queue> queue_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Ends the program: an answer is not the CPU's.
[[noreturn]] void fail_check(std::string_view series, std::string_view what);

inline std::size_t place(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace nearfield::bench
