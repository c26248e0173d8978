// Bucket tables made on the device that NEARFIELD_TEST_DEVICE names: those of the CPU.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/index.hpp>

#include "hash/table_maker.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/index/bit_codes.hpp"

namespace nearfield {
namespace {

using test::bits_spec;
using test::expect_error;
using test::near_codes;

class DeviceBucketTableTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const device = std::getenv("NEARFIELD_TEST_DEVICE");
    if (device == nullptr) GTEST_SKIP() << "no device: name one in NEARFIELD_TEST_DEVICE";
    device_ = device;
  }

  static void expect_same(const BucketTable& made, const BucketTable& expected) {
    ASSERT_TRUE(std::ranges::equal(made.view().starts(), expected.view().starts()));
    ASSERT_TRUE(std::ranges::equal(made.view().rows(), expected.view().rows()));
  }

  // Every third bit, from the last on.
  static std::vector<std::uint32_t> positions(int bits, std::int64_t cols) {
    std::vector<std::uint32_t> positions;
    for (int i = 0; i < bits; ++i) {
      positions.push_back(static_cast<std::uint32_t>(cols - 1 - 3 * i));
    }
    return positions;
  }

  std::string device_;
};

TEST_F(DeviceBucketTableTest, AreThoseOfTheCpu) {
  const Context on_cpu;
  const Monitor monitor(on_cpu, 1);
  for (const std::int64_t rows : {1, 63, 4'096, 4'097, 70'001}) {
    const Matrix codes = near_codes(rows, 133, 1);
    TableMaker device({.device = device_}, 133);
    TableMaker cpu(on_cpu, 133);
    for (const int bits : {1, 4, 8, 9, 16, 17, 23}) {
      SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(rows) + " rows");
      std::vector<std::uint8_t> made_codes(static_cast<std::size_t>(rows));
      std::vector<std::uint8_t> codes_of_cpu(static_cast<std::size_t>(rows));
      const bool bytes = bits <= 8;
      expect_same(
          device.make(codes, positions(bits, 133), bytes ? made_codes.data() : nullptr, monitor),
          cpu.make(codes, positions(bits, 133), bytes ? codes_of_cpu.data() : nullptr, monitor));
      EXPECT_EQ(made_codes, codes_of_cpu);
    }
  }
}

TEST_F(DeviceBucketTableTest, AreSharedAndComeInPieces) {
  const Context on_cpu;
  const Monitor monitor(on_cpu, 1);
  const Matrix codes = near_codes(300'007, 64, 2);
  const BucketTable expected =
      TableMaker(on_cpu, 64).make(codes, positions(4, 64), nullptr, monitor);
  const Context shared{.threads = 2, .device = device_ + ",cpu"};
  expect_same(TableMaker(shared, 64).make(codes, positions(4, 64), nullptr, monitor), expected);
  const Context limited{.device = device_, .device_memory_limit = 1'000'000};
  expect_same(TableMaker(limited, 64).make(codes, positions(4, 64), nullptr, monitor), expected);
  const auto make_many = [&] {
    TableMaker(limited, 64).make(codes, positions(17, 64), nullptr, monitor);
  };
  expect_error(make_many, ErrorCode::memory_limit, {"2^17 buckets", "leave the device out"});
}

TEST_F(DeviceBucketTableTest, AnIndexIsBuiltThere) {
  const Matrix rows = near_codes(9'037, 64, 3);
  const Matrix queries = near_codes(20, 64, 3);
  for (const std::string family :
       {"ewh,tables=4,bits=4", "ewh", "mih", "auto", "auto,recall=0.9"}) {
    SCOPED_TRACE(family);
    Index made(bits_spec(family, 64));
    made.add(rows.view().slice(0, 5'000), {.device = device_});
    made.add(rows.view().slice(5'000, 4'037), {.device = device_ + ",cpu"});
    Index expected(bits_spec(family, 64));
    expected.add(rows.view().slice(0, 5'000));
    expected.add(rows.view().slice(5'000, 4'037));
    EXPECT_EQ(made.search(queries, {.k = 5}).ids, expected.search(queries, {.k = 5}).ids);
  }
  Index flat(bits_spec("flat", 64));
  expect_error([&] { flat.add(rows, {.device = device_}); }, ErrorCode::unsupported, {"adding"});
}

}  // namespace
}  // namespace nearfield
