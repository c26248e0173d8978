// Objects of a file, of which nothing is trusted.
#include "object/object_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

// Takes objects of any size, as a caller's function does.
class AlignedToEight final : public ObjectMetric {
 public:
  std::string name() const override { return "aligned"; }
  std::int64_t alignment() const override { return 8; }
  void distances(ObjectView /*from*/, std::span<const ObjectView> /*to*/, double /*limit*/,
                 Isa /*isa*/, std::span<double> out) const override {
    std::fill(out.begin(), out.end(), 0.0);
  }
};

// What comes behind one that ends elsewhere would not be aligned where both are copied to.
TEST(ObjectList, ObjectsOfAFileBeginAndEndAtMultiplesOfTheAlignment) {
  const AlignedToEight metric;
  const std::vector<std::byte> bytes(24);
  const std::vector<std::uint64_t> whole{0, 8, 24};
  const ObjectList list(metric, {whole, bytes, nullptr});
  EXPECT_EQ(list.view(1).size(), 16);
  const std::vector<std::uint64_t> odd{0, 8, 20};
  const ObjectList damaged(metric, {odd, bytes, nullptr});
  EXPECT_EQ(damaged.view(0).size(), 8);
  test::expect_error([&] { damaged.view(1); }, ErrorCode::corrupt_file, {"8 to 20", "of 8"});
}

}  // namespace
}  // namespace nearfield
