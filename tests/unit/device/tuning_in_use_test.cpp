#include "device/tuning_in_use.hpp"

#include <gtest/gtest.h>
#include <nearfield/version.hpp>

#include "tests/unit/device/named_tuning.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

TuningTable table_of(const std::string& device, const std::string& driver) {
  return {device, driver, std::string(version()), "2026-11-16T22:00:00Z", {}, {}, {}};
}

TEST(TuningInUse, IsNoneWhereNoneIsNamed) {
  EXPECT_EQ(tuning_of("a card", "1.2").table, nullptr);
  EXPECT_EQ(tuning_of("a card", "1.2").note, "");
  check_tuning();
}

TEST(TuningInUse, IsThatOfTheDeviceAndItsDriver) {
  const test::NamedTuning named(table_of("a card", "1.2"));
  ASSERT_NE(tuning_of("a card", "1.2").table, nullptr);
  EXPECT_EQ(tuning_of("a card", "1.2").table, tuning_of("a card", "1.2").table) << "read once";
  EXPECT_EQ(tuning_of("a card", "1.2").note, "");
  for (const TuningInUse& other : {tuning_of("a card", "1.3"), tuning_of("a cart", "1.2")}) {
    EXPECT_EQ(other.table, nullptr);
    EXPECT_EQ(other.note, "the tuning of '" + named.path() +
                              "' is not used: it was made for a card, driver 1.2, by Nearfield " +
                              std::string(version()));
  }
}

TEST(TuningInUse, IsNotThatOfAnotherVersion) {
  TuningTable table = table_of("a card", "1.2");
  table.version = "0.0.1";
  const test::NamedTuning named(table);
  EXPECT_EQ(tuning_of("a card", "1.2").table, nullptr);
  EXPECT_NE(tuning_of("a card", "1.2").note.find("by Nearfield 0.0.1"), std::string::npos);
}

TEST(TuningInUse, ThatIsWrongIsAnErrorEachTime) {
  const test::NamedTuning named("{}");
  for (int i = 0; i < 2; ++i) {
    test::expect_error([] { check_tuning(); }, ErrorCode::corrupt_file,
                       {"NEARFIELD_TUNING", named.path(), "0 of the 7 fields", "nearfield tune"});
  }
}

TEST(TuningInUse, ThatIsNotThereIsAnError) {
  ::setenv("NEARFIELD_TUNING", "/nowhere/tuning.json", 1);
  test::expect_error([] { tuning_of("a card", "1.2"); }, ErrorCode::io,
                     {"NEARFIELD_TUNING", "/nowhere/tuning.json"});
  ::unsetenv("NEARFIELD_TUNING");
}

}  // namespace
}  // namespace nearfield
