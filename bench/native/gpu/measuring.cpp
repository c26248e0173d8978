#include "bench/native/gpu/measuring.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace nearfield::bench {
namespace {

using cli::JsonArray;
using cli::JsonObject;

std::string_view to_string(Timed timed) {
  constexpr std::array<std::string_view, 3> kNames = {"kernels", "call", "copy"};
  return kNames.at(static_cast<std::size_t>(timed));
}

std::string to_string(const Point& point) {
  std::string text =
      fmt::format("q {}, n {}, d {}, k {}", point.queries, point.rows, point.cols, point.k);
  if (point.batch > 0) text += fmt::format(", batches of {}", point.batch);
  if (point.queues > 0) text += fmt::format(", {} queues", point.queues);
  if (point.tables > 0) text += fmt::format(", {} tables of {} bits", point.tables, point.bits);
  if (point.near > 0) text += fmt::format(", near {}", point.near);
  return text;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double time_of(const Contender& contender) {
  const auto start = std::chrono::steady_clock::now();
  contender.run();
  return seconds_since(start);
}

std::int64_t host_memory() { return ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE); }

}  // namespace

Measuring::Measuring(std::string figure, const Settings& settings)
    : figure_(std::move(figure)),
      settings_(settings),
      opened_(gpu::open_device(settings.device)),
      queue_(opened_.device.make_queue(0)) {}

Context Measuring::context() const {
  Context context;
  context.device = opened_.id;
  return context;
}

// Of either: the CPU's answers are made beside it, and the library copies in pieces.
std::int64_t Measuring::half_of_memory() const {
  return std::min(device().facts().memory, host_memory()) / 2;
}

bool Measuring::has_room(std::string_view what, std::int64_t bytes) const {
  const std::int64_t most = std::min(device().facts().largest_buffer, half_of_memory());
  if (bytes <= most) return true;
  note(fmt::format("left out: {}, {} bytes where device and host have room for {}", what, bytes,
                   most));
  return false;
}

std::int64_t Measuring::fitting(std::string_view what, std::int64_t wanted,
                                std::int64_t in_a_buffer, std::int64_t in_all) {
  const gpu::Facts& facts = device().facts();
  const std::int64_t memory = half_of_memory();
  std::int64_t taken = wanted;
  while (taken > 1 && (taken > facts.largest_buffer / in_a_buffer || taken > memory / in_all)) {
    taken /= 2;
  }
  if (taken < wanted) {
    note(fmt::format("cut: {} {} instead of {}, for the memory of device and host", taken, what,
                     wanted));
  }
  return taken;
}

bool Measuring::has_time(const Point& next) {
  if (seconds_since(start_) < settings_.seconds) return true;
  note(fmt::format("cut: the {} s of a figure are over, left out from {} on", settings_.seconds,
                   to_string(next)));
  return false;
}

void Measuring::measure(const Point& point, const std::function<Contenders()>& make) {
  try {
    const Contenders contenders = make();
    for (const Contender& contender : contenders) {
      contender.run();
      contender.check();
    }
    std::vector<std::vector<double>> rounds(contenders.size());
    for (int round = 0; round < settings_.rounds; ++round) {
      for (std::size_t i = 0; i < contenders.size(); ++i) {
        rounds[i].push_back(time_of(contenders[i]));
      }
    }
    for (std::size_t i = 0; i < contenders.size(); ++i) report(point, contenders[i], rounds[i]);
  } catch (const gpu::OutOfMemory& error) {
    note(fmt::format("cut: {}: {}", to_string(point), error.what()));
  }
}

void Measuring::note(std::string_view text) const { print(line().add("note", text)); }

JsonObject Measuring::line() const { return JsonObject().add("figure", figure_); }

void Measuring::print(const JsonObject& line) {
  fmt::print("{}\n", line.text());
  std::fflush(stdout);  // who reads it shows how far it is
}

void Measuring::report(const Point& point, const Contender& contender,
                       const std::vector<double>& rounds) const {
  JsonArray seconds;
  for (const double round : rounds) seconds.add_number(fmt::format("{:.9f}", round));
  print(line()
            .add("series", contender.series)
            .add("timed", to_string(contender.timed))
            .add("q", point.queries)
            .add("n", point.rows)
            .add("d", point.cols)
            .add("k", point.k)
            .add("parts", point.parts)
            .add("batch", point.batch)
            .add("queues", point.queues)
            .add("tables", point.tables)
            .add("bits", point.bits)
            .add("near", point.near)
            .add("share", point.share)
            .add("rounds", seconds)
            .add("checked", true));
}

void fail_check(std::string_view series, std::string_view what) {
  throw std::runtime_error(fmt::format("{}: {}: nothing is measured", series, what));
}

}  // namespace nearfield::bench
