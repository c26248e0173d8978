// How rows of lsh share the memory of a device with what is found of them, without a device.
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "core/monitor.hpp"
#include "index/lsh/gpu/lsh_lists.hpp"
#include "index/lsh/lsh_tables.hpp"
#include "tests/oracle/data.hpp"
#include "tests/unit/index/short_device.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kListedRows = 8'192;
constexpr std::int64_t kListedProbes = 4;

// Of all rows, those that a search takes at first; 0 where there is no room for the least.
std::int64_t rows_taken(gpu::Device& device, const LshRun& run, MatrixView rows, bool tiles,
                        bool stay) {
  Context context;
  context.device_memory_limit = 1'000'000;  // by which what is found and sent is cut
  Monitor monitor(context, 1);
  const auto maker = make_lsh_lists(device, {run, {kListedProbes, tiles}, stay, context},
                                    Metric::sqeuclidean, rows.dtype());
  try {
    maker->take_queries({rows.slice(0, 128)}, {rows}, 1, monitor);
    return maker->take_rows({rows}, 1, monitor).rows;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::memory_limit);
    return 0;
  }
}

// Rows that are to stay, and have no room beside what compares them, come piece by piece: as many
// at a time as if they had never been to stay.
TEST(LshListsOnADevice, ACopyThatLeavesTooLittleIsDropped) {
  const Matrix rows = data::make_matrix({data::Kind::gaussian, DType::f32, kListedRows, 20, 1});
  const Context context;
  const Monitor monitor(context, 1);
  const auto tables = make_lsh_tables(rows, Metric::sqeuclidean, nullptr,
                                      {.tables = 2, .probes = kListedProbes}, 1, monitor);
  const LshRun& run = *tables->runs().front();
  for (const bool tiles : {false, true}) {
    int in_pieces = 0;
    int at_once = 0;
    for (std::int64_t memory = 300'000; memory < 1'700'000; memory += 20'000) {
      SCOPED_TRACE(memory);
      test::ShortDevice device(memory);
      const std::int64_t taken = rows_taken(device, run, rows, tiles, true);
      EXPECT_EQ(device.left == memory, taken < kListedRows) << "what does not fit does not stay";
      run.copies.forget(&device);
      EXPECT_EQ(taken, rows_taken(device, run, rows, tiles, false));
      EXPECT_EQ(device.left, memory);
      ++(taken < kListedRows ? in_pieces : at_once);
    }
    EXPECT_GT(in_pieces, 10);
    EXPECT_GT(at_once, 10);
  }
}

}  // namespace
}  // namespace nearfield
