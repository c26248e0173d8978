// Local search on the device that NEARFIELD_TEST_DEVICE names: every bit of the CPU, and what the
// reference finds but for rounding.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/quantize.hpp>

#include "code/codebook_update.hpp"
#include "code/gpu/lsq_device.hpp"
#include "code/icm_tables.hpp"
#include "tests/unit/code/code_reference.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

struct CodesFound {
  std::vector<std::uint8_t> codes;
  std::vector<float> costs;
};

class DeviceLsqTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const device = std::getenv("NEARFIELD_TEST_DEVICE");
    if (device == nullptr) GTEST_SKIP() << "no device: name one in NEARFIELD_TEST_DEVICE";
    context_.device = device;
  }

  static const CodeKernels& kernels(int codewords) {
    return code_kernels(default_isa(), codewords);
  }

  // Both, from the same codes on if there are some.
  void expect_as_on_cpu(const Codebooks& books, const LocalSearch& search,
                        const std::vector<float>& rows,
                        const std::vector<std::uint8_t>& codes = {}) {
    const Context cpu;
    Monitor monitor(cpu, 1);
    const std::int64_t count = std::ssize(rows) / books.cols;
    const IcmTables tables(books, kernels(books.codewords), 1, monitor);
    const auto start = codes.empty() ? StartCodes::random : StartCodes::given;
    expected_ = {codes, std::vector<float>(static_cast<std::size_t>(count))};
    expected_.codes.resize(static_cast<std::size_t>(count * books.count));
    CodesFound found = expected_;
    search_codes(tables, kernels(books.codewords), search, rows.data(), count, start,
                 expected_.codes.data(), expected_.costs.data(), 1, monitor);
    LsqDevice device(context_);
    device.load(books, count, monitor);
    device.search(search, rows.data(), count, start, found.codes.data(), found.costs.data(),
                  monitor);
    ASSERT_EQ(found.codes, expected_.codes);
    ASSERT_EQ(found.costs, expected_.costs);
  }

  Context context_;
  CodesFound expected_;
};

// Step by step: without rounds what random codes cost; a round of which nothing is perturbed, of
// one sweep; then all of it. 4 bits and 8, odd columns, more than a block, the last one alone.
TEST_F(DeviceLsqTest, EveryStepHasTheBitsOfTheCpu) {
  for (const int words : {16, 256}) {
    for (const int m : {2, 5, 8, 9}) {
      const std::int64_t cols = 3 + 16 * m;
      const Codebooks books = test::random_codebooks(m, words, cols);
      const auto rows = test::rows_to_code(261, cols);
      SCOPED_TRACE(std::to_string(m) + " codebooks of " + std::to_string(words));
      ASSERT_NO_FATAL_FAILURE(expect_as_on_cpu(books, {.rounds = 0, .seed = 4}, rows));
      ASSERT_NO_FATAL_FAILURE(
          expect_as_on_cpu(books, {.rounds = 1, .sweeps = 1, .perturbed = 0, .seed = 5}, rows));
      const auto before = expected_.codes;
      ASSERT_NO_FATAL_FAILURE(expect_as_on_cpu(
          books, {.rounds = 3, .sweeps = 3, .perturbed = 4, .random_order = true, .seed = 6},
          rows));
      ASSERT_NO_FATAL_FAILURE(expect_as_on_cpu(books, {.rounds = 2, .seed = 7}, rows, before));
      EXPECT_NE(expected_.codes, before);
    }
  }
}

TEST_F(DeviceLsqTest, FindsWhatTheReferenceFindsButForRounding) {
  const Codebooks books = test::random_codebooks(6, 16, 24);
  const auto rows = test::rows_to_code(100, 24);
  const LocalSearch search{.rounds = 4, .sweeps = 3, .perturbed = 2, .seed = 9};
  ASSERT_NO_FATAL_FAILURE(expect_as_on_cpu(books, search, rows));
  int different = 0;
  for (std::int64_t v = 0; v < 100; ++v) {
    std::array<std::uint8_t, 6> codes{};
    test::reference_search(books, search, rows.data() + v * 24, codes.data());
    different += !std::equal(codes.begin(), codes.end(), expected_.codes.begin() + v * 6);
  }
  EXPECT_LE(different, 10);
}

// The most codebooks; rows of one column; rows that are the centre, far from all codewords, or so
// close to each other that squares of what is left are denormal.
TEST_F(DeviceLsqTest, ExtremesHaveTheBitsOfTheCpu) {
  const LocalSearch search{.rounds = 2, .sweeps = 2, .seed = 1};
  ASSERT_NO_FATAL_FAILURE(
      expect_as_on_cpu(test::random_codebooks(64, 16, 9), search, test::rows_to_code(20, 9)));
  const Codebooks narrow = test::random_codebooks(3, 256, 1);
  ASSERT_NO_FATAL_FAILURE(expect_as_on_cpu(narrow, search, {-1e15F, 0, 9, 1e15F, 3e-30F, 9}));
  // Without rounds, which leaves the random codes: -0 has those of 0.
  ASSERT_NO_FATAL_FAILURE(
      expect_as_on_cpu(narrow, {.rounds = 0, .seed = 1}, {0.0F, -0.0F, 4.0F, -0.0F}));
  EXPECT_TRUE(std::equal(expected_.codes.begin(), expected_.codes.begin() + 3,
                         expected_.codes.begin() + 3));
  Codebooks same(2, 16, 4);
  std::fill(same.values.begin(), same.values.end(), 1.5F);
  ASSERT_NO_FATAL_FAILURE(expect_as_on_cpu(same, search, std::vector<float>(8, 3)));
  for (const float size : {1e-21F, 1e14F}) {
    Codebooks books = test::random_codebooks(3, 16, 12);
    std::vector<float> rows = test::rows_to_code(40, 12);
    for (float& value : books.values) value *= size;
    for (float& value : rows) value *= size;
    SCOPED_TRACE(size);
    ASSERT_NO_FATAL_FAILURE(expect_as_on_cpu(books, search, rows));
  }
}

// How often codes meet and the sums of rows: least squares have the bits of the CPU, of more rows
// than a batch, than a block lists, and where the device has room for some only.
TEST_F(DeviceLsqTest, CodebooksAreUpdatedAsOnTheCpu) {
  for (const int words : {16, 256}) {
    const std::int64_t cols = 131;
    const std::int64_t count = words == 16 ? 17'000 : 900;
    const auto rows = test::rows_to_code(count, cols);
    for (const int m : {2, 3}) {
      std::vector<std::uint8_t> codes(static_cast<std::size_t>(count * m));
      Random random(11);
      for (auto& code : codes) {
        // Some codes often, one never.
        code = static_cast<std::uint8_t>(random.below(random.below(words - 1) + 1));
      }
      const Context cpu;
      const Monitor monitor(cpu, 1);
      Codebooks expected = test::random_codebooks(m, words, cols);
      const Codebooks before = expected;
      update_codebooks(rows.data(), count, codes.data(), expected, kernels(words), 1, monitor);
      for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{3'000'000}}) {
        Context context = context_;
        if (limit > 0) context.device_memory_limit = limit;
        LsqDevice device(context);
        Codebooks found = before;
        update_codebooks(rows.data(), count, codes.data(), found, kernels(words), 1, monitor,
                         &device);
        EXPECT_EQ(found.values, expected.values) << m << " of " << words << ", " << limit;
      }
    }
  }
}

class DeviceQuantizerTest : public DeviceLsqTest {
 protected:
  static constexpr std::int64_t kWidth = 20;

  static QuantizerOptions few(int bits) {
    QuantizerOptions options;
    options.codebooks = 3;
    options.bits = bits;
    options.iterations = 2;
    options.train_rounds = 2;
    options.rounds = 3;
    return options;
  }
  static MatrixView view(const std::vector<float>& rows) {
    return {rows.data(), std::ssize(rows) / kWidth, kWidth};
  }
  static std::vector<std::byte> bytes_of(const Matrix& codes) {
    return {codes.row(0), codes.row(0) + codes.rows() * codes.cols()};
  }
};

TEST_F(DeviceQuantizerTest, EncodesAsOnTheCpuWithAnyMemory) {
  const auto rows = test::rows_to_code(700, kWidth);
  for (const int bits : {4, 8}) {
    const Quantizer quantizer = Quantizer::train(view(rows), few(bits));
    const auto expected = bytes_of(quantizer.encode(view(rows)));
    Context context = context_;
    EXPECT_EQ(bytes_of(quantizer.encode(view(rows), context)), expected);
    // Tables, and some rows at a time.
    context.device_memory_limit = bits == 4 ? 20'000 : 1'300'000;
    EXPECT_EQ(bytes_of(quantizer.encode(view(rows), context)), expected);
    context.device_memory_limit = 5'000;
    test::expect_error([&] { quantizer.encode(view(rows), context); }, ErrorCode::memory_limit,
                       {"3 codebooks", "20 columns", "limit is 5000 bytes"});
  }
}

TEST_F(DeviceQuantizerTest, TrainsAsOnTheCpu) {
  const test::TempFolder folder;
  const auto rows = test::rows_to_code(600, kWidth);
  for (const int bits : {4, 8}) {
    for (const auto relaxation : {Relaxation::none, Relaxation::codebooks, Relaxation::rows}) {
      QuantizerOptions options = few(bits);
      options.relaxation = relaxation;
      options.random_order = relaxation == Relaxation::rows;
      const std::string name = std::to_string(bits) + std::string(to_string(relaxation));
      Context context = context_;
      context.seed = 3;
      Context cpu;
      cpu.seed = 3;
      Quantizer::train(view(rows), options, cpu).save(folder.path("cpu" + name));
      Quantizer::train(view(rows), options, context).save(folder.path("device" + name));
      EXPECT_EQ(folder.get("device" + name), folder.get("cpu" + name)) << name;
    }
  }
  Context context = context_;
  context.device_memory_limit = 5'000;
  test::expect_error([&] { Quantizer::train(view(rows), few(8), context); },
                     ErrorCode::memory_limit, {"3 codebooks", "limit is 5000 bytes"});
}

TEST_F(DeviceQuantizerTest, FilesAreEncodedAsOnTheCpu) {
  const test::TempFolder folder;
  const auto rows = test::rows_to_code(300, kWidth);
  const Quantizer quantizer = Quantizer::train(view(rows), few(4));
  const MatrixRows source(view(rows));
  encode_file(quantizer, source, folder.path("cpu.u8bin"));
  encode_file(quantizer, source, folder.path("device.u8bin"), context_);
  EXPECT_EQ(folder.get("device.u8bin"), folder.get("cpu.u8bin"));
}

TEST_F(DeviceQuantizerTest, RefusesAndStops) {
  const auto rows = test::rows_to_code(300, kWidth);
  QuantizerOptions one = few(8);
  one.codebooks = 1;
  test::expect_error([&] { Quantizer::train(view(rows), one).encode(view(rows), context_); },
                     ErrorCode::unsupported, {"2 codebooks or more", "lsq of 1"});
  test::expect_error([&] { Quantizer::train(view(rows), one, context_); }, ErrorCode::unsupported,
                     {"training a quantizer", "2 codebooks or more"});
  const Quantizer quantizer = Quantizer::train(view(rows), few(4));
  Context both = context_;
  both.device += ",cpu";
  test::expect_error([&] { quantizer.encode(view(rows), both); }, ErrorCode::unsupported,
                     {"one device at a time"});
  Context cancelled = context_;
  cancelled.cancel = CancelToken();  // copies of a context share it
  cancelled.cancel.cancel();
  test::expect_error([&] { quantizer.encode(view(rows), cancelled); }, ErrorCode::cancelled, {});
  test::expect_error([&] { Quantizer::train(view(rows), few(4), cancelled); }, ErrorCode::cancelled,
                     {});
  Context watched = context_;
  Progress last;
  watched.progress = [&](const Progress& progress) { last = progress; };
  quantizer.encode(view(rows), watched);
  EXPECT_EQ(last.done, 300);
}

}  // namespace
}  // namespace nearfield
