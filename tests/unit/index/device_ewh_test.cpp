// Error-weighted hashing on the device that NEARFIELD_TEST_DEVICE names: the answers of the CPU.
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/index.hpp>

#include "core/monitor.hpp"
#include "device/gpu/open.hpp"
#include "index/ewh/ewh_parameters.hpp"
#include "index/ewh/ewh_tables.hpp"
#include "index/ewh/gpu/ewh_device.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/index/bit_codes.hpp"
#include "tests/unit/index/small_parts.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::bits_spec;
using test::expect_error;
using test::flip;
using test::near_codes;

class DeviceEwhTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const device = std::getenv("NEARFIELD_TEST_DEVICE");
    if (device == nullptr) GTEST_SKIP() << "no device: name one in NEARFIELD_TEST_DEVICE";
    device_ = device;
  }

  Context on_device() const {
    Context context;
    context.device = device_;
    return context;
  }

  void expect_as_on_cpu(const Index& index, MatrixView queries, const Context& context,
                        const IdFilter& filter = {}) {
    for (const std::int64_t k : {1, 10, 300}) {
      const Neighbors found = index.search(queries, {.k = k, .filter = filter}, context);
      const Neighbors expected = index.search(queries, {.k = k, .filter = filter});
      ASSERT_EQ(found.ids, expected.ids) << k;
      ASSERT_EQ(found.keys, expected.keys) << k;
      ASSERT_EQ(found.counts, expected.counts) << k;
      ASSERT_EQ(found.exact, expected.exact);
      ASSERT_EQ(found.stats.plan.expected_recall, expected.stats.plan.expected_recall);
      ASSERT_NE(found.stats.plan.device.find(device_.substr(0, device_.find(':'))),
                std::string::npos)
          << found.stats.plan.device;
    }
    const Ranges found = index.within(queries, {.radius = 20, .filter = filter}, context);
    const Ranges expected = index.within(queries, {.radius = 20, .filter = filter});
    ASSERT_EQ(found.offsets, expected.offsets);
    ASSERT_EQ(found.ids, expected.ids);
    ASSERT_EQ(found.keys, expected.keys);
  }

  std::string device_;
};

const std::vector<std::string> kDeviceFamilies{"ewh", "ewh,tables=4,bits=4",
                                               "ewh,tables=5,bits=10,seed=9",
                                               "ewh,tables=8,bits=6,errors=0,threshold=1"};

TEST_F(DeviceEwhTest, AnswersAsTheCpu) {
  for (const std::int64_t cols : {64, 133, 512}) {
    const Matrix rows = near_codes(9'037, cols, 1);  // the last have no tables
    Matrix queries = near_codes(21, cols, 1);
    for (std::int64_t i = 0; i < queries.rows(); ++i) flip(queries.row(i), i % 5);
    for (const std::string& family : kDeviceFamilies) {
      SCOPED_TRACE(family + " of " + std::to_string(cols));
      Index index(bits_spec(family, cols));
      index.add(rows.view().slice(0, 6'400));
      index.add(rows.view().slice(6'400, rows.rows() - 6'400));
      ASSERT_NO_FATAL_FAILURE(expect_as_on_cpu(index, queries, on_device()));
      ASSERT_NO_FATAL_FAILURE(expect_as_on_cpu(index, queries.view().slice(3, 1), on_device()));
      std::vector<std::int64_t> ids;
      for (std::int64_t id = 0; id < rows.rows(); id += 3) ids.push_back(id);
      ASSERT_NO_FATAL_FAILURE(
          expect_as_on_cpu(index, queries, on_device(), {IdFilter::Kind::without, ids}));
      index.remove(ids);
      ASSERT_NO_FATAL_FAILURE(expect_as_on_cpu(index, queries, on_device()));
    }
  }
}

// What does not fit comes piece by piece.
TEST_F(DeviceEwhTest, KeepsToTheMemoryOfTheDevice) {
  const Matrix rows = near_codes(8'192, 256, 2);
  const MatrixView queries = rows.view().slice(7, 9);
  for (const std::string& family : kDeviceFamilies) {
    Index index(bits_spec(family, 256));
    index.add(rows);
    for (const std::int64_t limit : {200'000, 500'000, 4'000'000}) {
      Context context = on_device();
      context.device_memory_limit = limit;
      ASSERT_NO_FATAL_FAILURE(expect_as_on_cpu(index, queries, context)) << family << " " << limit;
    }
    Context none = on_device();
    none.device_memory_limit = 1'000;
    expect_error([&] { index.search(queries, {.k = 1}, none); }, ErrorCode::memory_limit,
                 {"1000 bytes", "64 rows"});
  }
}

TEST_F(DeviceEwhTest, SharesWithTheCpu) {
  const Matrix rows = near_codes((1 << 18) + (1 << 19), 64, 3);
  Index index(bits_spec("ewh,tables=4,bits=4,near=6", 64));
  index.add(rows);
  Context both = on_device();
  both.device += ",cpu";
  both.threads = 2;
  ASSERT_NO_FATAL_FAILURE(expect_as_on_cpu(index, rows.view().slice(0, 1), both));
  const Neighbors found = index.search(rows.view().slice(0, 100), {.k = 3}, both);
  EXPECT_NE(found.stats.plan.note.find("% of the pairs"), std::string::npos);
  EXPECT_EQ(found.ids, index.search(rows.view().slice(0, 100), {.k = 3}).ids);
}

// More than a device has room for at first, and of all queries at once.
TEST_F(DeviceEwhTest, EverythingIsFound) {
  const Matrix rows = near_codes(70'016, 64, 4);
  Index index(bits_spec("ewh,tables=1,bits=4,errors=4,threshold=1", 64));
  index.add(rows);
  const MatrixView queries = rows.view().slice(0, 5);
  const Neighbors found = index.search(queries, {.k = 2'000}, on_device());
  EXPECT_EQ(found.ids, index.search(queries, {.k = 2'000}).ids);
  EXPECT_EQ(found.stats.pairs_verified, 5 * 70'016);
}

// A row that there is not is never scored, nor one of another piece: the device says so, also of
// row 0.
TEST_F(DeviceEwhTest, ATableThatIsWrongIsNoticed) {
  const test::TempFolder folder;
  const Matrix rows = near_codes(3'008, 64, 6);
  Index ewh(bits_spec("ewh,tables=2,bits=10", 64));
  ewh.add(rows);
  const std::string path = folder.path("ewh");
  ewh.save(path);
  std::string bytes = folder.get("ewh");
  Context in_pieces = on_device();
  in_pieces.device_memory_limit = 50'000;
  for (const auto& [byte, context] : {std::pair('\xff', on_device()), {'\0', in_pieces}}) {
    for (std::size_t i = bytes.size() - 4; i < bytes.size(); ++i) bytes[i] = byte;
    std::ofstream(path, std::ios::binary) << bytes;
    const Index opened = Index::open(path);
    expect_error([&] { opened.search(rows, {.k = 1}, context); }, ErrorCode::corrupt_file,
                 {"among the 3008", "build the index again"});
  }
}

TEST_F(DeviceEwhTest, CopiesThatDoNotFitALowerLimitAreLetGo) {
  const Matrix rows = near_codes(3'008, 64, 6);
  const Context context = on_device();
  Context limited = on_device();
  limited.device_memory_limit = 50'000;
  const Monitor monitor(context, 1);
  TableMaker maker(Context{}, 64);
  const auto tables =
      make_ewh_tables(rows, nullptr, parse_ewh(bits_spec("ewh", 64)), maker, monitor);
  const EwhRun& run = *tables->runs().front();
  const void* const device = &gpu::open_device(device_).device;
  int made = 0;
  const auto hold = [&] {
    run.copies.of<int>(device, [&] { return std::make_shared<const int>(++made); });
  };
  hold();
  hold();
  EXPECT_EQ(made, 1);
  const MatrixView of_run = rows.view().slice(run.rows.begin, run.rows.size());
  EwhDevice(limited, device_, 64).find({}, {&run, of_run, {}}, {0, 0}, monitor);
  hold();
  EXPECT_EQ(made, 2);
}

TEST_F(DeviceEwhTest, OtherFamiliesDoNotRunThere) {
  const Matrix rows = near_codes(3'008, 64, 6);
  Index mih(bits_spec("mih", 64));
  mih.add(rows);
  expect_error([&] { mih.search(rows, {.k = 1}, on_device()); }, ErrorCode::unsupported,
               {"does not run on devices"});
  Context cancelled = on_device();
  cancelled.cancel.cancel();
  Index ewh(bits_spec("ewh", 64));
  ewh.add(rows);
  expect_error([&] { ewh.search(rows, {.k = 1}, cancelled); }, ErrorCode::cancelled, {});
}

}  // namespace
}  // namespace nearfield
