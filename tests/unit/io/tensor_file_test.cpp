#include <sys/stat.h>

#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "io/tensor_file.hpp"
#include "temp_folder.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using test::expect_error;
using test::TempFolder;

std::string length_of(std::size_t bytes) {
  std::string text(8, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(bytes >> (8 * i));
  return text;
}

std::string file_of(const std::string& json, std::size_t payload) {
  return length_of(json.size()) + json + std::string(payload, 'x');
}

// Three tensors, of which one is empty and one ends at no multiple of 64.
std::string write_some(const TempFolder& folder) {
  std::vector<float> numbers(7);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  std::vector<std::int64_t> ids{5, -6, 7};
  const Context context;
  Monitor monitor(context, 0);
  OutputFile out(folder.path("some"));
  write_tensors(
      out,
      {tensor_in_memory("numbers", TensorType::f32, {7}, std::as_bytes(std::span(numbers))),
       tensor_in_memory("none", TensorType::u8, {0, 12}, {}),
       tensor_in_memory("ids", TensorType::i64, {3, 1}, std::as_bytes(std::span(ids)))},
      {{"made by", "a \"test\""}}, monitor);
  out.commit();
  return folder.path("some");
}

// What takes long to make is made once; only of a stream, where sums cannot be put in later, twice.
TEST(TensorFile, IsTheSameInAFileAndInAStream) {
  const TempFolder folder;
  const std::vector<std::byte> bytes(5'000'000, std::byte{7});
  const Context context;
  Monitor monitor(context, 0);
  int given = 0;
  const auto write = [&](const std::string& path) {
    given = 0;
    OutputFile out(path);
    write_tensors(out,
                  {{"counted",
                    TensorType::u8,
                    {std::ssize(bytes)},
                    [&](const TakeBytes& take) {
                      ++given;
                      take(bytes);
                    }}},
                  {}, monitor);
    out.commit();
  };
  write(folder.path("file"));
  EXPECT_EQ(given, 1);
  TensorFile(folder.path("file")).verify(monitor);

  ASSERT_EQ(::mkfifo(folder.path("stream").c_str(), 0600), 0);
  std::string streamed;
  std::thread reader([&] { streamed = folder.get("stream"); });
  write(folder.path("stream"));
  reader.join();
  EXPECT_EQ(given, 2);
  EXPECT_TRUE(streamed == folder.get("file"));
}

TEST(TensorFile, HoldsWhatWasWritten) {
  const TempFolder folder;
  const TensorFile file(write_some(folder));
  EXPECT_EQ(file.metadata("made by"), "a \"test\"");
  const TensorEntry& ids = file.tensor("ids");
  EXPECT_EQ(ids.type, TensorType::i64);
  EXPECT_EQ(ids.shape, (std::vector<std::int64_t>{3, 1}));
  std::int64_t second = 0;
  std::memcpy(&second, file.bytes(ids).data() + 8, sizeof(second));
  EXPECT_EQ(second, -6);
  EXPECT_EQ(file.bytes(file.tensor("none")).size(), 0u);
  EXPECT_EQ(file.tensor("none").shape, (std::vector<std::int64_t>{0, 12}));
  for (const TensorEntry& tensor : file.header().tensors) {
    if (tensor.name.starts_with("_pad.")) continue;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.bytes(tensor).data()) % kTensorAlignment, 0u)
        << tensor.name;
  }
  EXPECT_EQ(file.find("no such"), nullptr);
  expect_error([&] { file.tensor("no such"); }, ErrorCode::corrupt_file, {"some", "no such"});
}

TEST(TensorFile, VerifyNoticesEveryChangedByte) {
  const TempFolder folder;
  const std::string path = write_some(folder);
  const std::string good = folder.get("some");
  const Context context;
  Monitor monitor(context, 0);
  TensorFile(path).verify(monitor);
  const auto header = static_cast<std::size_t>(static_cast<unsigned char>(good[0])) +
                      256 * static_cast<std::size_t>(static_cast<unsigned char>(good[1])) + 8;
  for (std::size_t at = header; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    const TensorFile file(folder.put("bad", bad));
    expect_error([&] { file.verify(monitor); }, ErrorCode::corrupt_file, {"bad", "sum"});
  }
}

TEST(TensorFile, RefusesWhatIsCutOff) {
  const TempFolder folder;
  write_some(folder);
  const std::string good = folder.get("some");
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(TensorFile{folder.put("cut", good.substr(0, size))}, Error) << size;
  }
  expect_error([&] { TensorFile{folder.put("more", good + "x")}; }, ErrorCode::corrupt_file,
               {"more"});
}

TEST(TensorFile, RefusesHeadersThatLie) {
  const std::string good = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  struct Case {
    std::string json;
    std::string part;
  };
  const Case cases[] = {
      {"", "JSON"},
      {"{", "JSON"},
      {"[]", "where none is expected"},
      {"7", "where none is expected"},
      {"null", "where none is expected"},
      {"{" + good + "} ,", "JSON"},
      {"{" + good + "," + good + "}", "'a' twice"},
      {R"({"a":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
       "'dtype' of 'a' twice"},
      {R"({"a":{"dtype":"U8","shape":[4]}})", "2 of the 3 fields"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1}})", "where none is expected"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0]}})", "1 data_offsets"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,-4]}})", "where none is expected"},
      {R"({"a":{"dtype":"U8","shape":[4.0],"data_offsets":[0,4]}})", "where none is expected"},
      {R"({"a":{"dtype":"U8","shape":[[4]],"data_offsets":[0,4]}})", "where none is expected"},
      {R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,4]}})", "takes 5 bytes, not 4"},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,3]}})", "takes 4 bytes, not 3"},
      {R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", "its tensors are 3 of them"},
      {R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})", "at bytes 1 to 4"},
      {R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[4,1]}})", "at bytes 4 to 1"},
      {R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})", "at bytes 0 to 9 of 4"},
      {R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", "63 bits"},
      {R"({"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,4]}})", "above 2^63"},
      {R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,4],"data_offsets":[0,4]}})", "more than 8"},
      {R"({"":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "without a name"},
      {R"({"a":"U8"})", "where none is expected"},
      {R"({"__metadata__":{"x":{}}})", "an object within"},
      {R"({"__metadata__":{"x":3}})", "where none is expected"},
      {R"({"__metadata__":{"shape":[1]}})", "where none is expected"},
      {R"({"__metadata__":{"data_offsets":[1,2]}})", "where none is expected"},
      {"{" + good + R"(,"__metadata__":{"data_offsets":[1,2]}})", "where none is expected"},
      {R"({"__metadata__":{"x":"y","x":"z"}})", "'x' of '__metadata__' twice"},
      {"{}", "its tensors are 0 of them"},
      {std::string(100'000, '['), "where none is expected"},
  };
  const TempFolder folder;
  EXPECT_EQ(TensorFile(folder.put("good", file_of("{" + good + "}", 4))).header().tensors.size(),
            1u);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.json.substr(0, 100));
    const std::string path = folder.put("lies", file_of(c.json, 4));
    try {
      TensorFile{path};
      ADD_FAILURE() << "was opened";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(c.part), std::string::npos) << error.what();
    }
  }
  const std::string type = R"({"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}})";
  expect_error([&] { TensorFile{folder.put("type", file_of(type, 4))}; }, ErrorCode::unsupported,
               {"'a'", "F8_E4M3"});
  const std::string long_header = "{" + good + std::string(2 << 20, ' ') + "}";
  expect_error([&] { TensorFile{folder.put("long", file_of(long_header, 4))}; },
               ErrorCode::unsupported, {"limit of 1048576"});
  TensorFile{folder.path("long"), 3 << 20};
}

TEST(TensorFile, WritesWhatTheShapeSays) {
  const TempFolder folder;
  const Context context;
  Monitor monitor(context, 0);
  OutputFile out(folder.path("some"));
  expect_error(
      [&] { write_tensors(out, {tensor_in_memory("a", TensorType::u8, {4}, {})}, {}, monitor); },
      ErrorCode::invalid_argument, {"'a'", "0 bytes", "4"});
}

}  // namespace
}  // namespace nearfield
