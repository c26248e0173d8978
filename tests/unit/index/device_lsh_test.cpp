// Locality-sensitive hashing on a device: the answers of the CPU, to the bit.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/index.hpp>

#include "core/monitor.hpp"
#include "device/gpu/open.hpp"
#include "index/device_copies.hpp"
#include "index/lsh/gpu/lsh_lists.hpp"
#include "index/lsh/lsh_device.hpp"
#include "index/lsh/lsh_tables.hpp"
#include "tests/oracle/data.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/index/same_answers.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::expect_error;

Context on_lsh_device() {
  const char* const name = std::getenv("NEARFIELD_TEST_DEVICE");
  Context context;
  context.device = name != nullptr ? name : "opencl";
  return context;
}

void expect_as_on_cpu(const Index& index, MatrixView queries, const IdFilter& filter = {},
                      const Context& context = on_lsh_device()) {
  for (const std::int64_t k : {1, 10, 3'000}) {
    const SearchOptions options{.k = k, .filter = filter};
    const Neighbors found = index.search(queries, options, context);
    const Neighbors expected = index.search(queries, options);
    test::expect_same_answers(found, expected);
    EXPECT_FALSE(found.exact);
    EXPECT_NE(found.stats.plan.filter.find("on the device"), std::string::npos)
        << found.stats.plan.filter;
    EXPECT_EQ(found.stats.pairs_verified, expected.stats.pairs_verified);
  }
  const RangeOptions near{.radius = 0.9, .filter = filter};
  test::expect_same_answers(index.within(queries, near, context), index.within(queries, near));
}

// An index, and one of the same rows that compares them by tiles.
struct BothLsh {
  BothLsh(const std::string& family, DType dtype, std::int64_t cols,
          Metric metric = Metric::sqeuclidean)
      : pairs({.family = family, .dtype = dtype, .cols = cols, .metric = metric}),
        tiles(
            {.family = family + ",compare=tiles", .dtype = dtype, .cols = cols, .metric = metric}) {
  }

  void add(MatrixView rows) {
    pairs.add(rows);
    tiles.add(rows);
  }
  void remove(std::span<const std::int64_t> ids) {
    pairs.remove(ids);
    tiles.remove(ids);
  }

  Index pairs;
  Index tiles;
};

// Of tiles on the device, what pairs of the CPU answer.
void expect_tiles_as_pairs(const BothLsh& lsh, MatrixView queries, const IdFilter& filter = {},
                           const Context& context = on_lsh_device()) {
  RangeOptions near{.radius = 0, .filter = filter};
  for (const std::int64_t k : {3, 3'000}) {
    const SearchOptions options{.k = k, .filter = filter};
    const Neighbors found = lsh.tiles.search(queries, options, context);
    const Neighbors expected = lsh.pairs.search(queries, options);
    test::expect_same_answers(found, expected);
    EXPECT_FALSE(found.exact);
    EXPECT_NE(found.stats.plan.filter.find("compared by tiles, on the device"), std::string::npos)
        << found.stats.plan.filter;
    EXPECT_LE(found.stats.pairs_verified, expected.stats.pairs_verified);
    if (k > 3) continue;
    for (std::int64_t query = 0; query < expected.queries; ++query) {
      if (expected.counts[static_cast<std::size_t>(query)] < k) continue;
      const auto nearest = static_cast<std::size_t>(k * query);
      near.radius = std::max(near.radius, static_cast<double>(expected.distances[nearest]));
    }
  }
  const Ranges expected = lsh.pairs.within(queries, near);
  EXPECT_GT(std::ssize(expected.ids), 0);
  test::expect_same_answers(lsh.tiles.within(queries, near, context), expected);
}

Context with_limit(std::int64_t bytes) {
  Context context = on_lsh_device();
  context.device_memory_limit = bytes;
  return context;
}

TEST(DeviceLsh, AnswersAsTheCpu) {
  const test::TempFolder folder;
  for (const auto& [family, dtype, metric] :
       {std::tuple("lsh,tables=4,probes=6", DType::u8, Metric::sqeuclidean),
        {"lsh,tables=3,probes=9,bits=40", DType::f32, Metric::cosine},
        {"lsh,hash=gaussian,each=2,bits=8,tables=2", DType::f32, Metric::euclidean},
        {"lsh,hash=floor,bits=12,tables=3,width=300", DType::f16, Metric::sqeuclidean},
        {"lsh,hash=e8,bits=32,tables=2,width=400", DType::f64, Metric::cosine}}) {
    SCOPED_TRACE(family);
    const Matrix rows = data::make_matrix({data::Kind::gaussian, dtype, 4'096, 20, 1});
    const Matrix queries = data::make_matrix({data::Kind::gaussian, dtype, 150, 20, 2});
    Index index({.family = family, .dtype = dtype, .cols = 20, .metric = metric});
    index.add(rows);
    expect_as_on_cpu(index, queries);
    expect_as_on_cpu(index, rows.view().slice(5, 1));
    std::vector<std::int64_t> ids;
    for (std::int64_t id = 0; id < 4'096; id += 3) ids.push_back(id);
    expect_as_on_cpu(index, queries, {IdFilter::Kind::without, ids});
    index.remove(ids);
    expect_as_on_cpu(index, queries);
    index.save(folder.path("index"));
    expect_as_on_cpu(Index::open(folder.path("index")), queries);
  }
}

TEST(DeviceLsh, TilesAnswerAsPairs) {
  for (const auto& [family, dtype, metric] :
       {std::tuple("lsh,tables=4,probes=6", DType::u8, Metric::sqeuclidean),
        {"lsh,tables=2,probes=9,bits=6", DType::i8, Metric::euclidean},
        {"lsh,tables=4,probes=6", DType::u8, Metric::cosine},
        {"lsh,tables=3,probes=9,bits=40", DType::f32, Metric::cosine},
        {"lsh,hash=gaussian,each=2,bits=8,tables=2", DType::f32, Metric::euclidean},
        {"lsh,hash=floor,bits=12,tables=3,width=300", DType::f16, Metric::sqeuclidean},
        {"lsh,hash=e8,bits=32,tables=2,width=400", DType::f64, Metric::cosine}}) {
    SCOPED_TRACE(std::string(family) + " of " + std::string(to_string(dtype)));
    const Matrix rows = data::make_matrix({data::Kind::gaussian, dtype, 4'096, 20, 1});
    const Matrix queries = data::make_matrix({data::Kind::gaussian, dtype, 140, 20, 2});
    BothLsh lsh(family, dtype, 20, metric);
    lsh.add(rows);
    expect_tiles_as_pairs(lsh, queries);
    expect_tiles_as_pairs(lsh, rows.view().slice(5, 1));
    std::vector<std::int64_t> ids;
    for (std::int64_t id = 0; id < 4'096; id += 3) ids.push_back(id);
    expect_tiles_as_pairs(lsh, queries, {IdFilter::Kind::without, ids});
    lsh.remove(ids);
    expect_tiles_as_pairs(lsh, queries);
  }
}

// All rows are in one of two buckets: what has thresholds is not found again, of any type.
TEST(DeviceLsh, TilesVerifyFewOfCrowdedBuckets) {
  for (const DType dtype : {DType::u8, DType::f32}) {
    SCOPED_TRACE(to_string(dtype));
    const Matrix rows = data::make_matrix({data::Kind::uniform, dtype, 8'192, 30, 3});
    BothLsh lsh("lsh,bits=1,tables=1,probes=2", dtype, 30);
    lsh.add(rows);
    const MatrixView queries = rows.view().slice(0, 200);
    expect_tiles_as_pairs(lsh, queries);
    const Neighbors all = lsh.pairs.search(queries, {.k = 1});
    const Neighbors few = lsh.tiles.search(queries, {.k = 1}, on_lsh_device());
    EXPECT_EQ(all.stats.pairs_verified, 200 * 8'192);
    EXPECT_LT(few.stats.pairs_verified, 200 * 8'192 / 6);
  }
}

// All rows are in one of two buckets: more pairs than there is room for at a time.
TEST(DeviceLsh, MoreThanThereIsRoomForComesInPieces) {
  const Matrix rows = data::make_matrix({data::Kind::uniform, DType::f32, 8'192, 4, 3});
  Index index({.family = "lsh,bits=1,tables=1,probes=2", .dtype = DType::f32, .cols = 4});
  index.add(rows);
  expect_as_on_cpu(index, rows.view().slice(0, 100));
}

// Rows that do not fit come piece by piece, and with them the lists of their buckets, which sorted
// keys always send.
TEST(DeviceLsh, WhatIsLargerThanTheDeviceComesInPieces) {
  for (const std::string match : {"table", "sort"}) {
    const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 8'256, 20, 6});
    const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 70, 20, 7});
    Index index(
        {.family = "lsh,tables=4,probes=6,match=" + match, .dtype = DType::f32, .cols = 20});
    index.add(rows.view().slice(0, 6'016));
    index.add(rows.view().slice(6'016, 2'240));
    std::vector<std::int64_t> ids;
    for (std::int64_t id = 0; id < rows.rows(); id += 5) ids.push_back(id);
    for (const std::int64_t limit : {20'000, 300'000, 1'000'000, 50'000'000}) {
      SCOPED_TRACE(match + " within " + std::to_string(limit));
      expect_as_on_cpu(index, queries, {}, with_limit(limit));
      expect_as_on_cpu(index, queries, {IdFilter::Kind::without, ids}, with_limit(limit));
    }
    expect_as_on_cpu(index, queries);
    // All rows in one of two buckets: more than is sent or found at a time.
    Index crowded({.family = "lsh,bits=1,tables=1,probes=2,match=" + match, .cols = 20});
    crowded.add(rows);
    for (const std::int64_t limit : {20'000, 1'000'000}) {
      expect_as_on_cpu(crowded, queries, {}, with_limit(limit));
    }
  }
}

TEST(DeviceLsh, TilesOfWhatIsLargerThanTheDeviceComeInPieces) {
  for (const std::string match : {"table", "sort"}) {
    const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 8'256, 20, 6});
    const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 140, 20, 7});
    BothLsh lsh("lsh,tables=4,probes=6,match=" + match, DType::f32, 20);
    lsh.add(rows.view().slice(0, 6'016));
    lsh.add(rows.view().slice(6'016, 2'240));
    std::vector<std::int64_t> ids;
    for (std::int64_t id = 0; id < rows.rows(); id += 5) ids.push_back(id);
    for (const std::int64_t limit : {150'000, 1'000'000, 50'000'000}) {
      SCOPED_TRACE(match + " within " + std::to_string(limit));
      expect_tiles_as_pairs(lsh, queries, {}, with_limit(limit));
      expect_tiles_as_pairs(lsh, queries, {IdFilter::Kind::without, ids}, with_limit(limit));
    }
    // All rows in one of two buckets: more than is sent, gathered or found at a time.
    BothLsh crowded("lsh,bits=1,tables=1,probes=2,match=" + match, DType::f32, 20);
    crowded.add(rows);
    expect_tiles_as_pairs(crowded, queries.view().slice(0, 20), {}, with_limit(150'000));
  }
}

// Runs of a million rows and two, as far as one can see from outside: their tables are of few.
struct LongRuns {
  explicit LongRuns(bool sorted) {
    const LshParameters parameters{.tables = 1, .probes = kProbes, .sorted = sorted};
    const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 4'096, kCols, 8});
    const Context context;
    const Monitor monitor(context, 1);
    few = make_lsh_tables(rows, Metric::sqeuclidean, nullptr, parameters, 1, monitor);
    first.rows = {0, 1'000'000};
    second.rows = {1'000'000, 3'000'000};
    for (LshRun* const run : {&first, &second}) {
      run->functions = few->runs().front()->functions;
      run->tables = few->runs().front()->tables;
    }
  }
  LshStay stay(const Context& context, bool tiles = false) const {
    return lsh_stay(runs, {kProbes, tiles}, kRowBytes, context);
  }

  static constexpr std::int64_t kProbes = 6;
  static constexpr std::int64_t kCols = 2;
  static constexpr std::int64_t kRowBytes = 8;
  std::shared_ptr<const LshTables> few;
  LshRun first;
  LshRun second;
  std::vector<const LshRun*> runs{&first, &second};
};

// Or else they would be counted, and come piece by piece all the same.
TEST(DeviceLsh, SortedRunsStayOnlyWhereAllTheirRowsAreMarkedAtOnce) {
  const LongRuns sorted(true);
  for (const bool tiles : {false, true}) {
    std::size_t most = 0;
    std::size_t least = sorted.runs.size();
    for (std::int64_t limit = 1'000'000; limit < 300'000'000; limit += limit / 40) {
      const LshStay stay = sorted.stay(with_limit(limit), tiles);
      most = std::max(most, stay.runs.size());
      least = std::min(least, stay.runs.size());
      for (const LshRun* const run : stay.runs) {
        const Context left = with_limit(stay.left);
        SearchShape shape;
        shape.cols = LongRuns::kCols;
        shape.base_row_bytes = LongRuns::kRowBytes;
        LshDevice(*run, {LongRuns::kProbes, tiles}, true, left).add_to(shape);
        EXPECT_GE(shape.most_chunk, run->rows.size()) << limit;
      }
    }
    EXPECT_EQ(least, 0u);
    EXPECT_EQ(most, 2u);
  }
}

TEST(DeviceLsh, CopiesThatDoNotFitALowerLimitAreLetGo) {
  for (const bool sorted : {false, true}) {
    const LongRuns lsh(sorted);
    const void* const device = &gpu::open_device(on_lsh_device().device).device;
    int made = 0;
    const auto hold = [&] {
      for (const LshRun* const run : lsh.runs) {
        run->copies.of<int>(device, [&] { return std::make_shared<const int>(++made); });
      }
    };
    hold();
    EXPECT_EQ(lsh.stay(on_lsh_device()).runs.size(), lsh.runs.size());
    hold();
    EXPECT_EQ(made, std::ssize(lsh.runs));
    EXPECT_TRUE(lsh.stay(with_limit(20'000)).runs.empty());
    hold();
    EXPECT_EQ(made, 2 * std::ssize(lsh.runs));
  }
}

// Of one run there may be several kinds.
TEST(DeviceLsh, CopiesAreKnownByTheirType) {
  const DeviceCopies copies;
  const int device = 0;
  EXPECT_EQ(*copies.of<int>(&device, [] { return std::make_shared<const int>(3); }), 3);
  EXPECT_EQ(*copies.of<double>(&device, [] { return std::make_shared<const double>(0.5); }), 0.5);
  EXPECT_EQ(*copies.of<int>(&device, [] { return std::make_shared<const int>(4); }), 3);
  copies.forget(&device);
  EXPECT_EQ(*copies.of<int>(&device, [] { return std::make_shared<const int>(5); }), 5);
}

using KernelRuns = std::map<std::string, int, std::less<>>;

class CountedQueue final : public gpu::Queue {
 public:
  CountedQueue(std::unique_ptr<gpu::Queue> queue, KernelRuns& runs)
      : queue_(std::move(queue)), runs_(runs) {}

  void write(gpu::Buffer& to, const void* from, const gpu::CopiedRows& rows) override {
    queue_->write(to, from, rows);
  }
  void read(const gpu::Buffer& from, void* to, const gpu::CopiedRows& rows) override {
    queue_->read(from, to, rows);
  }
  void copy(gpu::Buffer& to, const gpu::Buffer& from, const gpu::CopiedRows& rows) override {
    queue_->copy(to, from, rows);
  }
  void fill(gpu::Buffer& to, std::uint8_t byte) override { queue_->fill(to, byte); }
  int threads(std::string_view module) const override { return queue_->threads(module); }
  void run(const gpu::Kernel& kernel, const gpu::Grid& grid,
           std::span<const gpu::Argument> arguments) override {
    ++runs_[std::string(kernel.entry)];
    queue_->run(kernel, grid, arguments);
  }
  void wait() override { queue_->wait(); }
  void wait_for(std::uintptr_t stream) override { queue_->wait_for(stream); }

 private:
  std::unique_ptr<gpu::Queue> queue_;
  KernelRuns& runs_;
};

// Another one, and how often each kernel was run.
class CountedDevice final : public gpu::Device {
 public:
  explicit CountedDevice(gpu::Device& device) : device_(device) {}

  const gpu::Facts& facts() const override { return device_.facts(); }
  std::unique_ptr<gpu::Buffer> allocate(std::int64_t bytes) override {
    return device_.allocate(bytes);
  }
  std::unique_ptr<gpu::Memory> wrap(std::uintptr_t address, std::int64_t bytes) override {
    return device_.wrap(address, bytes);
  }
  std::unique_ptr<gpu::Memory> map(const void* from, std::int64_t bytes) override {
    return device_.map(from, bytes);
  }
  std::unique_ptr<gpu::Queue> make_queue(std::uintptr_t stream) override {
    return std::make_unique<CountedQueue>(device_.make_queue(stream), runs);
  }
  std::vector<gpu::ModuleUse> module_uses() const override { return device_.module_uses(); }

  KernelRuns runs;

 private:
  gpu::Device& device_;
};

// Rows that are all met by every query, which never has a threshold.
struct CrowdedLists {
  CrowdedLists(MatrixView all, bool tiles, const Context& how)
      : rows(all), context(how), device(gpu::open_device(how.device).device) {
    const Monitor monitor(context, 1);
    tables = make_lsh_tables(rows, Metric::sqeuclidean, nullptr,
                             {.bits = 1, .tables = 1, .probes = 2}, 1, monitor);
    maker = make_lsh_lists(device, {*tables->runs().front(), {2, tiles}, true, context},
                           Metric::sqeuclidean, rows.dtype());
  }

  // A batch of queries, as a scan asks for what they have found: how often.
  int ask() {
    constexpr std::int64_t kQueries = 64;
    Monitor monitor(context, 1);
    maker->take_queries({rows.slice(0, kQueries)}, {rows}, 1, monitor);
    const Filter& filter = maker->take_rows({rows}, 1, monitor).filter;
    const std::vector<double> thresholds(kQueries, std::numeric_limits<double>::infinity());
    Candidates found;
    int asked = 0;
    for (std::int64_t row = 0; row < rows.rows(); ++asked) {
      filter.survivors({{0, kQueries}, {row, rows.rows()}}, thresholds, found);
      EXPECT_EQ(found.size(), found.block().pairs());
      row = found.block().rows.end;
    }
    return asked;
  }

  MatrixView rows;
  Context context;
  CountedDevice device;
  std::shared_ptr<const LshTables> tables;
  std::unique_ptr<FilterMaker> maker;
};

// All rows are listed at first, to count them, and then each once.
TEST(DeviceLsh, APieceIsListedOnce) {
  const Matrix rows = data::make_matrix({data::Kind::uniform, DType::f32, 8'192, 20, 9});
  for (const bool tiles : {false, true}) {
    SCOPED_TRACE(tiles ? "tiles" : "pairs");
    CrowdedLists lsh(rows, tiles, on_lsh_device());
    const int asked = lsh.ask();
    EXPECT_GT(asked, 2);
    EXPECT_EQ(lsh.device.runs["list_pieces"], asked + 1);
  }
}

TEST(DeviceLsh, TilesCompareAPieceOnceAndMakeNoKeyTwice) {
  for (const DType dtype : {DType::u8, DType::f32}) {
    const Matrix rows = data::make_matrix({data::Kind::uniform, dtype, 8'192, 20, 9});
    const bool bytes = dtype == DType::u8;
    for (const Context& context : {on_lsh_device(), with_limit(8'000'000)}) {
      SCOPED_TRACE(to_string(dtype));
      CrowdedLists lsh(rows, true, context);
      const int asked = lsh.ask();
      EXPECT_EQ(lsh.device.runs["close_met_products"], asked);
      EXPECT_EQ(lsh.device.runs["pair_keys"], bytes ? 0 : asked);
      lsh.ask();
      EXPECT_EQ(lsh.device.runs["largest_value"], bytes ? 0 : 3)
          << "of two batches of queries, and of rows once";
    }
  }
}

TEST(DeviceLsh, WhatIsNotFiniteIsNeverFound) {
  Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, 2'048, 6, 4});
  reinterpret_cast<float*>(rows.row(3))[2] = std::numeric_limits<float>::quiet_NaN();
  reinterpret_cast<float*>(rows.row(4))[2] = std::numeric_limits<float>::infinity();
  reinterpret_cast<float*>(rows.row(5))[2] = std::numeric_limits<float>::max();
  BothLsh lsh("lsh,bits=2,tables=2,probes=4", DType::f32, 6);
  lsh.add(rows);
  const MatrixView queries = rows.view().slice(0, 10);
  for (const Context& context : {on_lsh_device(), with_limit(150'000)}) {
    expect_as_on_cpu(lsh.pairs, queries, {}, context);
    expect_tiles_as_pairs(lsh, queries, {}, context);
  }
}

TEST(DeviceLsh, SaysWhatItCannotDo) {
  const test::TempFolder folder;
  const Matrix rows = data::make_matrix({data::Kind::uniform, DType::u8, 3'008, 6, 5});
  const MatrixView query = rows.view().slice(0, 1);
  for (const std::string family : {"lsh,bits=2,tables=2,probes=4", "lsh,match=sort,tables=2",
                                   "lsh,bits=2,tables=2,probes=4,compare=tiles"}) {
    SCOPED_TRACE(family);
    Index index({.family = family, .dtype = DType::u8, .cols = 6});
    index.add(rows);
    expect_error([&] { index.search(query, {.k = 1}, with_limit(2'000)); }, ErrorCode::memory_limit,
                 {"2000", "raise its limit"});
  }
  BothLsh lsh("lsh,bits=2,tables=2,probes=4", DType::u8, 6);
  lsh.add(rows);
  for (Index* const index : {&lsh.pairs, &lsh.tiles}) {
    index->save(folder.path("lsh"));
    std::string bytes = folder.get("lsh");
    for (std::size_t i = bytes.size() - 4; i < bytes.size(); ++i) bytes[i] = '\xff';
    folder.put("lsh", bytes);
    const Index changed = Index::open(folder.path("lsh"));
    for (const Context& context : {on_lsh_device(), with_limit(150'000)}) {
      expect_error([&] { changed.search(query, {.k = 1}, context); }, ErrorCode::corrupt_file,
                   {"among the 3008", "build the index again"});
    }
  }
}

}  // namespace
}  // namespace nearfield
