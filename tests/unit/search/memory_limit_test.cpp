// The limit is kept, measured by counting what is allocated and not by asking the plan. And what
// fails for want of memory changes nothing.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <nearfield/nearfield.hpp>

#include "code/quantizer_memory.hpp"
#include "filter/rounded/bf16_tile_kernel.hpp"
#include "index/pivot/object_ids.hpp"
#include "search/plan.hpp"
#include "tests/force_tiles.hpp"
#include "tests/oracle/data.hpp"
#include "tests/unit/io/temp_folder.hpp"

#pragma GCC diagnostic ignored "-Wpragmas"                // clang does not know the next
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // malloc and free are the pair here

namespace {

std::atomic<std::int64_t> allocated{0};
std::atomic<std::int64_t> peak{0};
thread_local std::int64_t allowed = -1;  // calls of new until one fails; negative: none does

void* count(void* memory) {
  const std::int64_t now = allocated +=
      memory != nullptr ? static_cast<std::int64_t>(malloc_usable_size(memory)) : 0;
  std::int64_t before = peak;
  while (now > before && !peak.compare_exchange_weak(before, now)) {
  }
  return memory;
}

void release(void* memory) {
  if (memory != nullptr) allocated -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  if (allowed >= 0 && allowed-- == 0) throw std::bad_alloc();
  if (void* const memory = count(std::malloc(size))) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return count(std::aligned_alloc(static_cast<std::size_t>(alignment), size));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* const memory = operator new(size, alignment, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace nearfield {
namespace {

// Bytes that run() allocates at its worst moment.
template <class Run>
std::int64_t measure(const Run& run) {
  const std::int64_t before = allocated;
  peak = before;
  run();
  return peak - before;
}

TEST(MemoryLimit, IsKept) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 30'011, 24, 1});
  const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 300, 24, 2});
  const std::vector<std::uint64_t> words(30'011 / 64 + 1, 0x5555'5555'5555'5555);
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; id < 30'011; id += 2) ids.push_back(id);
  // oneTBB's own memory is its workers', not the search's: it is there from here on.
  knn(queries, base, {}, {.threads = 2});

  int runs = 0;
  for (const RowFilter& filter : {RowFilter(), RowFilter::bitset(words), RowFilter::list(ids)}) {
    for (const std::int64_t k : {1, 10, 500}) {
      for (const int threads : {1, 2}) {
        for (const bool in_memory : {true, false}) {
          for (const std::int64_t spare : {400'000, 1'000'000, 20'000'000}) {
            const KnnOptions options{.k = k, .filter = filter};
            Context context{.threads = threads};
            context.memory_limit =
                spare + 300 * k * 20 + static_cast<std::int64_t>(filter.ids().size_bytes());
            const MatrixRows rows(base);
            const data::PiecewiseRows pieces(base);
            const RowSource& source = in_memory ? static_cast<const RowSource&>(rows) : pieces;
            EXPECT_LE(measure([&] { knn(MatrixRows(queries), source, options, context); }),
                      *context.memory_limit)
                << "k " << k << ", threads " << threads << ", in memory " << in_memory << ", spare "
                << spare << ", filter " << static_cast<int>(filter.kind());
            ++runs;
          }
        }
      }
    }
  }
  EXPECT_EQ(runs, 108);
}

TEST(MemoryLimit, IsKeptByBf16) {
  if (bf16_tile_kernel(default_isa()) == nullptr) GTEST_SKIP() << "no tiles of bf16 here";
  force_tiles_of(TileValues::bf16);
  int by_bf16 = 0;
  for (const std::int64_t cols : {24, 1000}) {
    const std::int64_t rows = 1'000'000 / cols;
    const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, rows, cols, 1});
    const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 300, cols, 2});
    knn(queries, base, {}, {.threads = 2});
    for (const int threads : {1, 2}) {
      for (const std::int64_t limit : {1'000'000, 2'000'000, 4'000'000, 8'000'000, 30'000'000}) {
        Context context{.threads = threads};
        context.memory_limit = limit;
        const data::PiecewiseRows pieces(base);
        const MatrixRows resident(base);
        for (const RowSource* source :
             {static_cast<const RowSource*>(&pieces), static_cast<const RowSource*>(&resident)}) {
          Neighbors found;
          const std::int64_t used =
              measure([&] { found = knn(MatrixRows(queries), *source, {}, context); });
          EXPECT_LE(used, limit) << cols << " columns, " << to_string(found.stats.plan);
          by_bf16 += found.stats.plan.filter.starts_with("bf16") ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(by_bf16, 15);  // of 40
  default_tuning() = Tuning();
}

TEST(MemoryLimit, IsKeptOverBits) {
  const KnnOptions options{.k = 10, .metric = Metric::hamming};
  int by_bits = 0;
  for (const std::int64_t bits : {100, 512, 5000}) {
    const Matrix base = data::make_matrix({data::Kind::uniform, DType::bits, 10'011, bits, 1});
    const Matrix all = data::make_matrix({data::Kind::uniform, DType::bits, 300, bits, 2});
    knn(all, base, options, {.threads = 2});
    for (const std::int64_t count : {1, 20, 300}) {
      for (const int threads : {1, 2}) {
        for (const std::int64_t spare : {200'000, 400'000, 2'000'000, 20'000'000}) {
          const MatrixRows queries(all.view().slice(0, count));
          Context context{.threads = threads};
          context.memory_limit = spare + count * 10 * 20;
          const data::PiecewiseRows rows(base);
          Neighbors found;
          const std::int64_t used = measure([&] { found = knn(queries, rows, options, context); });
          const std::string& filter = found.stats.plan.filter;
          EXPECT_LE(used, *context.memory_limit)
              << bits << " bits, " << count << " queries, " << threads << " threads, "
              << to_string(found.stats.plan);
          by_bits += filter.starts_with("bit") ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(by_bits, 40);  // of 72
}

// How much is found is not known before: the limit is kept whether the search ends well or with an
// error, and both must happen.
template <class Search>
void expect_kept_while_found(const Search& search) {
  int done = 0;
  int refused = 0;
  for (const int threads : {1, 2}) {
    for (const std::int64_t limit : {1'000'000, 3'000'000, 30'000'000}) {
      for (const double radius : {0.2, 1.0, 2.0, 5.0}) {
        Context context{.threads = threads};
        context.memory_limit = limit;
        const auto run = [&] {
          try {
            search(radius, context);
            ++done;
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::memory_limit) << error.what();
            ++refused;
          }
        };
        EXPECT_LE(measure(run), limit) << "threads " << threads << ", radius " << radius;
      }
    }
  }
  EXPECT_GT(done, 0);
  EXPECT_GT(refused, 0);
}

// In one pass and, since products of floats are not compared from both sides, in two; of bytes,
// where a kernel keeps the nearest.
TEST(MemoryLimit, IsKeptByMutual) {
  constexpr std::int64_t kMegabyte = 1 << 20;
  for (const auto& [dtype, metric] :
       {std::pair(DType::f32, Metric::sqeuclidean), std::pair(DType::f32, Metric::inner_product),
        std::pair(DType::u8, Metric::sqeuclidean)}) {
    const Matrix first = data::make_matrix({data::Kind::gaussian, dtype, 1100, 4096, 1});
    const Matrix second = data::make_matrix({data::Kind::gaussian, dtype, 1100, 4096, 2});
    const MatrixRows rows(first), others(second);
    const MutualOptions options{.metric = metric};
    mutual(rows, others, options, {.threads = 2});
    for (const std::int64_t limit : {8 * kMegabyte, 16 * kMegabyte, 64 * kMegabyte}) {
      const Context context{.threads = 2, .memory_limit = limit};
      Pairs found;
      const std::int64_t used = measure([&] { found = mutual(rows, others, options, context); });
      EXPECT_LE(used, limit) << to_string(metric);
      const Plan& plan = found.stats.plan;
      EXPECT_LE(used, plan.working_bytes + plan.result_bytes) << to_string(metric);
    }
  }
}

TEST(MemoryLimit, IsKeptWhereTheNumberFoundIsNotKnown) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 3'011, 16, 1});
  const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 300, 16, 2});
  knn(queries, base, {}, {.threads = 2});
  expect_kept_while_found([&](double radius, const Context& context) {
    within(queries, base, {.radius = radius}, context);
  });
  expect_kept_while_found(
      [&](double radius, const Context& context) { pairs(base, {.radius = radius}, context); });
  expect_kept_while_found([&](double radius, const Context& context) {
    const auto count = static_cast<std::int64_t>(radius * 30'000);
    pairs(queries, base, {.count = count}, context);
  });
}

// Limits down to the least: the plan's own bytes, of one thread.
TEST(MemoryLimit, IsKeptBySelecting) {
  constexpr std::int64_t kCols = 300'007;
  std::vector<float> values;
  for (std::int64_t i = 0; i < kCols; ++i) {
    values.push_back(static_cast<float>(i * 7'919 % 100'003 % 5'000));
  }
  const std::vector<std::int64_t> ids(values.size(), 3);
  for (const std::int64_t rows : {1, 3}) {  // the one is cut, or three are not
    const ValuesView view(values.data(), rows, kCols / rows);
    select_k(view, {}, {.threads = 2});
    for (const std::int64_t k : {1, 100, 3'000, 40'000}) {
      for (const bool with_ids : {false, true}) {
        SelectOptions options{.k = k};
        if (with_ids) options.ids = std::span(ids).first(static_cast<std::size_t>(kCols / rows));
        for (const int threads : {1, 2}) {
          Context context{.threads = threads};
          const Plan least = select_k(view, options, {.threads = 1}).stats.plan;
          for (const std::int64_t spare : {0, 1'000'000, 100'000'000}) {
            context.memory_limit = least.result_bytes + least.working_bytes + spare;
            EXPECT_LE(measure([&] { select_k(view, options, context); }), *context.memory_limit)
                << rows << " rows, k " << k << ", ids " << with_ids << ", threads " << threads;
            context.memory_limit.reset();
            const Plan plan = select_k(view, options, context).stats.plan;
            EXPECT_LE(measure([&] { select_k(view, options, context); }),
                      plan.result_bytes + plan.working_bytes)
                << rows << " rows, k " << k << ", ids " << with_ids << ", threads " << threads;
          }
        }
      }
    }
  }
}

TEST(MemoryLimit, IsKeptByACursor) {
  const Matrix base = data::make_matrix({data::Kind::gaussian, DType::f32, 3'011, 16, 1});
  const Matrix queries = data::make_matrix({data::Kind::gaussian, DType::f32, 300, 16, 2});
  knn(queries, base, {}, {.threads = 2});
  const MatrixRows query_rows(queries);
  const MatrixRows base_rows(base);
  Context context{.threads = 2};
  context.memory_limit = 2'000'000;
  KnnCursor cursor(query_rows, base_rows);
  for (int step = 0; step < 4; ++step) {
    // 300 x 200 x 20 bytes: two of them do not fit.
    EXPECT_LE(measure([&] { cursor.next(200, context); }), *context.memory_limit) << step;
  }
}

// Calls of an index under a limit: kept, and where one is refused, nothing has changed.
class LimitedIndex {
 public:
  LimitedIndex(const IndexSpec& spec, std::int64_t limit)
      : index(spec), context_{.threads = 2, .memory_limit = limit} {}

  template <class Call>
  void expect_kept(const char* what, const Call& call) {
    const std::int64_t size = index.size();
    const std::int64_t used = measure([&] {
      try {
        call(context_);
        ++done;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::memory_limit) << error.what();
        EXPECT_EQ(index.size(), size) << what;
        ++refused;
      }
    });
    EXPECT_LE(used, *context_.memory_limit)
        << what << ", " << index.spec().family << " of " << index.spec().cols << " columns";
  }

  Index index;
  int done = 0;
  int refused = 0;

 private:
  Context context_;
};

// Of one that grows behind what it has, by copies of that, and in parts of their own.
TEST(MemoryLimit, IsKeptByAnIndex) {
  constexpr std::int64_t kRows = 20'000;
  constexpr std::int64_t kPiece = 2'500;
  const test::TempFolder folder;
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < kRows; ++i) {
    names.push_back("a name of many letters " + std::to_string(i));
  }
  const std::vector<std::string_view> keys(names.begin(), names.end());
  int done = 0;
  int refused = 0;
  for (const auto& [family, dtype, metric] :
       {std::tuple("flat", DType::f32, Metric::sqeuclidean),
        {"flat", DType::f32, Metric::l1},
        {"flat", DType::u8, Metric::sqeuclidean},
        {"flat", DType::bits, Metric::hamming},
        {"mih", DType::bits, Metric::hamming},
        {"ewh", DType::bits, Metric::hamming},
        {"lsh,tables=4", DType::f32, Metric::cosine},
        {"lsh,tables=2,match=sort,probes=200", DType::u8, Metric::sqeuclidean},
        {"coded,bits=4,iterations=2,train=3000", DType::f32, Metric::sqeuclidean},
        {"coded,kind=lsq,codebooks=3,bits=4,iterations=1,rounds=1,train=3000,rerank=0", DType::u8,
         Metric::euclidean}}) {
    const Matrix vectors = data::make_matrix({data::Kind::uniform, dtype, kRows, 64, 1});
    knn(vectors.view().slice(0, 100), vectors, {.metric = metric}, {.threads = 2});
    for (const bool with_keys : {false, true}) {
      for (const std::int64_t limit : {100'000, 600'000, 3'000'000, 12'000'000, 80'000'000}) {
        LimitedIndex limited({.family = family,
                              .dtype = dtype,
                              .cols = vectors.cols(),
                              .metric = metric,
                              .keys = with_keys},
                             limit);
        Index& index = limited.index;
        for (std::int64_t first = 0; first < kRows; first += kPiece) {
          const MatrixView piece = vectors.view().slice(first, kPiece);
          const auto names_of_piece =
              std::span(keys).subspan(static_cast<std::size_t>(first), kPiece);
          limited.expect_kept("add", [&](const Context& context) {
            if (with_keys) {
              index.add(piece, names_of_piece, {}, context);
            } else {
              index.add(piece, context);
            }
          });
          // So that the next add copies a part of which some are gone.
          index.remove(std::vector<std::int64_t>{first, first + 7});
        }
        const std::vector<std::int64_t> some = index.ids();
        const auto replaced = std::span(some).first(std::min<std::size_t>(some.size(), 100));
        limited.expect_kept("upsert", [&](const Context& context) {
          index.upsert(vectors.view().slice(0, std::ssize(replaced)), replaced, context);
        });
        limited.expect_kept("search", [&](const Context& context) {
          index.search(vectors.view().slice(0, 100), {.k = 50}, context);
        });
        for (const double radius : {9, 20}) {  // bits: looked up; scanned, 40 a query
          if (dtype != DType::bits) continue;
          limited.expect_kept("within", [&](const Context& context) {
            index.within(vectors.view().slice(0, 1'000), {.radius = radius}, context);
          });
        }
        limited.expect_kept(
            "save", [&](const Context& context) { index.save(folder.path("index.nf"), context); });
        limited.expect_kept("compact", [&](const Context& context) { index.compact(context); });
        done += limited.done;
        refused += limited.refused;
      }
    }
  }
  EXPECT_GT(done, 250);  // of 980
  EXPECT_GT(refused, 50);
}

// Its scratch for 16,384 vectors, 21 MB, is a quarter of that in what an index counts.
TEST(MemoryLimit, IsKeptByLocalSearchForAnIndex) {
  const Matrix vectors = data::make_matrix({data::Kind::uniform, DType::u8, 20'000, 64, 1});
  knn(vectors.view().slice(0, 100), vectors, {}, {.threads = 2});
  int done = 0;
  int refused = 0;
  for (std::int64_t limit = 1'000'000; limit <= 41'000'000; limit += 2'000'000) {
    LimitedIndex limited(
        {.family = "coded,kind=lsq,codebooks=2,iterations=1,rounds=1,train=3000,rerank=0",
         .dtype = DType::u8,
         .cols = vectors.cols(),
         .metric = Metric::euclidean},
        limit);
    limited.expect_kept("add",
                        [&](const Context& context) { limited.index.add(vectors, context); });
    done += limited.done;
    refused += limited.refused;
  }
  EXPECT_GT(done, 0);
  EXPECT_GT(refused, 0);
}

// The least that is accepted. Few rows of many columns: codebooks and the rotation count, too.
TEST(MemoryLimit, IsKeptByQuantizersOfColumns) {
  for (const std::int64_t rows : {300, 6'000}) {
    const Matrix vectors = data::make_matrix({data::Kind::gaussian, DType::f32, rows, 128, 1});
    knn(vectors.view().slice(0, 100), vectors, {}, {.threads = 2});
    for (const QuantizerKind kind : {QuantizerKind::pq, QuantizerKind::opq, QuantizerKind::rq}) {
      QuantizerOptions options;
      options.kind = kind;
      options.iterations = 2;
      if (kind == QuantizerKind::rq && rows == 300) options.beam = 64;
      for (const int threads : {1, 2}) {
        SCOPED_TRACE(std::string(to_string(kind)) + " of " + std::to_string(rows) + " rows, " +
                     std::to_string(threads) + " threads");
        Context context{.threads = threads};
        context.memory_limit = training_bytes(options, rows, 128, threads);
        std::optional<Quantizer> trained;
        EXPECT_LE(measure([&] { trained = Quantizer::train(vectors, options, context); }),
                  *context.memory_limit);
        context.memory_limit =
            rows * trained->code_bytes() + encoding_bytes(options, rows, 128, threads);
        EXPECT_LE(measure([&] { trained->encode(vectors, context); }), *context.memory_limit);
        const std::int64_t fewest = std::min<std::int64_t>(rows, 256);  // at a time
        context.memory_limit =
            rows * trained->code_bytes() + encoding_bytes(options, fewest, 128, threads);
        EXPECT_LE(measure([&] { trained->encode(vectors, context); }), *context.memory_limit);
        --*context.memory_limit;
        EXPECT_THROW(trained->encode(vectors, context), Error);
      }
    }
  }
}

TEST(MemoryLimit, IsKeptByDedup) {
  int done = 0;
  int refused = 0;
  for (const std::int64_t rows : {2'000, 30'000}) {
    for (const data::Kind kind : {data::Kind::uniform, data::Kind::duplicates}) {
      const Matrix codes = data::make_matrix({kind, DType::bits, rows, 200, 1});
      const MatrixRows whole(codes);
      const data::PiecewiseRows pieces(codes);
      dedup(codes, {.radius = 12}, {.threads = 2});  // oneTBB's own memory is there from here on
      for (const int threads : {1, 2}) {
        for (const std::int64_t of_a_row : {20, 60, 100, 140, 200, 400}) {
          for (const bool in_memory : {true, false}) {
            const RowSource& source = in_memory ? static_cast<const RowSource&>(whole) : pieces;
            const std::int64_t limit = 600'000 * threads + of_a_row * rows;
            const std::int64_t used = measure([&] {
              try {
                dedup(source, {.radius = 12}, {.threads = threads, .memory_limit = limit});
                ++done;
              } catch (const Error& error) {
                EXPECT_EQ(error.code(), ErrorCode::memory_limit) << error.what();
                ++refused;
              }
            });
            EXPECT_LE(used, limit) << rows << " rows, " << threads << " threads, " << in_memory;
          }
        }
      }
    }
  }
  EXPECT_GT(done, 40);  // of 96
  EXPECT_GT(refused, 10);
}

TEST(MemoryLimit, IsKeptByMatchingManyPairs) {
  int done = 0;
  int refused = 0;
  for (const DType dtype : {DType::u8, DType::f32}) {
    std::vector<Matrix> images;
    for (std::uint64_t i = 0; i < 12; ++i) {
      images.push_back(
          data::make_matrix({data::Kind::gaussian, dtype,
                             i == 5 ? 3'000 : 300 + 20 * static_cast<std::int64_t>(i), 64, i}));
    }
    const data::UnkeptFeatures features(images);
    const std::vector<ImagePair> pairs = exhaustive_pairs(12);
    for (const MatchOptions& options :
         {MatchOptions{}, MatchOptions{.ratio = {}, .cross_check = CrossCheck::none}}) {
      const auto run = [&](const Context& context) {
        match_pairs(
            features, pairs, [](std::int64_t, const Pairs&) {}, options, context);
      };
      run({.threads = 2});  // oneTBB's own memory is there from here on
      for (const int threads : {1, 2}) {
        for (const std::int64_t limit : {100'000, 1'500'000, 3'000'000, 6'000'000, 30'000'000}) {
          const std::int64_t used = measure([&] {
            try {
              run({.threads = threads, .memory_limit = limit});
              ++done;
            } catch (const Error& error) {
              EXPECT_EQ(error.code(), ErrorCode::memory_limit) << error.what();
              ++refused;
            }
          });
          EXPECT_LE(used, limit) << to_string(dtype) << ", " << threads << " threads";
        }
      }
    }
  }
  EXPECT_GT(done, 20);  // of 40
  EXPECT_GE(refused, 8);
}

// False where memory was refused after so many calls.
bool add_with(std::int64_t calls, ObjectIds& to, std::span<const std::int64_t> ids) {
  allowed = calls;
  try {
    to.add(ids);
  } catch (const std::bad_alloc&) {
    return false;  // `allowed` is -1 again
  }
  allowed = -1;
  return true;
}

// Of 100 ids and as many more, which need another table and more words of bits.
TEST(NoMemory, LeavesObjectIdsAsTheyWere) {
  std::vector<std::int64_t> ids(200);
  std::iota(ids.begin(), ids.end(), 1'000);
  const std::span first = std::span(ids).first(100);
  const std::span others = std::span(ids).subspan(100);
  for (const std::int64_t removed : {0, 3}) {
    bool added = false;
    for (std::int64_t calls = 0; !added; ++calls) {
      ObjectIds objects;
      objects.add(first);
      objects.remove(first.first(static_cast<std::size_t>(removed)));
      added = add_with(calls, objects, others);
      EXPECT_TRUE(!added || calls == (removed > 0 ? 3 : 2));
      if (!added) {
        EXPECT_EQ(objects.rows(), 100);
        EXPECT_EQ(objects.next(), 1'100);
        for (std::int64_t row = removed; row < 100; ++row) {
          ASSERT_EQ(objects.find(ids[static_cast<std::size_t>(row)]), row);
        }
        EXPECT_FALSE(objects.find(others.front()));
        objects.add(others);
      }
      EXPECT_EQ(objects.rows(), 200);
      EXPECT_EQ(objects.live(), 200 - removed);
      for (std::int64_t row = removed; row < 200; ++row) {
        ASSERT_EQ(objects.find(ids[static_cast<std::size_t>(row)]), row);
      }
    }
  }
}

}  // namespace
}  // namespace nearfield
