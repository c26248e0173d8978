#include "progress_bar.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "rate.hpp"

namespace nearfield::cli {
namespace {

// To the left edge, and clear to the right.
constexpr std::string_view kWipe = "\r\x1b[K";

std::size_t terminal_width() {
  constexpr std::size_t kUsual = 80;
  struct winsize size {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

// "[#####-----]  50 %  1.23 G pairs/s  0:07 left": the text whole if it fits, the bar what is left.
std::string line_of(const Progress& progress, std::string_view unit, double seconds,
                    std::size_t width) {
  const auto done = static_cast<double>(progress.done);
  const auto total = static_cast<double>(progress.total);
  const double part = std::clamp(done / total, 0.0, 1.0);
  const std::string text =
      fmt::format(" {:3.0f} %  {} {}/s  {} left", std::floor(100 * part),
                  with_prefix(done / seconds), unit, clock_time(seconds * (total - done) / done));
  constexpr std::size_t kMostCells = 40;
  constexpr std::size_t kEdges = 3;  // two brackets, and the last column, where terminals wrap
  const std::size_t room = width - std::min(width, text.size() + kEdges);
  const std::size_t cells = std::min(room, kMostCells);
  const auto full = static_cast<std::size_t>(part * static_cast<double>(cells));
  const std::string line =
      "[" + std::string(full, '#') + std::string(cells - full, '-') + "]" + text;
  return line.substr(0, width - std::min<std::size_t>(width, 1));
}

}  // namespace

ProgressBar::ProgressBar(std::string unit)
    : unit_(std::move(unit)), on_terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (shown_) {
    std::fwrite(kWipe.data(), 1, kWipe.size(), stderr);
  }
}

void ProgressBar::show(const Progress& progress) {
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
  if (!on_terminal_ || progress.done <= 0 || progress.total <= 0 || time.count() <= 0) {
    return;
  }
  const std::string line = line_of(progress, unit_, time.count(), terminal_width());
  fmt::print(stderr, "{}{}", kWipe, line);
  shown_ = true;
}

}  // namespace nearfield::cli
