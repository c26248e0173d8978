#include <nearfield/dedup.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "core/checked.hpp"
#include "core/memory_errors.hpp"
#include "core/monitor.hpp"
#include "core/tasks.hpp"
#include "dedup/bucket_join.hpp"
#include "dedup/bucket_order.hpp"
#include "dedup/disjoint_sets.hpp"
#include "dedup/distinct_codes.hpp"
#include "dedup/join_plan.hpp"
#include "device/device_name.hpp"
#include "distance/kernels.hpp"
#include "filter/bits/bit_kernel.hpp"
#include "search/check_rows.hpp"

namespace nearfield {
namespace {

constexpr auto kRowBytes = static_cast<std::int64_t>(sizeof(std::uint32_t));
constexpr std::size_t kRowsBetweenLooks = 1 << 16;
constexpr const char* kDedupAdvice = "raise the limit, or give fewer codes at a time";

std::string tables_text(const JoinPlan& plan) {
  if (plan.partition.tables == 0) return "none: all codes are near each other";
  if (plan.partition.bits == 0) return "every code against every other";
  return fmt::format("bucket against bucket, {} tables of {} bits, up to {} of them different",
                     plan.tables(), plan.partition.bits, plan.differing(0));
}

class Deduplication {
 public:
  Deduplication(MatrixView codes, std::int64_t copied_bytes, std::int64_t radius,
                const Context& context)
      : codes_(codes),
        radius_(radius),
        context_(context),
        join_(plan_join(codes, radius, Monitor(context_, 0))) {
    make_plan(copied_bytes);
  }

  const Plan& plan() const { return plan_; }

  DuplicateGroups run() {
    Monitor monitor(context_, codes_.rows() * (1 + join_.tables()));
    DisjointSets sets(codes_.rows());
    DuplicateGroups groups;
    {
      const std::vector<std::uint32_t> distinct =
          join_same_codes(codes_, sets, plan_.threads, monitor);
      groups.distinct = std::ssize(distinct);
      join_near_codes(distinct, sets, monitor, groups.stats);
    }
    write_groups(sets, monitor, groups);
    write_distances(groups, monitor);
    monitor.finish();
    plan_.note = fmt::format("{} different codes; estimated at {:.1f} s of a thread",
                             groups.distinct, join_.seconds);
    groups.stats.plan = plan_;
    groups.stats.seconds = monitor.seconds();
    return groups;
  }

 private:
  void make_plan(std::int64_t copied_bytes) {
    const std::int64_t rows = codes_.rows();
    plan_.isa = isa_of(context_);
    plan_.threads = resolve_threads(context_.threads);
    plan_.filter = tables_text(join_);
    plan_.kernel = fmt::format("hamming/bits/{}", to_string(plan_.isa));
    plan_.selector = "groups of what is near";
    plan_.passes = 1 + join_.tables();
    plan_.query_batch = plan_.base_chunk = rows;
    plan_.pairs = rows * (rows - 1) / 2;
    // Rows, numbers of groups and distances of all of them at most.
    plan_.result_bytes = rows * (8 + 8 + 4) + (rows / 2 + 1) * 8;
    const std::int64_t joining =
        BucketOrder::bytes_for(rows, rows, codes_.cols(), join_.partition.bits, plan_.threads) +
        plan_.threads * bytes_to_join_buckets(codes_.cols()) + difference_bytes(join_);
    const std::int64_t sets_and_distinct = 2 * rows * kRowBytes;
    plan_.working_bytes = copied_bytes + sets_and_distinct +
                          std::max(bytes_to_join_same_codes(rows, plan_.threads), joining);
    // The result is made when that is done, of the sets and a number for each row.
    const std::int64_t needed =
        std::max({plan_.working_bytes, copied_bytes + 2 * rows * kRowBytes + plan_.result_bytes,
                  copied_bytes + bytes_to_plan_join(codes_.cols())});
    if (context_.memory_limit && needed > *context_.memory_limit) {
      fail(ErrorCode::memory_limit,
           "groups of {} codes of {} bits need {} bytes, the limit is {}: {}", rows, codes_.cols(),
           needed, *context_.memory_limit, kDedupAdvice);
    }
  }

  void join_near_codes(std::span<const std::uint32_t> distinct, DisjointSets& sets,
                       Monitor& monitor, Stats& stats) const {
    if (join_.partition.tables == 0) {
      for (const std::uint32_t row : distinct) sets.join(distinct[0], row);
    }
    for (std::int64_t table = 0; table < join_.tables(); ++table) {
      BucketOrder order(codes_, distinct, join_.partition.of(table), plan_.threads, monitor);
      const JoinCounts counts = join_buckets(order,
                                             {.radius = radius_,
                                              .bits = join_.partition.bits,
                                              .differing = join_.differing(table),
                                              .isa = plan_.isa,
                                              .threads = plan_.threads},
                                             sets, monitor);
      stats.pairs_considered += counts.compared;
      stats.pairs_verified += counts.near;
      monitor.advance(codes_.rows() - std::ssize(distinct));
    }
  }

  void write_groups(DisjointSets& sets, const Monitor& monitor, DuplicateGroups& groups) const {
    const std::int64_t rows = codes_.rows();
    std::vector<std::uint32_t> members(static_cast<std::size_t>(rows));  // but for the first
    groups.first_of.resize(static_cast<std::size_t>(rows));
    for (std::size_t row = 0; row < members.size(); ++row) {
      if (row % kRowsBetweenLooks == 0) monitor.check();
      const std::uint32_t first = sets.first_of(static_cast<std::uint32_t>(row));
      groups.first_of[row] = first;
      if (first != row) ++members[first];
    }
    // Then where the next of each group goes.
    std::vector<std::uint32_t>& next = members;
    std::uint32_t total = 0;
    groups.offsets.assign(1, 0);
    for (std::uint32_t& count : members) {
      if (count == 0) continue;
      const std::uint32_t begin = total;
      total += count + 1;
      count = begin + 1;  // never 0: the first is in its place
      groups.offsets.push_back(total);
    }
    groups.rows.resize(total);
    for (std::size_t row = 0; row < next.size(); ++row) {
      if (row % kRowsBetweenLooks == 0) monitor.check();
      const auto first = static_cast<std::size_t>(groups.first_of[row]);
      if (first != row) {
        groups.rows[next[first]++] = static_cast<std::int64_t>(row);
      } else if (next[row] > 0) {
        groups.rows[next[row] - 1] = static_cast<std::int64_t>(row);
      }
    }
  }

  void write_distances(DuplicateGroups& groups, const Monitor& monitor) const {
    groups.distances.resize(groups.rows.size());
    constexpr std::int64_t kGroupsOfATask = 1024;
    const std::int64_t count = std::ssize(groups.offsets) - 1;
    run_tasks(divide_up(count, kGroupsOfATask), plan_.threads, [&](std::int64_t task, int) {
      const std::int64_t end = std::min((task + 1) * kGroupsOfATask, count);
      for (std::int64_t group = task * kGroupsOfATask; group < end; ++group) {
        const auto first =
            static_cast<std::size_t>(groups.offsets[static_cast<std::size_t>(group)]);
        const auto last =
            static_cast<std::size_t>(groups.offsets[static_cast<std::size_t>(group) + 1]);
        count_differing(std::span(groups.rows).subspan(first, last - first),
                        std::span(groups.distances).subspan(first, last - first), monitor);
      }
    });
  }

  // From the first of the rows.
  void count_differing(std::span<const std::int64_t> rows, std::span<std::int32_t> out,
                       const Monitor& monitor) const {
    constexpr std::size_t kAtOnce = 256;
    const std::int64_t bytes = row_bytes(codes_.dtype(), codes_.cols());
    std::vector<std::uint64_t> first(static_cast<std::size_t>(divide_up(bytes, 8)));
    std::memcpy(first.data(), codes_.row(rows[0]), static_cast<std::size_t>(bytes));
    std::array<std::uint32_t, kAtOnce> picks{};
    std::array<std::uint32_t, kAtOnce> differing{};
    for (std::size_t begin = 0; begin < rows.size(); begin += kAtOnce) {
      monitor.check();
      const std::size_t count = std::min(kAtOnce, rows.size() - begin);
      std::ranges::transform(rows.subspan(begin, count), picks.begin(),
                             [](std::int64_t row) { return static_cast<std::uint32_t>(row); });
      bit_kernel(plan_.isa).count_picked({.query = first.data(),
                                          .rows = codes_.row(0),
                                          .stride = codes_.stride_bytes(),
                                          .bytes = bytes,
                                          .picks = picks.data(),
                                          .count = static_cast<std::int64_t>(count),
                                          .differing = differing.data()});
      std::copy_n(differing.begin(), count, out.begin() + static_cast<std::ptrdiff_t>(begin));
    }
  }

  MatrixView codes_;
  std::int64_t radius_;
  const Context& context_;
  JoinPlan join_;
  Plan plan_;
};

void check_dedup(const RowSource& codes, const DedupOptions& options, const Context& context) {
  check_matrices(codes, codes, Metric::hamming);
  check_on_cpu(context, "dedup");
  if (options.radius < 0) {
    fail(ErrorCode::invalid_argument, "the radius of dedup is 0 or more, got {}", options.radius);
  }
  if (codes.rows() >= kMostDedupRows) {
    fail(ErrorCode::unsupported, "dedup takes fewer than {} codes, got {}", kMostDedupRows,
         codes.rows());
  }
}

}  // namespace

DuplicateGroups dedup(const RowSource& codes, const DedupOptions& options, const Context& context) {
  check_dedup(codes, options, context);
  const std::int64_t radius = std::min(options.radius, codes.cols());
  const auto in_memory = codes.in_memory();
  const std::int64_t copied = in_memory ? 0 : codes.rows() * row_bytes(codes.dtype(), codes.cols());
  if (context.memory_limit && copied > *context.memory_limit) {
    fail(ErrorCode::memory_limit, "{} codes of {} bits take {} bytes, the limit is {}: {}",
         codes.rows(), codes.cols(), copied, *context.memory_limit, kDedupAdvice);
  }
  const Matrix copy = in_memory ? Matrix() : read_all(codes);
  Deduplication work(in_memory ? *in_memory : copy.view(), copied, radius, context);
  return with_memory_errors(work.plan(), kDedupAdvice, [&] { return work.run(); });
}

}  // namespace nearfield
