// One line on the terminal that says how far the work is.
#pragma once

#include <chrono>
#include <string>

#include <nearfield/context.hpp>

namespace nearfield::cli {

// On standard error, and only if that is a terminal: in a pipe or a log it is silent.
class ProgressBar {
 public:
  // `unit` is what progress counts.
  explicit ProgressBar(std::string unit = "pairs");
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Wipes the line: what follows starts at its left.
  ~ProgressBar();

  void show(const Progress& progress);

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::string unit_;
  bool on_terminal_;
  bool shown_ = false;
};

}  // namespace nearfield::cli
