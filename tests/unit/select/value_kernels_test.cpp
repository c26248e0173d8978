#include "select/value_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

// Around the words and the blocks of all ISAs.
constexpr std::int64_t kCounts[] = {0, 1, 15, 16, 63, 64, 65, 255, 256, 257, 1'000, 4'096};

// NaN, infinities, both zeros and ties. After `count` values follow some that would be in time.
template <class T>
std::vector<T> make_values(std::int64_t count, bool largest) {
  constexpr double kValues[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1, -1, 2};
  Random random(static_cast<std::uint64_t>(count));
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<T>(kValues[random.below(std::ssize(kValues))]));
  }
  values.insert(values.end(), 64, static_cast<T>(largest ? INFINITY : -INFINITY));
  return values;
}

template <class T>
struct Case {
  const ValueKernels<T>& kernels;
  bool largest;
  std::int64_t count;
  std::vector<T> values;

  bool in_time(T value, T last) const { return largest ? value >= last : value <= last; }
};

template <class T>
void expect_found(const Case<T>& it, T last) {
  std::vector<std::uint32_t> expected;
  for (std::int64_t i = 0; i < it.count; ++i) {
    if (it.in_time(it.values[static_cast<std::size_t>(i)], last)) {
      expected.push_back(static_cast<std::uint32_t>(i));
    }
  }
  EXPECT_EQ(it.kernels.count(it.values.data(), it.count, last), std::ssize(expected));

  std::vector<T> firsts(static_cast<std::size_t>(it.count / kGroup + 1));
  const std::int64_t groups = it.kernels.group_firsts(it.values.data(), it.count, firsts.data());
  EXPECT_GE(groups, (it.count - kMostBlock) / kGroup);
  EXPECT_LE(groups, it.count / kGroup);
  for (const T* const hints :
       {static_cast<const T*>(nullptr), static_cast<const T*>(firsts.data())}) {
    std::vector<std::uint32_t> positions(static_cast<std::size_t>(it.count));
    const std::int64_t found =
        it.kernels.find(it.values.data(), it.count, last, hints, positions.data());
    positions.resize(static_cast<std::size_t>(found));
    EXPECT_EQ(positions, expected);
  }
}

template <class T>
void expect_copied(const Case<T>& it, T after, T last) {
  std::vector<T> expected;
  std::int64_t skipped = 5;
  for (std::int64_t i = 0; i < it.count; ++i) {
    const T value = it.values[static_cast<std::size_t>(i)];
    skipped += it.in_time(value, after);
    if (!it.in_time(value, after) && it.in_time(value, last)) expected.push_back(value);
  }
  std::vector<T> copied(static_cast<std::size_t>(it.count));
  std::int64_t before = 5;
  const std::int64_t found =
      it.kernels.copy_between(it.values.data(), it.count, after, last, copied.data(), &before);
  copied.resize(static_cast<std::size_t>(found));
  EXPECT_EQ(copied, expected);
  EXPECT_EQ(before, skipped);
}

template <class T>
void expect_kernels(Isa isa) {
  for (const bool largest : {false, true}) {
    for (const std::int64_t count : kCounts) {
      const Case<T> it{select_kernels(isa).of<T>(largest), largest, count,
                       make_values<T>(count, largest)};
      SCOPED_TRACE(testing::Message() << to_string(isa) << ", " << count << " of " << sizeof(T)
                                      << " bytes, largest " << largest);
      for (const double last :
           std::initializer_list<double>{-INFINITY, -1, -0.0, 0, 1.5, INFINITY}) {
        expect_found(it, static_cast<T>(last));
        expect_copied(it, static_cast<T>(largest ? 1 : -1), static_cast<T>(last));
      }
    }
  }
}

TEST(ValueKernels, EqualTheirDefinition) {
  for (const Isa isa : available_isas()) {
    expect_kernels<float>(isa);
    expect_kernels<double>(isa);
  }
}

TEST(ValueKernels, AnIsaThatIsNotHereIsNamed) {
  const Isa other = available_isas().front() == Isa::neon ? Isa::avx2 : Isa::neon;
  test::expect_error([&] { select_kernels(other); }, ErrorCode::unsupported,
                     {std::string(to_string(other))});
}

}  // namespace
}  // namespace nearfield
