#include "index/ewh/ewh_search.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "filter/bits/bit_thresholds.hpp"
#include "index/ewh/ewh_division.hpp"
#include "index/ewh/ewh_lookup.hpp"
#include "index/ewh/gpu/ewh_device.hpp"
#include "index/questions.hpp"
#include "index/stages.hpp"
#include "search/check_rows.hpp"
#include "search/matrix_verifier.hpp"
#include "search/prepared_base.hpp"
#include "search/radius.hpp"

namespace nearfield {
namespace {

constexpr MetricSpec kEwhMetric = Metric::hamming;

// Scored by one thread, which share what reading the buckets of a block of rows takes.
constexpr std::int64_t kEwhGroupQueries = 8;
// Of a run that several threads share for a few queries: fewer are scored in 0.1 ms.
constexpr std::int64_t kLeastEwhPiece = 1 << 18;
// Where devices and threads share: the last to end keeps the others waiting for a small part.
constexpr std::int64_t kTasksOfAWorker = 8;
constexpr std::int64_t kDeviceQueries = 256;  // of a group

// The k nearest, found by any number of threads.
class EwhNearest : public NearestQuestion {
 public:
  EwhNearest(const Family& flat, std::int64_t queries, std::int64_t k, std::int64_t cols)
      : NearestQuestion(flat, kEwhMetric, queries, k), cols_(cols) {}

  class Goal {
   public:
    Goal(EwhNearest& question, std::int64_t query, std::span<const std::int64_t> ids)
        : question_(question),
          query_(query),
          goal_(question.k(), question.threshold_of(query), ids,
                static_cast<double>(question.cols_)) {}
    SearchGoal& goal() { return goal_; }
    void finish() {
      const std::lock_guard lock(question_.taking_);
      for (const Neighbor& neighbor : goal_.found()) question_.best_of(query_).offer(neighbor);
    }

   private:
    EwhNearest& question_;
    std::int64_t query_;
    NearestGoal goal_;
  };

  // What is missing counts as not found.
  double expected_recall(const Neighbors& found, const EwhDivision& division) const {
    const std::int64_t wanted =
        std::min(k(), division.scored_rows + division.scanned_rows) * found.queries;
    double expected = 0;
    for (std::int64_t query = 0; query < found.queries; ++query) {
      const auto count = static_cast<std::size_t>(found.counts[static_cast<std::size_t>(query)]);
      expected += division.expected_found(cols_, found.keys_of(query).first(count));
    }
    return wanted > 0 ? expected / static_cast<double>(wanted) : 1;
  }

 private:
  double threshold_of(std::int64_t query) {
    const std::lock_guard lock(taking_);
    best_of(query).settle();
    return best_of(query).threshold();
  }

  std::int64_t cols_;
  std::mutex taking_;
};

// All within a radius, likewise.
class EwhWithin : public WithinQuestion {
 public:
  EwhWithin(const Family& flat, std::int64_t queries, double radius, std::int64_t most_bits,
            std::int64_t cols, std::optional<std::int64_t> memory_limit)
      : WithinQuestion(flat, kEwhMetric, queries, radius, memory_limit),
        most_bits_(most_bits),
        cols_(cols) {}

  class Goal {
   public:
    Goal(EwhWithin& question, std::int64_t query, std::span<const std::int64_t> ids)
        : question_(question),
          query_(query),
          goal_(static_cast<double>(question.most_bits_), ids, question.budget(), found_) {}
    SearchGoal& goal() { return goal_; }
    void finish() {
      const std::lock_guard lock(question_.taking_);
      std::vector<Neighbor>& all = question_.found_of(query_);
      all.insert(all.end(), found_.begin(), found_.end());
      found_ = {};
    }

   private:
    EwhWithin& question_;
    std::int64_t query_;
    std::vector<Neighbor> found_;
    WithinGoal goal_;
  };

  // Of rows at the radius: nearer ones are found with a larger chance.
  double expected_recall(const Ranges& /*found*/, const EwhDivision& division) const {
    return division.chance(cols_, most_bits_);
  }

 private:
  std::int64_t most_bits_;
  std::int64_t cols_;
  std::mutex taking_;
};

// A group of queries and a piece of a run are a task. Threads and devices take the next one when
// they are done with theirs: so each has its share by its speed.
class EwhScoring {
 public:
  EwhScoring(MatrixView queries, const EwhDivision& division, const Context& context)
      : queries_(queries) {
    take_workers(context);
    const std::int64_t workers = std::ssize(workers_);
    const std::int64_t tasks = devices_.empty() ? workers : kTasksOfAWorker * workers;
    group_ = devices_.empty()
                 ? kEwhGroupQueries
                 : std::clamp(queries.rows() / tasks, kEwhGroupQueries, kDeviceQueries);
    groups_ = divide_up(queries.rows(), group_);
    // A device by itself has no use for pieces.
    const std::int64_t most = workers > 1 ? std::max<std::int64_t>(tasks / groups_, 1) : 1;
    for (const AskedEwhRun& run : division.runs) {
      const std::int64_t rows = run.rows.run->rows.size();
      const std::int64_t pieces = std::clamp<std::int64_t>(rows / kLeastEwhPiece, 1, most);
      for (std::int64_t i = 0; i < pieces; ++i) {
        pieces_.push_back({&run, {rows * i / pieces, rows * (i + 1) / pieces}});
      }
    }
  }

  template <class Question>
  void run(Question& question, Monitor& monitor) {
    const std::int64_t tasks = groups_ * std::ssize(pieces_);
    std::atomic<std::int64_t> next{0};
    const auto work = [&](Worker& worker) {
      try {
        for (std::int64_t task = next++; task < tasks; task = next++) {
          ask(question, task, worker, monitor);
        }
      } catch (...) {
        next = tasks;  // for the others
        throw;
      }
    };
    const std::int64_t threads = std::ssize(workers_) - std::ssize(devices_);
    std::vector<std::unique_ptr<Background>> beside;
    for (std::int64_t i = threads; i < std::ssize(workers_); ++i) {
      beside.push_back(std::make_unique<Background>(
          [&work, &worker = workers_[static_cast<std::size_t>(i)]] { work(worker); }));
    }
    const auto used = std::min(threads, tasks);
    if (used > 0) {
      run_tasks(used, static_cast<int>(used),
                [&](std::int64_t i, int) { work(workers_[static_cast<std::size_t>(i)]); });
    }
    for (const auto& device : beside) device->wait();
  }

  void add_to(Stats& stats) const {
    std::int64_t all = 0;
    for (const Worker& worker : workers_) {
      stats.pairs_considered += worker.by->considered();
      stats.pairs_verified += worker.by->verified();
      all += worker.pairs;
    }
    Plan& plan = stats.plan;
    plan.threads = std::max(static_cast<int>(workers_.size() - devices_.size()), 1);
    if (devices_.empty()) return;
    plan.device.clear();
    for (const std::string& name : devices_) plan.device += (plan.device.empty() ? "" : ",") + name;
    if (workers_.size() > devices_.size()) plan.device += ",cpu";
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const Worker& device = workers_[workers_.size() - devices_.size() + i];
      plan.note += fmt::format("{}{} looked at {:.1f} % of the pairs",
                               plan.note.empty() ? "" : "; ", devices_[i],
                               100 * static_cast<double>(device.pairs) / static_cast<double>(all));
    }
  }

 private:
  struct Worker {
    std::unique_ptr<EwhWorker> by;
    std::int64_t pairs = 0;
  };
  struct Piece {
    const AskedEwhRun* run;
    Range rows;
  };

  // Threads, then devices.
  void take_workers(const Context& context) {
    std::vector<std::unique_ptr<EwhDevice>> devices;
    bool cpu = true;
    if (on_device(context)) {
      cpu = false;
      for (const std::string_view name : split_devices(context.device)) {
        if (parse_device(name).kind == kCpu) {
          cpu = true;
        } else {
          devices.push_back(std::make_unique<EwhDevice>(context, name, queries_.cols()));
        }
      }
    }
    for (int i = 0; cpu && i < resolve_threads(context.threads); ++i) {
      workers_.push_back({std::make_unique<EwhLookup>(queries_.cols(), isa_of(context))});
    }
    for (auto& device : devices) {
      devices_.push_back(device->id());
      workers_.push_back({std::move(device)});
    }
  }

  template <class Question>
  void ask(Question& question, std::int64_t task, Worker& worker, Monitor& monitor) {
    const Piece& piece = pieces_[static_cast<std::size_t>(task % std::ssize(pieces_))];
    std::vector<std::unique_ptr<typename Question::Goal>> goals;
    std::vector<EwhAsking> asking;
    const std::int64_t begin = task / std::ssize(pieces_) * group_;
    for (std::int64_t query = begin; query < std::min(begin + group_, queries_.rows()); ++query) {
      goals.push_back(std::make_unique<typename Question::Goal>(question, query, piece.run->ids));
      asking.push_back({queries_.row(query), &goals.back()->goal()});
    }
    worker.by->find(asking, piece.run->rows, piece.rows, monitor);
    for (const auto& goal : goals) goal->finish();
    worker.pairs += piece.rows.size() * std::ssize(goals);
    monitor.advance(piece.rows.size() * std::ssize(goals));
  }

  MatrixView queries_;
  std::vector<Worker> workers_;
  std::vector<std::string> devices_;
  std::int64_t group_ = 1;
  std::int64_t groups_ = 0;
  std::vector<Piece> pieces_;
};

std::string text_of(const EwhShape& shape) {
  return fmt::format("error-weighted hashing, {} tables of {} bits, weights {}, threshold {}",
                     shape.tables, shape.bits, fmt::join(shape.weights, ":"), shape.threshold);
}

void describe_ewh(const EwhDivision& division, const char* selector, std::int64_t queries,
                  Plan& plan) {
  plan.filter = text_of(division.runs.front().rows.run->shape);
  plan.kernel = kernel_name(kEwhMetric, DType::bits, to_string(plan.isa));
  plan.selector = selector;
  plan.pairs = queries * (division.scanned_rows + division.scored_rows);
  plan.note.clear();
  if (division.scanned_rows > 0 || division.runs.size() > 1) {
    plan.note = fmt::format("{} rows are scored in {} runs, {} are scanned", division.scored_rows,
                            division.runs.size(), division.scanned_rows);
  }
}

// Rows without tables are few: they are scanned there.
Context on_cpu_alone(Context context) {
  context.device.clear();
  context.device_memory_limit.reset();
  context.stream = 0;
  return context;
}

template <class Question>
typename Question::Result answer_ewh(MatrixView queries, const EwhDivision& division,
                                     Question& question, const Context& own,
                                     const Context& callers) {
  check_rows(queries, 0, "queries", false);
  const std::int64_t pairs = queries.rows() * (division.scanned_rows + division.scored_rows);
  Stages stages(own, pairs);
  const Context& context = stages.context();
  typename Question::Result result =
      question.scan(queries, division.scanned, on_cpu_alone(context));
  for (std::int64_t query = 0; query < queries.rows(); ++query) {
    question.take(result, query, query);
  }
  Question::free(result);
  stages.end_stage(queries.rows() * division.scanned_rows);

  Monitor monitor(context, pairs);
  EwhScoring scoring(queries, division, context);
  scoring.run(question, monitor);
  stages.end_stage(queries.rows() * division.scored_rows);
  question.write(result);
  result.exact = false;
  describe_ewh(division, question.selector(), queries.rows(), result.stats.plan);
  scoring.add_to(result.stats);
  result.stats.plan.expected_recall = question.expected_recall(result, division);
  result.stats.seconds += monitor.seconds();
  stages.finish(callers);
  return result;
}

// What a search has beside what it finds: lookups, copies of who is asked with a bit for each row.
std::int64_t bytes_of_scoring(std::span<const AskedPart> parts, const EwhDivision& division,
                              int threads, const Context& context) {
  constexpr std::int64_t kOfACall = 16 << 10;
  const std::int64_t devices =
      on_device(context) ? std::ssize(split_devices(context.device)) : std::int64_t{0};
  std::int64_t of_a_thread = 0;
  std::int64_t for_devices = 0;
  for (const AskedEwhRun& run : division.runs) {
    of_a_thread = std::max(of_a_thread, EwhLookup::bytes(*run.rows.run));
    for_devices = std::max(for_devices, EwhDevice::host_bytes(*run.rows.run));
  }
  std::int64_t rows = 0;
  for (const AskedPart& part : parts) rows += part.view.count;
  return kOfACall + threads * of_a_thread + devices * for_devices + rows / 8;
}

// That are open at a time: a group of each thread, or of a device.
int most_goals(const Context& context, int threads) {
  if (!on_device(context)) return threads * static_cast<int>(kEwhGroupQueries);
  const auto devices = static_cast<int>(split_devices(context.device).size());
  return (threads + devices) * static_cast<int>(kDeviceQueries);
}

// Whether the limit has room for scores. Who names a device is told, instead of being served by a
// scan on the CPU.
bool has_room(const Context& context, std::int64_t held, std::int64_t share) {
  if (!context.memory_limit || held <= *context.memory_limit / share) return true;
  if (on_device(context)) {
    fail(ErrorCode::memory_limit,
         "scoring on {} takes {} bytes of the host, and with a limit of {} there are {} for it: "
         "raise the limit, or search on the CPU",
         context.device, held, *context.memory_limit, *context.memory_limit / share);
  }
  return false;
}

// All rows are asked for, or none has tables: devices are of no use then, which the plan says.
template <class Result>
Result without_tables(Result result, const Context& context) {
  if (on_device(context)) {
    result.stats.plan.note += fmt::format("{}nothing to score: scanned on the CPU",
                                          result.stats.plan.note.empty() ? "" : "; ");
  }
  return result;
}

bool may_be_scored(MatrixView queries, std::span<const AskedPart> parts) {
  return queries.rows() > 0 && as_the_rows(queries, parts);
}

}  // namespace

Neighbors ewh_search(const Family& flat, MatrixView queries, std::span<const AskedPart> parts,
                     std::int64_t k, const Context& context) {
  if (!may_be_scored(queries, parts) || k < 0)
    return flat.search(queries, parts, k, on_cpu_alone(context));
  const EwhDivision division(parts);
  // Whoever asks for all rows gets them.
  if (division.runs.empty() || k >= division.scored_rows) {
    return without_tables(flat.search(queries, parts, k, on_cpu_alone(context)), context);
  }
  const int threads = resolve_threads(context.threads);
  const std::int64_t held =
      NearestQuestion::bytes(queries.rows(), k, most_goals(context, threads)) +
      bytes_of_scoring(parts, division, threads, context);
  if (!has_room(context, held, 2)) {
    return flat.search(queries, parts, k, on_cpu_alone(context));
  }
  EwhNearest question(flat, queries.rows(), k, queries.cols());
  return answer_ewh(queries, division, question, with_less_memory(context, held), context);
}

Ranges ewh_within(const Family& flat, MatrixView queries, std::span<const AskedPart> parts,
                  double radius, const Context& context) {
  if (!may_be_scored(queries, parts))
    return flat.within(queries, parts, radius, on_cpu_alone(context));
  const DefaultFloats floats;
  const std::int64_t bits =
      most_differing(Radius(kEwhMetric, radius).largest_key(), queries.cols());
  const EwhDivision division(parts);
  // Whoever asks for all rows, or none, gets them.
  if (division.runs.empty() || bits < 0 || bits >= queries.cols()) {
    return without_tables(flat.within(queries, parts, radius, on_cpu_alone(context)), context);
  }
  const std::int64_t held =
      WithinQuestion::bytes(queries.rows()) +
      bytes_of_scoring(parts, division, resolve_threads(context.threads), context);
  if (!has_room(context, held, 4)) {
    return flat.within(queries, parts, radius, on_cpu_alone(context));
  }
  // Half for what is found here, half for what a scan finds.
  std::optional<std::int64_t> for_found;
  if (context.memory_limit) for_found = *context.memory_limit / 2 - held;
  EwhWithin question(flat, queries.rows(), radius, bits, queries.cols(), for_found);
  const std::int64_t here = held + for_found.value_or(0);
  return answer_ewh(queries, division, question, with_less_memory(context, here), context);
}

}  // namespace nearfield
