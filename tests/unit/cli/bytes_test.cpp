#include "cli/bytes.hpp"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <nearfield/error.hpp>

namespace nearfield::cli {
namespace {

constexpr std::int64_t kKi = 1024;
constexpr std::int64_t kMi = kKi * 1024;
constexpr std::int64_t kGi = kMi * 1024;
constexpr std::int64_t kTi = kGi * 1024;

TEST(ParseBytes, PlainNumbers) {
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("1"), 1);
  EXPECT_EQ(parse_bytes("1048576"), kMi);
  EXPECT_EQ(parse_bytes("010"), 10);
  EXPECT_EQ(parse_bytes("9223372036854775807"), INT64_MAX);
}

TEST(ParseBytes, UnitsArePowersOf1024) {
  EXPECT_EQ(parse_bytes("7B"), 7);
  EXPECT_EQ(parse_bytes("2K"), 2 * kKi);
  EXPECT_EQ(parse_bytes("512M"), 512 * kMi);
  EXPECT_EQ(parse_bytes("3G"), 3 * kGi);
  EXPECT_EQ(parse_bytes("4T"), 4 * kTi);
  for (const char* text : {"5g", "5G", "5gb", "5GB", "5GiB", "5gib", "5GIB"}) {
    EXPECT_EQ(parse_bytes(text), 5 * kGi) << text;
  }
}

TEST(ParseBytes, Fractions) {
  EXPECT_EQ(parse_bytes("1.5GiB"), kGi + kGi / 2);
  EXPECT_EQ(parse_bytes("0.25K"), 256);
  EXPECT_EQ(parse_bytes("2.0M"), 2 * kMi);
  EXPECT_EQ(parse_bytes("1.9"), 1);
  EXPECT_EQ(parse_bytes("0.0009765625K"), 1);
}

TEST(ParseBytes, LargestIsExactAndMoreIsAnError) {
  EXPECT_EQ(parse_bytes("8388607T"), 8'388'607 * kTi);
  for (const char* text : {"8388608T", "9223372036854775808", "99999999999999999999999G"}) {
    try {
      parse_bytes(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()),
                "'" + std::string(text) + "' is more bytes than fit 63 bits");
    }
  }
}

TEST(ParseBytes, AnythingElseIsAnErrorThatNamesTheText) {
  for (const char* text :
       {"",    " ",   "M",   "-1",  "+1",  "12Q", "1.G",  ".5G", "1.5.5G", "1,5G",
        "3 G", "3G ", " 3G", "3GX", "3iB", "3Bi", "0x10", "1e9", "nan",    "inf"}) {
    try {
      parse_bytes(text);
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      const std::string start = "'" + std::string(text) + "' is not a number of bytes";
      EXPECT_EQ(std::string(error.what()).substr(0, start.size()), start);
    }
  }
}

}  // namespace
}  // namespace nearfield::cli
