// Random operations on an index and on a std::map, which must agree on everything.
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nearfield/error.hpp>
#include <nearfield/index.hpp>

#include "core/random.hpp"
#include "tests/oracle/compare.hpp"
#include "tests/oracle/data.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/unit/index/small_parts.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

// Of each kind of index, twice.
std::int64_t operations() {
  const char* const asked = std::getenv("NEARFIELD_MODEL_OPERATIONS");
  return asked != nullptr ? std::atoll(asked) : 2'000;
}

using Row = std::vector<std::byte>;

class Model {
 public:
  Model(const IndexSpec& spec, std::uint64_t seed)
      : spec_(spec),
        random_(seed, 0),
        pool_(data::make_matrix({data::Kind::small_integers, spec.dtype, 500, spec.cols, seed})),
        index_(spec) {}

  void step() {
    switch (random_.below(rows_.size() > 1'500 ? 16 : 12)) {
      case 0:
      case 1:
        return add_with_ids();
      case 2:
        return add_with_numbers();
      case 3:
        return upsert();
      case 4:
        return look();
      case 5:
        return refuse();
      case 6:
        return range();
      case 7:
        if (random_.below(20) == 0) index_.compact();
        return look();
      case 8:
        if (random_.below(20) == 0) reopen();
        return look();
      case 9:
      case 10:
        return search();
      default:
        return remove();
    }
  }

  std::string state() const {
    const IndexStats stats = index_.stats();
    return fmt::format("{} {} {}: {} vectors, {} removed, {} parts", spec_.family,
                       to_string(spec_.metric), to_string(spec_.dtype), stats.size, stats.removed,
                       stats.parts);
  }

 private:
  // Of about half of them there is a vector, or was.
  std::int64_t some_id() {
    if (!rows_.empty() && random_.below(4) == 0) {
      const auto there = rows_.lower_bound(random_.below(next_ + 1));
      if (there != rows_.end()) return there->first;
    }
    const std::int64_t id = random_.below(4'000) - 1'000;
    return id == kNoId ? -2 : id;
  }
  std::vector<std::int64_t> some_ids() {
    std::set<std::int64_t> ids;
    const std::int64_t count = random_.below(random_.below(50) == 0 ? 400 : 12);
    while (std::ssize(ids) < count) ids.insert(some_id());
    std::vector<std::int64_t> mixed(ids.begin(), ids.end());
    for (std::size_t i = mixed.size(); i > 1; --i) {
      std::swap(mixed[i - 1], mixed[static_cast<std::size_t>(random_.below(std::ssize(mixed)))]);
    }
    return mixed;
  }
  MatrixView some_rows(std::int64_t count) {
    return pool_.view().slice(random_.below(pool_.rows() - count + 1), count);
  }

  Row row_of(MatrixView rows, std::int64_t i) const {
    const auto bytes = static_cast<std::size_t>(row_bytes(spec_.dtype, spec_.cols));
    return {rows.row(i), rows.row(i) + bytes};
  }
  void take(MatrixView rows, const std::vector<std::int64_t>& ids) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      rows_[ids[i]] = row_of(rows, static_cast<std::int64_t>(i));
      next_ = std::max(next_, ids[i] + 1);
    }
  }

  void add_with_ids() {
    std::vector<std::int64_t> ids = some_ids();
    std::erase_if(ids, [&](std::int64_t id) { return rows_.contains(id); });
    const MatrixView rows = some_rows(std::ssize(ids));
    index_.add(rows, ids);
    take(rows, ids);
  }
  void add_with_numbers() {
    const MatrixView rows = some_rows(random_.below(12));
    const std::int64_t first = index_.add(rows);
    ASSERT_EQ(first, next_);
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < rows.rows(); ++i) ids.push_back(first + i);
    take(rows, ids);
  }
  void upsert() {
    const std::vector<std::int64_t> ids = some_ids();
    const MatrixView rows = some_rows(std::ssize(ids));
    std::int64_t there = 0;
    for (const std::int64_t id : ids) there += rows_.contains(id) ? 1 : 0;
    ASSERT_EQ(index_.upsert(rows, ids), there);
    take(rows, ids);
  }
  void remove() {
    std::vector<std::int64_t> ids = some_ids();
    for (auto row = rows_.lower_bound(random_.below(next_ + 1));
         row != rows_.end() && rows_.size() > 1'500 && ids.size() < 100; ++row) {
      ids.push_back(row->first);
    }
    std::int64_t there = 0;
    for (const std::int64_t id : ids) there += static_cast<std::int64_t>(rows_.erase(id));
    ASSERT_EQ(index_.remove(ids), there);
  }
  void look() {
    ASSERT_EQ(index_.size(), std::ssize(rows_));
    const std::int64_t id = some_id();
    const auto row = rows_.find(id);
    ASSERT_EQ(index_.contains(id), row != rows_.end()) << id;
    if (row == rows_.end()) return;
    try {
      const Matrix got = index_.get(std::vector{id});
      ASSERT_EQ(row_of(got, 0), row->second) << id;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::unsupported);
      ASSERT_TRUE(spec_.family.ends_with("vectors=none")) << error.what();
      // Not before there are codes: until then all vectors are there, and scanned.
      ASSERT_FALSE(index_.search(some_rows(1), {.k = 1}).exact) << error.what();
    }
  }
  // What is refused changes nothing.
  void refuse() {
    if (rows_.empty()) return;
    constexpr std::int64_t kNew = std::int64_t{1} << 40;
    const std::vector<std::int64_t> ids{kNew, rows_.begin()->first};
    EXPECT_THROW(index_.add(some_rows(2), ids), Error);
    EXPECT_THROW(index_.upsert(some_rows(2), std::vector<std::int64_t>{7, 7}), Error);
    EXPECT_THROW(index_.upsert(some_rows(1), std::vector<std::int64_t>{kNoId}), Error);
    ASSERT_FALSE(index_.contains(kNew));
  }
  void reopen() {
    const std::string path = folder_.path("index");
    index_.save(path);
    verify_index(path);
    Index opened = Index::open(path);
    ASSERT_EQ(opened.size(), std::ssize(rows_));
    if (random_.below(2) == 0) index_ = std::move(opened);
  }

  // Vectors that a filter allows, in the order of their ids, so that row order is id order.
  struct Allowed {
    Matrix rows;
    std::vector<std::int64_t> ids;
  };
  Allowed allowed(const IdFilter& filter) const {
    const std::set<std::int64_t> named(filter.ids.begin(), filter.ids.end());
    Allowed result;
    for (const auto& [id, row] : rows_) {
      if (filter.kind == IdFilter::Kind::all ||
          named.contains(id) == (filter.kind == IdFilter::Kind::only)) {
        result.ids.push_back(id);
      }
    }
    result.rows = Matrix(spec_.dtype, std::ssize(result.ids), spec_.cols);
    for (std::size_t i = 0; i < result.ids.size(); ++i) {
      const Row& row = rows_.at(result.ids[i]);
      std::memcpy(result.rows.row(static_cast<std::int64_t>(i)), row.data(), row.size());
    }
    return result;
  }
  IdFilter some_filter(std::vector<std::int64_t>& ids) {
    const auto kind = static_cast<IdFilter::Kind>(random_.below(3));
    ids = some_ids();
    return {kind, kind == IdFilter::Kind::all ? std::span<const std::int64_t>() : ids};
  }

  void search() {
    std::vector<std::int64_t> ids;
    const IdFilter filter = some_filter(ids);
    const MatrixView queries = some_rows(random_.below(40) == 0 ? 30 : 1 + random_.below(3));
    const std::int64_t k = random_.below(12);
    const Allowed base = allowed(filter);
    oracle::Answer want = oracle::knn(queries, base.rows, {.k = k, .metric = spec_.metric});
    for (std::int64_t& id : want.ids) {
      if (id != kNoId) id = base.ids[static_cast<std::size_t>(id)];
    }
    ASSERT_EQ(oracle::difference(index_.search(queries, {k, filter}), want), "");
  }
  void range() {
    std::vector<std::int64_t> ids;
    const IdFilter filter = some_filter(ids);
    const MatrixView queries = some_rows(1 + random_.below(3));
    const double radius = info(spec_.metric).reported == Reported::similarity
                              ? 0.5
                              : static_cast<double>(random_.below(12));
    const Allowed base = allowed(filter);
    oracle::RangeAnswer want = oracle::within(queries, base.rows, radius, {.metric = spec_.metric});
    for (std::int64_t& id : want.ids) id = base.ids[static_cast<std::size_t>(id)];
    ASSERT_EQ(oracle::difference(index_.within(queries, {radius, filter}), want), "");
  }

  IndexSpec spec_;
  Random random_;
  Matrix pool_;
  test::TempFolder folder_;
  Index index_;
  std::map<std::int64_t, Row> rows_;
  std::int64_t next_ = 0;
};

void expect_agreement() {
  const IndexSpec specs[] = {
      {"flat", DType::u8, 6, Metric::sqeuclidean},
      {"flat", DType::f32, 5, Metric::cosine},
      {"flat", DType::bits, 13, Metric::hamming},
      {"flat", DType::f64, 3, Metric::l1},
      {"flat", DType::i8, 40, Metric::inner_product},
      {"mih", DType::bits, 48, Metric::hamming},
      {"mih,tables=3", DType::bits, 13, Metric::hamming},
      // Every bucket is near enough, and to be met in one is enough: nothing is missed.
      {"ewh,tables=2,bits=4,errors=4,threshold=1", DType::bits, 13, Metric::hamming},
      // Every bucket is probed, so that nothing is missed.
      {"lsh,bits=3,tables=2,probes=8", DType::u8, 6, Metric::sqeuclidean},
      {"lsh,hash=sign,bits=2,probes=4,match=sort", DType::f32, 5, Metric::cosine},
      // A codebook for each column, with a codeword for each value: nothing is lost.
      {"coded,codebooks=6,train=300,rerank=0", DType::u8, 6, Metric::sqeuclidean},
      {"coded,codebooks=6,train=300,vectors=none", DType::u8, 6, Metric::sqeuclidean},
      {"coded,codebooks=5,bits=4,train=100,rerank=0", DType::f32, 5, Metric::inner_product},
      {"coded,codebooks=5,bits=4,train=100,vectors=none", DType::f32, 5, Metric::inner_product},
      {"coded,kind=opq,codebooks=1,bits=4,train=100,rerank=2000", DType::f64, 1, Metric::euclidean},
  };
  std::uint64_t seed = 1;
  for (const IndexSpec& spec : specs) {
    Model model(spec, seed++);
    for (std::int64_t i = 0; i < operations(); ++i) {
      ASSERT_NO_FATAL_FAILURE(model.step()) << "operation " << i << " of " << model.state();
    }
  }
}

TEST(IndexModel, AgreesWithAMap) { expect_agreement(); }

TEST(IndexModel, AgreesWithAMapInSmallParts) {
  const test::SmallParts small;
  expect_agreement();
}

}  // namespace
}  // namespace nearfield
