// Which device a context names, and what happens where it is of no use.
#include "device/device_name.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using test::expect_error;

const std::vector<float> kValues{0, 0, 1, 0, 0, 2, 3, 3};
const MatrixView kRows(kValues.data(), 4, 2);
const IndexSpec kSpec{.dtype = DType::f32, .cols = 2};

Context on(const std::string& device) {
  Context context;
  context.device = device;
  return context;
}

using Call = std::function<void(const Context&)>;

// Every search.
std::vector<std::pair<std::string, Call>> searches() {
  static const MatrixRows rows(kRows);
  return {
      {"knn", [](const Context& c) { knn(rows, rows, {}, c); }},
      {"plan_knn", [](const Context& c) { plan_knn(rows, rows, {}, c); }},
      {"graph", [](const Context& c) { graph(rows, {}, c); }},
      {"plan_graph", [](const Context& c) { plan_graph(rows, {}, c); }},
      {"within", [](const Context& c) { within(rows, rows, {.radius = 1}, c); }},
      {"plan_within", [](const Context& c) { plan_within(rows, rows, {.radius = 1}, c); }},
      {"pairs", [](const Context& c) { pairs(rows, {.count = 1}, c); }},
      {"pairs of two", [](const Context& c) { pairs(rows, rows, {.count = 1}, c); }},
      {"plan_pairs", [](const Context& c) { plan_pairs(rows, {.count = 1}, c); }},
      {"mutual", [](const Context& c) { mutual(rows, {}, c); }},
      {"mutual of two", [](const Context& c) { mutual(rows, rows, {}, c); }},
      {"plan_mutual", [](const Context& c) { plan_mutual(rows, {}, c); }},
      {"cursor", [](const Context& c) { KnnCursor(rows, rows, {}).next(1, c); }},
  };
}

// Every call with a context that has no kernels for devices.
std::vector<std::pair<std::string, Call>> calls_of_the_cpu() {
  static const MatrixRows rows(kRows);
  static const IdTable ids{4, 1, {0, 1, 2, 3}};
  return {
      {"prepared", [](const Context& c) { PreparedRows(kRows, Metric::sqeuclidean, c); }},
      {"recall",
       [](const Context& c) { recall(ids, ids, {1}, rows, rows, Metric::sqeuclidean, c); }},
      {"add", [](const Context& c) { Index(kSpec).add(kRows, c); }},
      {"add with ids", [](const Context& c) { Index(kSpec).add(kRows, ids.ids, c); }},
      {"upsert", [](const Context& c) { Index(kSpec).upsert(kRows, ids.ids, c); }},
      {"compact", [](const Context& c) { Index(kSpec).compact(c); }},
      {"search", [](const Context& c) { Index(kSpec).search(kRows, {}, c); }},
      {"within of an index",
       [](const Context& c) { Index(kSpec).within(kRows, {.radius = 1}, c); }},
      {"save", [](const Context& c) { Index(kSpec).save("/dev/null", c); }},
      {"verify", [](const Context& c) { verify_index("/dev/null", {}, c); }},
      {"check a metric", [](const Context& c) { check_metric(*object_metric("edit"), {}, 1, c); }},
  };
}

TEST(DeviceName, IsAKindAndANumber) {
  EXPECT_EQ(parse_device("cpu").kind, "cpu");
  EXPECT_EQ(parse_device("opencl").kind, "opencl");
  EXPECT_EQ(parse_device("opencl").index, 0);
  EXPECT_EQ(parse_device("cuda:3").kind, "cuda");
  EXPECT_EQ(parse_device("cuda:3").index, 3);
  for (const std::string text : {"gpu", "", "CUDA", "cpu:0", "opencl:", "opencl:x", "opencl:-1",
                                 "opencl:1 ", "opencl:99999999999", "opencl:1:1"}) {
    expect_error([&] { parse_device(text); }, ErrorCode::invalid_argument,
                 {"'" + text + "' names no device", "opencl:0"});
  }
}

TEST(DeviceName, OfSeveral) {
  EXPECT_EQ(split_devices("opencl:0,cuda,cpu"),
            (std::vector<std::string_view>{"opencl:0", "cuda", "cpu"}));
  EXPECT_EQ(split_devices("cpu"), std::vector<std::string_view>{"cpu"});
  expect_error([] { split_devices("opencl:0,cpu,opencl"); }, ErrorCode::invalid_argument,
               {"names the device opencl twice"});
  for (const std::string text : {"", ",cpu", "cpu,", "opencl,,cpu"}) {
    expect_error([&] { split_devices(text); }, ErrorCode::invalid_argument, {"'' names no device"});
  }
  expect_error([] { pairwise(kRows, kRows, {}, on("opencl,cpu")); }, ErrorCode::unsupported,
               {"pairwise runs on one device at a time", "'opencl,cpu'"});
  expect_error([] { select_k(kRows, {}, on("opencl,cpu")); }, ErrorCode::unsupported,
               {"select_k runs on one device at a time"});
}

TEST(DeviceName, OfACallThatDoesNotRunOnDevices) {
  for (const auto& [name, call] : calls_of_the_cpu()) {
    SCOPED_TRACE(name);
    for (const std::string device : {"opencl", "cuda:7"}) {
      expect_error([&] { call(on(device)); }, ErrorCode::unsupported,
                   {"does not run on devices", "'" + device + "'"});
    }
    expect_error([&] { call(on("gpu")); }, ErrorCode::invalid_argument, {"'gpu' names no device"});
  }
}

TEST(DeviceName, OfASearchIsThatOfADevice) {
  for (const auto& [name, call] : searches()) {
    SCOPED_TRACE(name);
    expect_error([&] { call(on("cuda:7")); }, ErrorCode::unsupported, {"cuda"});
    expect_error([&] { call(on("gpu")); }, ErrorCode::invalid_argument, {"'gpu' names no device"});
    EXPECT_NO_THROW(call(on("cpu")));
  }
}

TEST(DeviceName, OfACursorThatHasThemAlreadyIsLookedAt) {
  const MatrixRows rows(kRows);
  KnnCursor cursor(rows, rows, {});
  cursor.next(1);
  expect_error([&] { cursor.next(1, on("gpu")); }, ErrorCode::invalid_argument,
               {"'gpu' names no device"});
}

TEST(DeviceName, ThatIsTheCpuChangesNothing) {
  for (const auto& [name, call] : calls_of_the_cpu()) {
    SCOPED_TRACE(name);
    if (name == "verify") continue;  // of what is no index
    EXPECT_NO_THROW(call(on("cpu")));
  }
}

TEST(DeviceName, ThatIsUnknownIsAnErrorOfWhatRunsOnDevices) {
  expect_error([] { select_k(kRows, {}, on("gpu")); }, ErrorCode::invalid_argument, {"'gpu'"});
  expect_error([] { pairwise(kRows, kRows, {}, on("gpu")); }, ErrorCode::invalid_argument,
               {"'gpu'"});
}

TEST(Devices, BeginWithTheCpuAndSayWhatIsMissing) {
  const DeviceList found = devices();
  const DeviceInfo& cpu = found.devices.at(0);
  EXPECT_EQ(cpu.id, "cpu");
  EXPECT_EQ(cpu.driver, to_string(available_isas().back()));
  EXPECT_GT(cpu.memory, 0);
  EXPECT_GE(cpu.units, 1);
  for (const std::string_view kind : kDeviceKinds) {
    bool is_there = false;
    for (const DeviceInfo& device : found.devices) is_there |= device.id.starts_with(kind);
    for (const MissingDevice& missing : found.missing) {
      if (missing.kind != kind) continue;
      EXPECT_FALSE(is_there) << kind;
      EXPECT_NE(missing.reason, "");
      is_there = true;
    }
    EXPECT_TRUE(is_there) << kind;
  }
}

}  // namespace
}  // namespace nearfield
