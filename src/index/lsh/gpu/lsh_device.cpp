#include "index/lsh/lsh_device.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/float_environment.hpp"
#include "device/gpu/open.hpp"
#include "distance/gpu/key_step.hpp"
#include "filter/device_filter.hpp"
#include "filter/gpu/copied_rows.hpp"
#include "hash/gpu/short_list_step.hpp"
#include "index/lsh/gpu/lsh_device_filter.hpp"
#include "index/lsh/gpu/lsh_lists.hpp"
#include "index/lsh/lsh_places.hpp"
#include "search/prepared_base.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kProjectedQueries = 256;  // at a time

// Of sorted keys: the host looks them up.
bool has_lists(const LshRun& run) { return run.tables.front().sorted(); }

std::vector<BucketView> buckets_of(const LshRun& run) {
  std::vector<BucketView> tables;
  for (const KeyTableView& table : run.tables) tables.push_back(table.buckets());
  return tables;
}

// What kernels read of a run.
struct LshDeviceRows {
  LshDeviceRows(gpu::Device& device, gpu::Queue& queue, const LshRun& run, MatrixView values)
      : rows(copied_rows(device, queue, values)),
        directions(copied_rows(device, queue, run.functions.directions)),
        buckets(device, queue, buckets_of(run)) {}

  gpu::ArrayTile rows;
  gpu::ArrayTile directions;
  DeviceBuckets buckets;
};

// Of a block of this run: a list counts its pairs in 32 bits, which 64 queries and more than 67
// million rows could exceed. With tiles it lists rows.
std::int64_t block_queries(const LshRun& run, bool tiles) {
  if (tiles) return kLshTileQueries;
  return std::clamp<std::int64_t>(std::numeric_limits<std::uint32_t>::max() / run.rows.size(), 1,
                                  kLshBlockQueries);
}
std::int64_t block_mark_bytes(const LshRun& run, bool tiles) {
  return (tiles ? kLshTileMarks : block_queries(run, tiles)) *
         DeviceBuckets::mark_bytes(run.rows.size());
}

// As stays are counted.
LshProductRoom room_for_products(const LshRun& run, std::int64_t row_bytes) {
  return {round_up(row_bytes, std::int64_t{8}), run.functions.directions.cols()};
}

// Of the device, while a run is searched; and for each query of a batch more, which may be of a
// wider type than rows.
std::int64_t searching_bytes(const LshRun& run, bool tiles, std::int64_t row_bytes) {
  const LshProductRoom products = room_for_products(run, row_bytes);
  return block_mark_bytes(run, tiles) + kMostLshPairs * PairList::kPairBytes +
         kProjectedQueries * run.functions.directions.rows() *
             static_cast<std::int64_t>(sizeof(double)) +
         (tiles ? products.bytes(products.most_rows(run.rows.size())) : 0);
}
std::int64_t query_bytes(const LshRun& run, const LshLook& look) {
  return copied_row_bytes(DType::f64, run.functions.directions.cols()) +
         run.functions.tables * look.probes * static_cast<std::int64_t>(sizeof(std::uint32_t)) +
         (look.tiles ? room_for_products(run, 0).query_bytes() : 0);
}

std::int64_t direction_bytes(const LshRun& run) {
  const MatrixView directions = run.functions.directions;
  return directions.rows() * copied_row_bytes(directions.dtype(), directions.cols());
}

// A search's own: a batch of queries, and what is found of some of them.
class LshDeviceSearch final : public LshPairFinder {
 public:
  LshDeviceSearch(const LshRun& run, const LshLook& look, MetricSpec metric, DType queries,
                  const Context& context)
      : device_(gpu::open_device(context.device).device),
        run_(run),
        look_(look),
        metric_(metric),
        query_type_(queries),
        isa_(isa_of(context)),
        keys_(metric, run.functions.directions.cols()),
        projections_(Metric::inner_product, run.functions.directions.cols()),
        queue_(device_.make_queue(context.stream)) {}

  void take_rows(MatrixView rows) {
    if (kept_ != nullptr) return;
    row_type_ = rows.dtype();
    try {
      kept_ = run_.copies.of<LshDeviceRows>(&device_, [&] {
        const gpu::WaitAtEnd wait(*queue_);
        return std::make_shared<const LshDeviceRows>(device_, *queue_, run_, rows);
      });
      list_.emplace(device_, kMostLshPairs);
      marks_ = device_.allocate(block_mark_bytes(run_, look_.tiles));
      wrong_ = device_.allocate(sizeof(std::uint32_t));
      if (look_.tiles) make_products(rows);
    } catch (const gpu::OutOfMemory& refused) {
      fail(ErrorCode::memory_limit,
           "{}: it is to hold {} rows of lsh with their tables; give the search a limit on its "
           "memory, so that they come piece by piece, or free some of it",
           refused.what(), run_.rows.size());
    }
  }

  void take_queries(MatrixView queries, const Monitor& monitor) {
    queries_.rows.reset();
    query_buckets_.reset();
    const gpu::WaitAtEnd wait(*queue_);
    queries_ = copied_rows(device_, *queue_, queries);
    if (products_) {
      products_->take_queries(*queue_, queries_, queries.rows());
      products_->take_rows(*queue_, kept_->rows, [&] {
        return kept_largest(run_, device_, *queue_, kept_->rows, row_type_);
      });
    }
    finite_.assign(static_cast<std::size_t>(queries.rows()), false);
    const std::vector<std::uint32_t> buckets = hashed(queries, monitor);
    query_buckets_ =
        device_.allocate(static_cast<std::int64_t>(buckets.size() * sizeof(std::uint32_t)));
    queue_->write(*query_buckets_, buckets.data());
    queue_->wait();
  }

 private:
  void make_products(MatrixView rows) {
    const LshProductRoom room = room_for_products(run_, row_bytes(rows.dtype(), rows.cols()));
    products_.emplace(device_, LshProducts::Types{metric_, query_type_, rows.dtype(), rows.cols()},
                      room.most_rows(run_.rows.size()));
  }

  // Of each query, table by table. The inner products are those of the kernels of keys, whose sums
  // are the CPU's.
  std::vector<std::uint32_t> hashed(MatrixView queries, const Monitor& monitor) {
    const std::int64_t width = run_.functions.directions.rows();
    std::vector<std::uint32_t> buckets(
        static_cast<std::size_t>(queries.rows() * run_.functions.tables * look_.probes));
    std::vector<double> products(static_cast<std::size_t>(kProjectedQueries * width));
    const auto found = device_.allocate(kProjectedQueries * width * 8);
    const gpu::WaitAtEnd wait(*queue_);
    auto to = buckets.begin();
    for (std::int64_t first = 0; first < queries.rows(); first += kProjectedQueries) {
      monitor.check();
      const std::int64_t count = std::min(kProjectedQueries, queries.rows() - first);
      projections_.all(*queue_, {queries_, query_type_, first, count},
                       {kept_->directions, run_.functions.directions.dtype(), 0, width}, *found);
      const std::int64_t bytes = count * width * 8;
      queue_->read(*found, products.data(), {1, bytes, bytes, bytes});
      queue_->wait();
      to = hash(queries, {first, first + count}, products, to);
    }
    return buckets;
  }

  std::vector<std::uint32_t>::iterator hash(MatrixView queries, Range some,
                                            std::span<double> products,
                                            std::vector<std::uint32_t>::iterator to) {
    const DefaultFloats floats;
    const LshFunctions& functions = run_.functions;
    const int key_bits = functions.scheme.bits;
    const int bucket_bits = folded_bits(run_.rows.size(), key_bits);
    const auto width = static_cast<std::size_t>(functions.directions.rows());
    LshProjector projector(query_type_, queries.cols(), metric_, isa_);
    LshQueryHash hashing(functions);
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(look_.probes));
    for (std::int64_t query = some.begin; query < some.end; ++query) {
      const std::span<double> own =
          products.subspan(static_cast<std::size_t>(query - some.begin) * width, width);
      finite_[static_cast<std::size_t>(query)] = projector.load(queries.row(query));
      projector.finish(own);
      for (std::int64_t table = 0; table < functions.tables; ++table) {
        hashing.keys(own, table, keys);
        for (const std::uint64_t key : keys) *to++ = folded_bucket(key, key_bits, bucket_bits);
      }
    }
    return to;
  }

  std::uint32_t list(Range queries, Range rows, const PlaceList& to) override {
    queue_->fill(*wrong_, 0);
    kept_->buckets.short_list(*queue_,
                              {.buckets = *query_buckets_,
                               .probes = look_.probes,
                               .first_query = queries.begin,
                               .queries = queries.size(),
                               .first_row = rows.begin,
                               .rows = rows.size(),
                               .once = look_.tiles},
                              *marks_, to, *wrong_);
    return read_listed(to, *wrong_, run_.rows.size());
  }
  Marked marked() const override {
    return {*marks_, DeviceBuckets::mark_bytes(run_.rows.size()) / 4, 0};
  }

  void make_keys(Range queries, Range rows) override {
    keys_.of_pairs(*queue_, {queries_, query_type_, queries.begin, queries.size()},
                   {kept_->rows, row_type_, rows.begin, rows.size()}, *list_);
  }
  gpu::Queue& queue() override { return *queue_; }

  gpu::Device& device_;
  const LshRun& run_;
  LshLook look_;
  MetricSpec metric_;
  DType query_type_;
  DType row_type_ = DType::f32;
  Isa isa_;
  KeyStep keys_;
  KeyStep projections_;
  std::shared_ptr<const LshDeviceRows> kept_;
  gpu::ArrayTile queries_{};
  std::unique_ptr<gpu::Buffer> query_buckets_;
  std::unique_ptr<gpu::Buffer> marks_;
  std::unique_ptr<gpu::Buffer> wrong_;
  // The last: what it still has to do reads and writes the others.
  std::unique_ptr<gpu::Queue> queue_;
};

class LshDeviceFilterMaker final : public FilterMaker {
 public:
  LshDeviceFilterMaker(const LshRun& run, const LshLook& look, MetricSpec metric, DType queries,
                       const Context& context)
      : search_(run, look, metric, queries, context),
        filter_(search_, device_filter_name(run, look)) {}

  void take_queries(const Piece& queries, const Piece& rows, int /*threads*/,
                    Monitor& monitor) override {
    search_.take_rows(rows.view);
    search_.take_queries(queries.view, monitor);
    filter_.start(queries.first);
  }
  TakenRows take_rows(const Piece& rows, int /*threads*/, Monitor& /*monitor*/) override {
    filter_.take(rows);
    return {filter_, rows.view.rows()};
  }
  std::string name() const override { return filter_.name(); }

 private:
  LshDeviceSearch search_;
  LshDeviceFilter filter_;
};

}  // namespace

LshStay lsh_stay(std::span<const LshRun* const> runs, const LshLook& look, std::int64_t row_bytes,
                 const Context& context) {
  const gpu::Opened opened = gpu::open_device(context.device);
  std::int64_t beside = 0;
  for (const LshRun* const run : runs) {
    beside = std::max(beside, searching_bytes(*run, look.tiles, row_bytes) +
                                  block_queries(*run, look.tiles) * query_bytes(*run, look));
  }
  LshStay stay{.left = lsh_device_limit(opened.device, context)};
  for (const LshRun* const run : runs) {
    std::int64_t bytes = run->rows.size() * row_bytes;
    std::optional<std::int64_t> marks = 0;
    if (has_lists(*run)) {
      marks = bytes_to_mark(*run, look.tiles);
    } else {
      bytes += DeviceBuckets::bytes(buckets_of(*run)) + direction_bytes(*run);
    }
    if (!marks || bytes + std::max(beside, *marks) > stay.left) {
      run->copies.forget(&opened.device);  // of a search that had more room
      continue;
    }
    beside = std::max(beside, *marks);
    stay.runs.push_back(run);
    stay.left -= bytes;
  }
  return stay;
}

LshDevice::LshDevice(const LshRun& run, const LshLook& look, bool stays, const Context& context)
    : run_(run), look_(look), stays_(stays), context_(context) {
  const gpu::Opened opened = gpu::open_device(context.device);
  if (!opened.device.facts().has_float64) {
    fail(ErrorCode::unsupported, "keys are float64, which {} lacks: search on another", opened.id);
  }
}

void LshDevice::add_to(SearchShape& shape) const {
  if (!stays_ || has_lists(run_)) {
    return add_lsh_lists_to(shape, {run_, look_, stays_, context_});
  }
  const gpu::Opened opened = gpu::open_device(context_.device);
  const std::int64_t rows = run_.rows.size();
  const std::int64_t limit = lsh_device_limit(opened.device, context_);
  const std::int64_t searching = searching_bytes(run_, look_.tiles, shape.base_row_bytes);
  const std::int64_t query = query_bytes(run_, look_);
  const std::int64_t queries = block_queries(run_, look_.tiles);
  if (searching + query > limit) {
    fail(ErrorCode::memory_limit,
         "a query of lsh takes {} bytes of {}, and beside the rows and tables it has {}: raise its "
         "limit, or leave the device out",
         searching + query, opened.id, limit);
  }
  shape.most_batch = (limit - searching) / query;
  shape.tiles = TileShape{.most_queries = queries,
                          .most_rows = rows,
                          .most_pairs = queries * rows,
                          .most_listed = kMostLshPairs,
                          .listed_bytes = kFoundHostBytes,
                          .first_rows = rows,
                          .most_row_parts = 1,
                          .keep_queries_together = true};
  shape.threads = 1;  // who asks the device
  shape.query_filter_bytes =
      run_.functions.tables * look_.probes * static_cast<std::int64_t>(sizeof(std::uint32_t)) +
      (look_.tiles ? kQueryHostBytes : 0);
  shape.fixed_bytes += kProjectedQueries * run_.functions.directions.rows() *
                       static_cast<std::int64_t>(sizeof(double));
}

std::unique_ptr<FilterMaker> LshDevice::make(MetricSpec metric, DType queries) const {
  if (!stays_ || has_lists(run_)) {
    return make_lsh_lists(gpu::open_device(context_.device).device, {run_, look_, stays_, context_},
                          metric, queries);
  }
  return std::make_unique<LshDeviceFilterMaker>(run_, look_, metric, queries, context_);
}

}  // namespace nearfield
