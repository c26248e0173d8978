#include "filter/shared_filter.hpp"

#include <atomic>
#include <vector>

#include <gtest/gtest.h>
#include <nearfield/context.hpp>

#include "core/fail.hpp"
#include "core/tasks.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

// Lists every row of a block, and counts the blocks; fails from one of them on.
class Counting final : public FilterMaker, public Filter {
 public:
  explicit Counting(std::int64_t fails_at = -1, std::int64_t takes = 1 << 20)
      : fails_at_(fails_at), takes_(takes) {}

  void take_queries(const Piece& /*queries*/, const Piece& /*rows*/, int /*threads*/,
                    Monitor& /*monitor*/) override {
    if (fails_at_ == 0) fail(ErrorCode::unsupported, "it never worked");
  }
  TakenRows take_rows(const Piece& rows, int /*threads*/, Monitor& /*monitor*/) override {
    return {*this, std::min(rows.view.rows(), takes_)};
  }
  void survivors(const Block& block, std::span<const double> /*thresholds*/,
                 Candidates& out) const override {
    if (++blocks_ == fails_at_) failed_ = true;
    if (failed_) fail(ErrorCode::unsupported, "it broke");
    out.start_listed(block);
    for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
      for (std::int64_t row = block.rows.begin; row < block.rows.end; ++row) out.add(row);
      out.end_query();
    }
  }
  bool certified() const override { return true; }
  std::string name() const override { return "counting"; }

  std::int64_t blocks() const { return blocks_; }

 private:
  std::int64_t fails_at_;
  std::int64_t takes_;
  mutable std::atomic<std::int64_t> blocks_{0};
  mutable std::atomic<bool> failed_{false};
};

SharedFilterMember member(const std::string& name, std::unique_ptr<Counting> maker) {
  return {
      .name = name, .maker = std::move(maker), .callers = 1, .may_fail = true, .most_rows = 100};
}

class SharedFilterTest : public testing::Test {
 protected:
  // Every pair of 8 queries and the rows, by so many threads.
  std::vector<std::int64_t> rows_seen(SharedFilterMaker& shared, int threads) {
    Monitor monitor(context_, 0);
    const Piece queries{matrix_.view().slice(0, 8), 0};
    const Piece rows{matrix_.view(), 0};
    shared.take_queries(queries, rows, 1, monitor);
    const auto [filter, taken] = shared.take_rows(rows, 1, monitor);
    taken_ = taken;
    std::vector<std::int64_t> seen(8);
    const std::vector<double> thresholds(1, 0.0);
    run_on_fresh_threads(8, threads, [&](std::int64_t query, int) {
      Candidates candidates;
      for (std::int64_t row = 0; row < taken;) {
        filter.survivors({{query, query + 1}, {row, taken}}, thresholds, candidates);
        seen[static_cast<std::size_t>(query)] += candidates.size();
        row = candidates.block().rows.end;
      }
    });
    return seen;
  }

  const Context context_;
  const Matrix matrix_{DType::f32, 1000, 2};
  std::int64_t taken_ = 0;
};

TEST_F(SharedFilterTest, EachPairIsLookedAtOnce) {
  std::vector<SharedFilterMember> members;
  members.push_back(member("a", std::make_unique<Counting>()));
  members.push_back(member("b", std::make_unique<Counting>()));
  SharedFilterMaker shared(std::move(members));
  EXPECT_EQ(rows_seen(shared, 2), std::vector<std::int64_t>(8, 1000));
  EXPECT_EQ(shared.name(), "a by counting; b by counting");
  EXPECT_EQ(shared.note().find("failed"), std::string::npos) << shared.note();
}

TEST_F(SharedFilterTest, OneThatFailsIsLeftOut) {
  for (const std::int64_t fails_at : {0, 1}) {
    std::vector<SharedFilterMember> members;
    members.push_back(member("a", std::make_unique<Counting>(fails_at)));
    members.push_back(member("b", std::make_unique<Counting>()));
    SharedFilterMaker shared(std::move(members));
    EXPECT_EQ(rows_seen(shared, 2), std::vector<std::int64_t>(8, 1000)) << fails_at;
    EXPECT_NE(shared.note().find(fails_at == 0 ? "then failed (it never worked)"
                                               : "then failed (it broke)"),
              std::string::npos)
        << shared.note();
  }
}

TEST_F(SharedFilterTest, WhereAllFailThatIsTheError) {
  std::vector<SharedFilterMember> members;
  members.push_back(member("a", std::make_unique<Counting>(1)));
  members.push_back(member("b", std::make_unique<Counting>(2)));
  SharedFilterMaker shared(std::move(members));
  test::expect_error([&] { rows_seen(shared, 1); }, ErrorCode::unsupported,
                     {"every device of the search has failed", "a: it broke", "b: it broke"});
}

TEST_F(SharedFilterTest, TakesTheRowsThatAllHaveTaken) {
  std::vector<SharedFilterMember> members;
  members.push_back(member("a", std::make_unique<Counting>(-1, 300)));
  members.push_back(member("b", std::make_unique<Counting>()));
  SharedFilterMaker shared(std::move(members));
  EXPECT_EQ(rows_seen(shared, 2), std::vector<std::int64_t>(8, 300));
  EXPECT_EQ(taken_, 300);
}

// One that has rows in units alone is given the rest of a unit as rows that all survive.
TEST_F(SharedFilterTest, UnitsOfRowsAreKept) {
  std::vector<SharedFilterMember> members;
  members.push_back(member("a", std::make_unique<Counting>()));
  members.back().most_rows = 7;
  members.push_back(member("b", std::make_unique<Counting>()));
  members.back().row_unit = 32;
  SharedFilterMaker shared(std::move(members));
  EXPECT_EQ(rows_seen(shared, 2), std::vector<std::int64_t>(8, 1000));
}

}  // namespace
}  // namespace nearfield
