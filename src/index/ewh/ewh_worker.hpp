// Who scores the rows of a run and verifies what reaches the threshold: a thread, or a device.
#pragma once

#include <cstdint>
#include <span>

#include <nearfield/matrix.hpp>

#include "core/monitor.hpp"
#include "index/ewh/ewh_tables.hpp"
#include "index/search_goal.hpp"

namespace nearfield {

// The rows of a run, and which of them may be found.
struct EwhRows {
  const EwhRun* run;
  MatrixView rows;                      // of the run alone
  std::span<const std::uint64_t> live;  // a bit for each row of its part; empty: all
};

struct EwhAsking {
  const std::byte* query;
  SearchGoal* goal;
};

class EwhWorker {
 public:
  virtual ~EwhWorker() = default;
  // Of rows `piece` of the run. Throws what the monitor throws, and corrupt_file.
  virtual void find(std::span<const EwhAsking> asking, const EwhRows& in, Range piece,
                    const Monitor& monitor) = 0;

  // Rows met in buckets, or scored, and rows whose keys were computed: in all calls.
  std::int64_t considered() const { return considered_; }
  std::int64_t verified() const { return verified_; }

 protected:
  std::int64_t considered_ = 0;
  std::int64_t verified_ = 0;
};

}  // namespace nearfield
