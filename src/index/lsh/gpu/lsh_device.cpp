#include "index/lsh/lsh_device.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/fail.hpp"
#include "core/float_environment.hpp"
#include "device/gpu/open.hpp"
#include "distance/gpu/key_step.hpp"
#include "distance/settled_key.hpp"
#include "filter/gpu/copied_rows.hpp"
#include "hash/gpu/short_list_step.hpp"
#include "index/lsh/lsh_places.hpp"
#include "search/prepared_base.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kProjectedQueries = 1024;  // at a time

std::vector<BucketView> buckets_of(const LshRun& run) {
  std::vector<BucketView> tables;
  for (const KeyTableView& table : run.tables) tables.push_back(table.buckets());
  return tables;
}

// What is on the device: rows, tables, a batch of queries and their buckets.
class LshOnDevice {
 public:
  LshOnDevice(gpu::Device& device, const LshRun& run, std::int64_t probes, MetricSpec metric,
              DType queries)
      : device_(device),
        queue_(device.make_queue(0)),
        run_(run),
        probes_(probes),
        metric_(metric),
        query_type_(queries),
        keys_(metric, run.functions.directions.cols()),
        products_(Metric::inner_product, run.functions.directions.cols()) {}

  void take_rows(MatrixView rows) {
    if (buckets_) return;
    row_type_ = rows.dtype();
    rows_ = copied_rows(device_, *queue_, rows);
    directions_ = copied_rows(device_, *queue_, run_.functions.directions);
    buckets_.emplace(device_, *queue_, buckets_of(run_));
    list_.emplace(device_, std::max<std::int64_t>(rows.rows(), kLeastListed));
    wrong_ = device_.allocate(sizeof(std::uint32_t));
    queue_->wait();
  }

  void take_queries(MatrixView queries, Isa isa, const Monitor& monitor) {
    queries_.rows.reset();
    queries_ = copied_rows(device_, *queue_, queries);
    finite_.assign(static_cast<std::size_t>(queries.rows()), false);
    std::vector<std::uint32_t> buckets(
        static_cast<std::size_t>(queries.rows() * run_.functions.tables * probes_));
    const std::int64_t width = run_.functions.directions.rows();
    const auto found = device_.allocate(kProjectedQueries * width * 8);
    std::vector<double> projections(static_cast<std::size_t>(kProjectedQueries * width));
    for (std::int64_t first = 0; first < queries.rows(); first += kProjectedQueries) {
      monitor.check();
      const std::int64_t count = std::min(kProjectedQueries, queries.rows() - first);
      products_.all(*queue_, {queries_, query_type_, first, count},
                    {directions_, DType::f32, 0, width}, *found);
      const std::int64_t bytes = count * width * 8;
      queue_->read(*found, projections.data(), {1, bytes, bytes, bytes});
      queue_->wait();
      hash(queries, first, projections, isa, buckets);
    }
    query_buckets_.reset();
    query_buckets_ =
        device_.allocate(static_cast<std::int64_t>(buckets.size() * sizeof(std::uint32_t)));
    queue_->write(*query_buckets_, buckets.data());
    queue_->wait();
  }

  bool is_finite(std::int64_t query) const { return finite_[static_cast<std::size_t>(query)]; }

  struct Found {
    std::vector<std::uint64_t> places;  // the query above, from the first, the row below
    std::vector<double> keys;
  };

  // Appends the pairs of some queries: fewer at a time where there are too many of them.
  void find(std::int64_t first, std::int64_t count, std::int64_t number, Found& found) const {
    const auto marks = device_.allocate(count * DeviceBuckets::mark_bytes(run_.rows.size()));
    queue_->fill(*wrong_, 0);
    buckets_->short_list(*queue_, *query_buckets_, first, count, probes_, *marks, *list_, *wrong_);
    std::uint32_t listed = 0;
    std::uint32_t wrong = 0;
    queue_->read(*list_->count, &listed);
    queue_->read(*wrong_, &wrong);
    queue_->wait();
    if (wrong != 0) {
      fail(ErrorCode::corrupt_file,
           "buckets hold {} rows that are not those of the {} there are: build the index again", wrong,
           run_.rows.size());
    }
    if (listed > list_->most) {
      find(first, count / 2, number, found);
      return find(first + count / 2, count - count / 2, number + count / 2, found);
    }
    if (listed == 0) return;
    keys_.of_pairs(*queue_, {queries_, query_type_, first, count},
                   {rows_, row_type_, 0, run_.rows.size()}, *list_);
    append(listed, number, found);
  }

 private:
  static constexpr std::int64_t kLeastListed = 1 << 16;

  void hash(MatrixView queries, std::int64_t first, std::span<double> projections, Isa isa,
            std::span<std::uint32_t> buckets) {
    const DefaultFloats floats;
    const LshFunctions& functions = run_.functions;
    const int key_bits = functions.scheme.bits;
    const int bucket_bits = folded_bits(run_.rows.size(), key_bits);
    const auto width = static_cast<std::size_t>(functions.directions.rows());
    LshProjector projector(query_type_, queries.cols(), metric_, isa);
    LshQueryHash hashing(functions);
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(probes_));
    const std::int64_t count = std::min(kProjectedQueries, queries.rows() - first);
    auto to = buckets.begin() + first * functions.tables * probes_;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::span<double> own = projections.subspan(static_cast<std::size_t>(i) * width, width);
      finite_[static_cast<std::size_t>(first + i)] = projector.load(queries.row(first + i));
      projector.finish(own);
      for (std::int64_t table = 0; table < functions.tables; ++table) {
        hashing.keys(own, table, keys);
        for (const std::uint64_t key : keys) *to++ = folded_bucket(key, key_bits, bucket_bits);
      }
    }
  }

  void append(std::uint32_t listed, std::int64_t number, Found& found) const {
    const std::size_t before = found.places.size();
    found.places.resize(before + listed);
    found.keys.resize(before + listed);
    const std::int64_t bytes = std::int64_t{8} * listed;
    queue_->read(*list_->places, &found.places[before], {1, bytes, bytes, bytes});
    queue_->read(*list_->keys, &found.keys[before], {1, bytes, bytes, bytes});
    queue_->wait();
    for (std::size_t i = before; i < found.places.size(); ++i) {
      found.places[i] += static_cast<std::uint64_t>(number) << 32;
    }
  }

  gpu::Device& device_;
  std::unique_ptr<gpu::Queue> queue_;
  const LshRun& run_;
  std::int64_t probes_;
  MetricSpec metric_;
  DType query_type_;
  DType row_type_ = DType::f32;
  KeyStep keys_;
  KeyStep products_;
  gpu::ArrayTile rows_{};
  gpu::ArrayTile directions_{};
  gpu::ArrayTile queries_{};
  std::optional<DeviceBuckets> buckets_;
  std::optional<PairList> list_;
  std::unique_ptr<gpu::Buffer> wrong_;
  std::unique_ptr<gpu::Buffer> query_buckets_;
  std::vector<bool> finite_;
};

class LshDeviceFilter final : public Filter {
 public:
  LshDeviceFilter(const LshOnDevice& on_device, std::string name)
      : on_device_(on_device), name_(std::move(name)) {}

  void start(const Piece& rows, std::int64_t first_query) {
    rows_ = rows;
    first_query_ = first_query;
  }

  // Asked by one thread.
  void survivors(const Block& block, std::span<const double> /*thresholds*/,
                 Candidates& out) const override {
    LshOnDevice::Found found;
    on_device_.find(block.queries.begin - first_query_, block.queries.size(), 0, found);
    std::vector<std::size_t> order(found.places.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return found.places[i]; });
    out.start_keyed(block, std::ssize(order));
    std::size_t next = 0;
    for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
      const auto number = static_cast<std::uint64_t>(query - block.queries.begin);
      for (; next < order.size() && found.places[order[next]] >> 32 == number; ++next) {
        const auto row = static_cast<std::int64_t>(found.places[order[next]] & 0xFFFFFFFF);
        if (row < block.rows.begin || row >= block.rows.end) continue;
        out.add(row, settled(found.keys[order[next]], query, row));
      }
      out.end_query();
    }
  }

  bool certified() const override { return false; }
  std::string name() const override { return name_; }

 private:
  double settled(double key, std::int64_t query, std::int64_t row) const {
    if (!on_device_.is_finite(query - first_query_)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    return settled_key(key, rows_.view.dtype(), rows_.row(row), rows_.view.cols());
  }

  const LshOnDevice& on_device_;
  std::string name_;
  Piece rows_;
  std::int64_t first_query_ = 0;
};

class LshDeviceFilterMaker final : public FilterMaker {
 public:
  LshDeviceFilterMaker(gpu::Device& device, const LshRun& run, std::int64_t probes,
                       MetricSpec metric, DType queries, Isa isa)
      : on_device_(device, run, probes, metric, queries),
        isa_(isa),
        filter_(on_device_, lsh_filter_name(run, probes) + ", on the device") {}

  void take_queries(const Piece& queries, const Piece& rows, int /*threads*/,
                    Monitor& monitor) override {
    on_device_.take_rows(rows.view);
    on_device_.take_queries(queries.view, isa_, monitor);
    filter_.start(rows, queries.first);
  }
  TakenRows take_rows(const Piece& rows, int /*threads*/, Monitor& /*monitor*/) override {
    return {filter_, rows.view.rows()};
  }
  std::string name() const override { return filter_.name(); }

 private:
  LshOnDevice on_device_;
  Isa isa_;
  LshDeviceFilter filter_;
};

}  // namespace

std::unique_ptr<FilterMaker> make_lsh_device_filter(const LshRun& run, std::int64_t probes,
                                                    MetricSpec metric, DType queries,
                                                    const Context& context) {
  if (run.tables.front().sorted()) {
    fail(ErrorCode::unsupported,
         "sorted keys of lsh are looked up on the CPU, got device '{}': build the index with "
         "match=table, or leave the device out",
         context.device);
  }
  const gpu::Opened opened = gpu::open_device(context.device);
  const std::int64_t rows = run.rows.size();
  const std::int64_t needed = DeviceBuckets::bytes(buckets_of(run)) +
                              rows * (PairList::kPairBytes + run.functions.directions.cols() * 8) +
                              kLshDeviceQueries * DeviceBuckets::mark_bytes(rows);
  const std::int64_t limit = context.device_memory_limit.value_or(opened.device.facts().memory);
  if (needed > limit) {
    fail(ErrorCode::memory_limit,
         "lsh holds its rows and tables on {}, up to {} bytes, and the limit is {}: raise it, or "
         "leave the device out",
         opened.id, needed, limit);
  }
  return std::make_unique<LshDeviceFilterMaker>(opened.device, run, probes, metric, queries,
                                                isa_of(context));
}

}  // namespace nearfield
