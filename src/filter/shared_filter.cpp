#include "filter/shared_filter.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nearfield/error.hpp>

#include "core/fail.hpp"

namespace nearfield {
namespace {

using Clock = std::chrono::steady_clock;

struct Worker {
  SharedFilterMember member;
  const Filter* filter = nullptr;  // of the chunk
  int busy = 0;                    // callers
  std::int64_t pairs = 0;          // that it has looked at
  double seconds = 0;
  std::optional<std::string> failure = {};

  bool free() const { return !failure && busy < member.callers; }
  // Pairs a second; one that was not measured yet is tried first.
  double speed() const {
    return seconds > 0 ? static_cast<double>(pairs) / seconds : std::numeric_limits<double>::max();
  }
};

// Not of the device, but of who asks: the search is to stop.
bool is_a_stop(const Error& error) {
  return error.code() == ErrorCode::cancelled || error.code() == ErrorCode::deadline_exceeded;
}

// What a member may be asked of a block: its first rows, or where they begin between two units,
// those up to the next, every one of which is a candidate.
struct Part {
  Block block;
  bool every_row;
};

Part part_of(const Block& block, const SharedFilterMember& member, std::int64_t first_row) {
  const std::int64_t beyond = (block.rows.begin - first_row) % member.row_unit;
  const std::int64_t most = beyond == 0 ? member.most_rows : member.row_unit - beyond;
  return {{block.queries, {block.rows.begin, std::min(block.rows.begin + most, block.rows.end)}},
          beyond != 0};
}

}  // namespace

// Who is free, and who has failed.
class SharedFilterMaker::Pool {
 public:
  explicit Pool(std::vector<SharedFilterMember> members) {
    for (SharedFilterMember& member : members) workers_.push_back({.member = std::move(member)});
  }

  // The fastest that is free; waits for one.
  Worker& take() {
    std::unique_lock lock(mutex_);
    for (;;) {
      Worker* best = nullptr;
      for (Worker& worker : workers_) {
        if (worker.free() && (best == nullptr || worker.speed() > best->speed())) best = &worker;
      }
      if (best != nullptr) {
        ++best->busy;
        return *best;
      }
      check_some_left();
      changed_.wait(lock);
    }
  }

  // pairs: 0 where it did not come to an end.
  void give_back(Worker& worker, std::int64_t pairs, double seconds) {
    const std::lock_guard lock(mutex_);
    --worker.busy;
    worker.pairs += pairs;
    if (pairs > 0) worker.seconds += seconds;
    changed_.notify_all();
  }

  // Throws if nobody else is left.
  void leave_out(Worker& worker, const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!worker.failure) worker.failure = error.what();
    changed_.notify_all();
    check_some_left();
  }

  // Each that has not failed, one after the other.
  template <class Use>
  void for_each(const Use& use) {
    for (Worker& worker : workers_) {
      if (worker.failure) continue;
      try {
        use(worker);
      } catch (const Error& error) {
        if (!worker.member.may_fail || is_a_stop(error)) throw;
        leave_out(worker, error);
      }
    }
  }

  const std::vector<Worker>& workers() const { return workers_; }

 private:
  void check_some_left() const {
    const auto has_failed = [](const Worker& worker) { return worker.failure.has_value(); };
    if (!std::all_of(workers_.begin(), workers_.end(), has_failed)) return;
    std::string all;
    for (const Worker& worker : workers_) {
      all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", worker.member.name, *worker.failure);
    }
    fail(ErrorCode::unsupported, "every device of the search has failed: {}", all);
  }

  std::vector<Worker> workers_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

class SharedFilterMaker::Shared final : public Filter {
 public:
  Shared(Pool& pool, std::int64_t first_row) : pool_(pool), first_row_(first_row) {}

  void survivors(const Block& block, std::span<const double> thresholds,
                 Candidates& out) const override {
    for (;;) {
      Lease lease(pool_);
      try {
        ask(lease.worker(), block, thresholds, out);
        return lease.end(out.block().pairs());
      } catch (const Error& error) {
        if (!lease.worker().member.may_fail) throw;
        pool_.leave_out(lease.worker(), error);
      }
    }
  }

  bool certified() const override {
    const auto& all = pool_.workers();
    return std::all_of(all.begin(), all.end(), [](const Worker& worker) {
      return worker.filter == nullptr || worker.filter->certified();
    });
  }

  std::string name() const override { return "several"; }

 private:
  // A member for as long as it is asked.
  class Lease {
   public:
    explicit Lease(Pool& pool) : pool_(pool), worker_(pool.take()) {}
    ~Lease() {
      const std::chrono::duration<double> took = Clock::now() - start_;
      pool_.give_back(worker_, pairs_, took.count());
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    Worker& worker() { return worker_; }
    void end(std::int64_t pairs) { pairs_ = pairs; }

   private:
    Pool& pool_;
    Worker& worker_;
    Clock::time_point start_ = Clock::now();
    std::int64_t pairs_ = 0;
  };

  void ask(const Worker& worker, const Block& block, std::span<const double> thresholds,
           Candidates& out) const {
    const Part part = part_of(block, worker.member, first_row_);
    if (part.every_row) return out.start_dense(part.block);
    worker.filter->survivors(part.block, thresholds, out);
  }

  Pool& pool_;
  std::int64_t first_row_;
};

SharedFilterMaker::SharedFilterMaker(std::vector<SharedFilterMember> members)
    : pool_(std::make_unique<Pool>(std::move(members))) {}

SharedFilterMaker::~SharedFilterMaker() = default;

void SharedFilterMaker::take_queries(const Piece& queries, const Piece& rows, int threads,
                                     Monitor& monitor) {
  pool_->for_each(
      [&](Worker& worker) { worker.member.maker->take_queries(queries, rows, threads, monitor); });
}

void SharedFilterMaker::expect_rows(const Piece& rows) {
  pool_->for_each([&](Worker& worker) { worker.member.maker->expect_rows(rows); });
}

// As many as all of them have taken: who has more is asked about these alone.
TakenRows SharedFilterMaker::take_rows(const Piece& rows, int threads, Monitor& monitor) {
  std::int64_t taken = rows.view.rows();
  pool_->for_each([&](Worker& worker) {
    const TakenRows own = worker.member.maker->take_rows(rows, threads, monitor);
    worker.filter = &own.filter;
    taken = std::min(taken, own.rows);
  });
  filter_ = std::make_unique<Shared>(*pool_, rows.first);
  return {*filter_, taken};
}

std::string SharedFilterMaker::name() const {
  std::string all;
  for (const Worker& worker : pool_->workers()) {
    all += fmt::format("{}{} by {}", all.empty() ? "" : "; ", worker.member.name,
                       worker.member.maker->name());
  }
  return all;
}

std::string SharedFilterMaker::note() const {
  std::int64_t total = 0;
  for (const Worker& worker : pool_->workers()) total += worker.pairs;
  std::string all;
  for (const Worker& worker : pool_->workers()) {
    const double share =
        total == 0 ? 0 : 100 * static_cast<double>(worker.pairs) / static_cast<double>(total);
    all += fmt::format("{}{} looked at {:.1f} % of the pairs", all.empty() ? "" : "; ",
                       worker.member.name, share);
    if (worker.failure) all += fmt::format(", then failed ({})", *worker.failure);
  }
  return all;
}

}  // namespace nearfield
