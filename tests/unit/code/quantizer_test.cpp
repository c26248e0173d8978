#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <thread>

#include <nearfield/nearfield.hpp>

#include "code/k_means.hpp"
#include "code/procrustes.hpp"
#include "code/quantizer_memory.hpp"
#include "code/quantizer_state.hpp"
#include "tests/unit/code/code_reference.hpp"
#include "tests/unit/code/small_quantizers.hpp"
#include "tests/unit/expect_error.hpp"

namespace nearfield {
namespace {

using test::bytes_of;
using test::kCols;
using test::kKinds;
using test::small;
using test::values_of;
using test::view;

double mean_error(const Quantizer& quantizer, MatrixView rows) {
  const auto errors = quantizer.squared_errors(rows, quantizer.encode(rows));
  return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
}

TEST(Quantizer, NamesOfKinds) {
  for (const auto kind : kKinds) EXPECT_EQ(parse_quantizer_kind(to_string(kind)), kind);
  for (const auto relaxation : {Relaxation::none, Relaxation::codebooks, Relaxation::rows}) {
    EXPECT_EQ(parse_relaxation(to_string(relaxation)), relaxation);
  }
  test::expect_error([] { parse_quantizer_kind("aq"); }, ErrorCode::invalid_argument,
                     {"aq", "pq, opq, rq, lsq"});
}

TEST(Quantizer, CodesStandForTheSumOfTheirCodewords) {
  const auto rows = test::rows_to_code(400, kCols);
  for (const auto kind : kKinds) {
    for (const int bits : {4, 8}) {
      const int m = bits == 4 ? 5 : 3;
      const Quantizer quantizer = Quantizer::train(view(rows), small(kind, m, bits));
      EXPECT_EQ(quantizer.code_bytes(), 3);
      const Matrix codes = quantizer.encode(view(rows).slice(0, 30));
      const Matrix decoded = quantizer.decode(codes);
      const auto books = values_of(quantizer.codebooks());
      for (std::int64_t row = 0; row < 30; ++row) {
        std::vector<float> sum(kCols);
        for (int k = 0; k < m; ++k) {
          const int byte = std::to_integer<int>(codes.row(row)[bits == 8 ? k : k / 2]);
          const int code = bits == 8 ? byte : k % 2 == 0 ? byte & 15 : byte >> 4;
          for (std::int64_t i = 0; i < kCols; ++i) {
            sum[static_cast<std::size_t>(i)] +=
                books[static_cast<std::size_t>((k * (1 << bits) + code) * kCols + i)];
          }
        }
        const auto* const got = reinterpret_cast<const float*>(decoded.row(row));
        for (std::int64_t i = 0; i < kCols; ++i) {
          ASSERT_NEAR(got[i], sum[static_cast<std::size_t>(i)], 1e-4) << to_string(kind);
        }
      }
    }
  }
}

TEST(Quantizer, TheSameBitsOnAnyIsaAndThreads) {
  const auto rows = test::rows_to_code(300, kCols);
  for (const auto kind : kKinds) {
    QuantizerOptions options = small(kind);
    options.relaxation = Relaxation::codebooks;
    Context context;
    context.threads = 1;
    context.seed = 7;
    const Quantizer expected = Quantizer::train(view(rows), options, context);
    const auto codes = bytes_of(expected.encode(view(rows), context));
    for (const Isa isa : available_isas()) {
      context.isa = isa;
      context.threads = 3;
      const Quantizer trained = Quantizer::train(view(rows), options, context);
      EXPECT_EQ(values_of(trained.codebooks()), values_of(expected.codebooks()))
          << to_string(kind) << " " << to_string(isa);
      EXPECT_EQ(bytes_of(expected.encode(view(rows), context)), codes)
          << to_string(kind) << " " << to_string(isa);
    }
    context = {};
    context.seed = 8;
    const Quantizer other = Quantizer::train(view(rows), options, context);
    EXPECT_NE(values_of(other.codebooks()), values_of(expected.codebooks())) << to_string(kind);
  }
}

// Pieces grow with threads, as far as memory is left.
TEST(Quantizer, TheSameBitsWhereManyThreadsEncodeManyRows) {
  const auto rows = test::rows_to_code(40'000, kCols);
  QuantizerOptions options;
  options.codebooks = 3;
  options.bits = 4;
  options.iterations = 2;
  options.train_rounds = 1;
  options.rounds = 1;
  const Quantizer quantizer = Quantizer::train(view(rows).slice(0, 500), options, {.seed = 7});
  const auto codes = bytes_of(quantizer.encode(view(rows), {.threads = 1}));
  const std::int64_t least =
      40'000 * quantizer.code_bytes() + encoding_bytes(options, 40'000, kCols, 9);
  for (const std::int64_t spare :
       {std::int64_t{0}, std::int64_t{3'000'000}, std::int64_t{1} << 40}) {
    EXPECT_EQ(bytes_of(quantizer.encode(view(rows), {.threads = 9, .memory_limit = least + spare})),
              codes)
        << spare;
  }
}

TEST(Quantizer, AVectorsCodeDoesNotHangOnOthersOrOnItsType) {
  const auto rows = test::rows_to_code(300, kCols);
  std::vector<std::uint8_t> bytes;
  for (const float value : rows) {
    bytes.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F)));
  }
  std::vector<float> whole(bytes.begin(), bytes.end());
  for (const auto kind : kKinds) {
    const Quantizer quantizer = Quantizer::train(view(whole), small(kind));
    const Matrix all = quantizer.encode(MatrixView(bytes.data(), 300, kCols));
    const Matrix some = quantizer.encode(view(whole).slice(100, 7));
    EXPECT_EQ(std::memcmp(all.row(100), some.row(0), 7 * 2), 0) << to_string(kind);
  }
}

TEST(Quantizer, ErrorsFallFromKindToKind) {
  const auto rows = test::rows_to_code(2000, kCols);
  const auto error_of = [&](QuantizerKind kind) {
    QuantizerOptions options = small(kind);
    options.iterations = 10;
    if (kind == QuantizerKind::lsq) options.rounds = 16;
    return mean_error(Quantizer::train(view(rows), options), view(rows));
  };
  const double opq = error_of(QuantizerKind::opq);
  EXPECT_LT(opq, error_of(QuantizerKind::pq));
  EXPECT_LT(error_of(QuantizerKind::lsq), opq);
}

TEST(Quantizer, TrainingOfLsqNeverGrowsTheError) {
  const auto rows = test::rows_to_code(1000, kCols);
  QuantizerOptions options = small(QuantizerKind::lsq);
  options.iterations = 8;
  std::vector<double> heard;
  TrainOptions training;
  training.iteration = [&](int iteration, double error) {
    heard.push_back(error);
    EXPECT_EQ(iteration, std::ssize(heard));
  };
  const Quantizer quantizer = Quantizer::train(view(rows), options, {}, training);
  const std::vector<double> errors(quantizer.errors().begin(), quantizer.errors().end());
  EXPECT_EQ(errors, heard);
  ASSERT_EQ(errors.size(), 8U);
  for (std::size_t i = 1; i < errors.size(); ++i) EXPECT_LE(errors[i], errors[i - 1] * (1 + 1e-5));
}

TEST(Quantizer, RelaxationsChangeTheCourseAndEndWithoutNoise) {
  const auto rows = test::rows_to_code(1000, kCols);
  QuantizerOptions options = small(QuantizerKind::lsq);
  options.iterations = 10;
  const double plain = mean_error(Quantizer::train(view(rows), options), view(rows));
  for (const auto relaxation : {Relaxation::codebooks, Relaxation::rows}) {
    options.relaxation = relaxation;
    const double relaxed = mean_error(Quantizer::train(view(rows), options), view(rows));
    EXPECT_NE(relaxed, plain);
    EXPECT_LT(relaxed, 1.2 * plain);
  }
}

// One codebook: Lloyd's iterations from the same random codes, written out, whatever the noise.
TEST(Quantizer, LsqOfOneCodebookIsKMeans) {
  const auto rows = test::rows_to_code(500, kCols);
  QuantizerOptions options = small(QuantizerKind::lsq, 1, 4);
  const Quantizer quantizer = Quantizer::train(view(rows), options);
  std::vector<std::uint8_t> nearest(500);
  Random random(0);
  for (auto& code : nearest) code = static_cast<std::uint8_t>(random.below(16));
  std::vector<float> centroids(16 * kCols);
  const auto means = [&] {
    for (int b = 0; b < 16; ++b) {
      const auto members = std::count(nearest.begin(), nearest.end(), b);
      if (members == 0) continue;
      for (std::int64_t i = 0; i < kCols; ++i) {
        double sum = 0;
        for (std::int64_t row = 0; row < 500; ++row) {
          if (nearest[static_cast<std::size_t>(row)] == b) {
            sum += rows[static_cast<std::size_t>(row * kCols + i)];
          }
        }
        centroids[static_cast<std::size_t>(b * kCols + i)] =
            static_cast<float>(sum / static_cast<double>(members));
      }
    }
  };
  const auto assign_rows = [&] {
    for (std::int64_t row = 0; row < 500; ++row) {
      double least = HUGE_VAL;
      for (int b = 0; b < 16; ++b) {
        double sum = 0;
        for (std::int64_t i = 0; i < kCols; ++i) {
          const double difference = double{rows[static_cast<std::size_t>(row * kCols + i)]} -
                                    centroids[static_cast<std::size_t>(b * kCols + i)];
          sum += difference * difference;
        }
        if (sum < least) {
          least = sum;
          nearest[static_cast<std::size_t>(row)] = static_cast<std::uint8_t>(b);
        }
      }
    }
  };
  means();
  for (int i = 0; i < options.iterations; ++i) {
    assign_rows();
    means();
  }
  EXPECT_EQ(values_of(quantizer.codebooks()), centroids);
  for (const auto relaxation : {QuantizerOptions().relaxation, Relaxation::rows}) {
    options.relaxation = relaxation;
    EXPECT_EQ(values_of(Quantizer::train(view(rows), options).codebooks()), centroids)
        << to_string(relaxation);
  }
  assign_rows();
  const Matrix codes = quantizer.encode(view(rows));
  for (std::int64_t row = 0; row < 500; ++row) {
    ASSERT_EQ(std::to_integer<int>(codes.row(row)[0]), nearest[static_cast<std::size_t>(row)]);
  }
}

TEST(Quantizer, PqTakesTheNearestOfEachPart) {
  const auto rows = test::rows_to_code(400, kCols);
  const Quantizer quantizer = Quantizer::train(view(rows), small(QuantizerKind::pq, 3));
  const auto books = values_of(quantizer.codebooks());
  const Matrix codes = quantizer.encode(view(rows));
  const std::array<std::int64_t, 4> first{0, 6, 13, 20};
  for (std::int64_t row = 0; row < 400; ++row) {
    for (int k = 0; k < 3; ++k) {
      int best = 0;
      double least = HUGE_VAL;
      for (int b = 0; b < 16; ++b) {
        double sum = 0;
        for (std::int64_t i = 0; i < kCols; ++i) {
          const float word = books[static_cast<std::size_t>((k * 16 + b) * kCols + i)];
          if (i < first[static_cast<std::size_t>(k)] ||
              i >= first[static_cast<std::size_t>(k) + 1]) {
            ASSERT_EQ(word, 0);
            continue;
          }
          const double difference = double{rows[static_cast<std::size_t>(row * kCols + i)]} - word;
          sum += difference * difference;
        }
        if (sum < least) {
          least = sum;
          best = b;
        }
      }
      const int byte = std::to_integer<int>(codes.row(row)[k / 2]);
      ASSERT_EQ(k % 2 == 0 ? byte & 15 : byte >> 4, best) << row << " " << k;
    }
  }
}

TEST(Quantizer, RqOfBeamOneIsGreedyAndWiderBeamsAreBetter) {
  const auto rows = test::rows_to_code(600, kCols);
  QuantizerOptions options = small(QuantizerKind::rq, 4);
  options.beam = 1;
  const Quantizer greedy = Quantizer::train(view(rows), options);
  const auto books = values_of(greedy.codebooks());
  const Matrix codes = greedy.encode(view(rows));
  for (std::int64_t row = 0; row < 100; ++row) {
    std::vector<double> rest(rows.begin() + row * kCols, rows.begin() + (row + 1) * kCols);
    for (int k = 0; k < 4; ++k) {
      const auto distance = [&](int b) {
        double sum = 0;
        for (std::int64_t i = 0; i < kCols; ++i) {
          const double difference = rest[static_cast<std::size_t>(i)] -
                                    books[static_cast<std::size_t>((k * 16 + b) * kCols + i)];
          sum += difference * difference;
        }
        return sum;
      };
      double least = HUGE_VAL;
      for (int b = 0; b < 16; ++b) least = std::min(least, distance(b));
      const int byte = std::to_integer<int>(codes.row(row)[k / 2]);
      const int code = k % 2 == 0 ? byte & 15 : byte >> 4;
      ASSERT_NEAR(distance(code), least, 1e-4 * least) << row << " " << k;
      for (std::int64_t i = 0; i < kCols; ++i) {
        rest[static_cast<std::size_t>(i)] -=
            books[static_cast<std::size_t>((k * 16 + code) * kCols + i)];
      }
    }
  }
  options.beam = 16;
  const Quantizer wide = Quantizer::train(view(rows), options);
  EXPECT_EQ(values_of(wide.codebooks()), books);
  EXPECT_LT(mean_error(wide, view(rows)), mean_error(greedy, view(rows)));
}

TEST(Quantizer, OpqsRotationIsOne) {
  const auto rows = test::rows_to_code(500, kCols);
  const Context context;
  Monitor monitor(context, 1);
  const CodeWork work{code_kernels(default_isa(), 16), context, 2, monitor};
  // Targets are the rows, rotated: that rotation is what must be found.
  std::vector<double> random_matrix(kCols * kCols);
  Random random(3);
  for (double& value : random_matrix) value = random.normal();
  const auto rotation = nearest_orthogonal(random_matrix, kCols, monitor);
  for (std::int64_t a = 0; a < kCols; ++a) {
    for (std::int64_t b = 0; b < kCols; ++b) {
      double sum = 0;
      for (std::int64_t i = 0; i < kCols; ++i) {
        sum += rotation[static_cast<std::size_t>(a * kCols + i)] *
               rotation[static_cast<std::size_t>(b * kCols + i)];
      }
      ASSERT_NEAR(sum, a == b ? 1 : 0, 1e-10);
    }
  }
  std::vector<float> targets(rows.size());
  for (std::int64_t row = 0; row < 500; ++row) {
    for (std::int64_t j = 0; j < kCols; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < kCols; ++i) {
        sum += rows[static_cast<std::size_t>(row * kCols + i)] *
               rotation[static_cast<std::size_t>(j * kCols + i)];
      }
      targets[static_cast<std::size_t>(row * kCols + j)] = static_cast<float>(sum);
    }
  }
  const std::vector<float> old(kCols * kCols);
  const auto found = best_rotation({rows.data(), 500, kCols, kCols}, targets.data(), old, work);
  for (std::int64_t i = 0; i < kCols; ++i) {
    for (std::int64_t j = 0; j < kCols; ++j) {
      ASSERT_NEAR(found[static_cast<std::size_t>(i * kCols + j)],
                  rotation[static_cast<std::size_t>(j * kCols + i)], 1e-4);
    }
  }
}

TEST(KMeans, ACentroidWithoutRowsTakesTheFarthestRow) {
  std::vector<float> rows(20);
  rows[4] = 10;
  rows[5] = 20;
  rows[19] = 30;
  const Context context;
  Monitor monitor(context, 1);
  const CodeWork work{code_kernels(default_isa(), 16), context, 1, monitor};
  const FloatRows line{rows.data(), 20, 1, 1};
  KMeans state;
  state.centroids.assign(16, 1000);
  state.centroids[2] = 0;
  assign(line, 16, state, work);
  become_means(line, 16, state, work);
  std::vector<float> expected(16);
  expected[0] = 30;
  expected[1] = 20;
  expected[2] = 3;
  expected[3] = 10;
  EXPECT_EQ(state.centroids, expected);
}

TEST(Quantizer, SaysWhatIsWrong) {
  auto rows = test::rows_to_code(300, kCols);
  const Quantizer quantizer = Quantizer::train(view(rows), small(QuantizerKind::lsq));
  const auto invalid = [&](auto change, std::initializer_list<std::string_view> parts) {
    QuantizerOptions options = small(QuantizerKind::pq);
    change(options);
    test::expect_error([&] { Quantizer::train(view(rows), options); }, ErrorCode::invalid_argument,
                       parts);
  };
  invalid([](auto& o) { o.codebooks = 65; }, {"codebooks", "65", "64"});
  invalid([](auto& o) { o.codebooks = 0; }, {"codebooks", "0"});
  invalid([](auto& o) { o.bits = 5; }, {"bits", "5", "4 or 8"});
  invalid([](auto& o) { o.codebooks = 21; }, {"20 columns", "21"});
  invalid([](auto& o) { o.iterations = 0; }, {"iterations"});
  invalid([](auto& o) { o.beam = 4; }, {"beam", "rq", "pq"});
  invalid([](auto& o) { o.rounds = 4; }, {"rounds", "lsq", "pq"});
  invalid([](auto& o) { o.train_rounds = 4; }, {"train_rounds", "lsq"});
  invalid([](auto& o) { o.perturbed = 2; }, {"perturbed", "lsq"});
  invalid([](auto& o) { o.sweeps = 2; }, {"sweeps", "lsq"});
  invalid([](auto& o) { o.random_order = true; }, {"random_order", "lsq"});
  invalid([](auto& o) { o.relaxation = Relaxation::rows; }, {"relaxation", "lsq"});
  invalid([](auto& o) { (o.kind = QuantizerKind::lsq, o.beam = 4); }, {"beam", "rq", "lsq"});
  test::expect_error([&] { Quantizer::train(view(rows).slice(0, 15), small(QuantizerKind::pq)); },
                     ErrorCode::invalid_argument, {"16 codewords", "15"});
  test::expect_error([&] { quantizer.encode(view(rows, 10)); }, ErrorCode::invalid_argument,
                     {"20 columns", "10"});
  test::expect_error([&] { quantizer.decode(view(rows)); }, ErrorCode::invalid_argument,
                     {"2 columns of u8", "f32"});
  rows[5 * kCols + 3] = NAN;
  test::expect_error([&] { quantizer.encode(view(rows)); }, ErrorCode::not_finite, {"row 5"});
  rows[5 * kCols + 3] = 1e30F;
  test::expect_error([&] { Quantizer::train(view(rows), small(QuantizerKind::pq)); },
                     ErrorCode::not_finite, {"row 5"});
  TrainOptions training;
  training.checkpoint = "never written";
  test::expect_error([&] { Quantizer::train(view(rows), small(QuantizerKind::pq), {}, training); },
                     ErrorCode::unsupported, {"pq", "checkpoint"});
  TrainOptions curve;
  curve.iteration = [](int, double) { ADD_FAILURE() << "nobody calls it"; };
  for (const auto kind : {QuantizerKind::pq, QuantizerKind::rq}) {
    test::expect_error([&] { Quantizer::train(view(rows), small(kind), {}, curve); },
                       ErrorCode::unsupported, {to_string(kind), "iteration"});
  }
}

// Times a power of two all values keep their digits, and codes by float64 stay what they were.
TEST(Quantizer, TinyValuesAreCodedOrRefused) {
  const auto rows = test::rows_to_code(300, kCols);
  for (const auto kind : kKinds) {
    SCOPED_TRACE(to_string(kind));
    const bool in_float32 = kind == QuantizerKind::rq || kind == QuantizerKind::lsq;
    const auto codes = bytes_of(Quantizer::train(view(rows), small(kind)).encode(view(rows)));
    for (const float size : {0x1p-40F, 0x1p-58F, 0x1p-66F, 0x1p-73F}) {
      std::vector<float> tiny = rows;
      for (float& value : tiny) value *= size;
      const auto train = [&] { return Quantizer::train(view(tiny), small(kind)); };
      if (in_float32 && size < 0x1p-57F) {
        test::expect_error(train, ErrorCode::invalid_argument,
                           {"300 rows", "1e-15", to_string(kind)});
      } else if (kind == QuantizerKind::lsq) {
        train();  // its random codes are of the bits of values
      } else {
        EXPECT_EQ(bytes_of(train().encode(view(tiny))), codes) << size;
      }
    }
    std::vector<float> mixed = rows;
    std::fill_n(mixed.begin() + 7 * kCols, kCols, 1e-20F);
    Quantizer::train(view(mixed), small(kind)).encode(view(mixed));
    const std::vector<float> zeros(rows.size());
    Quantizer::train(view(zeros), small(kind)).encode(view(zeros));
  }
}

TEST(Quantizer, HonoursContexts) {
  const auto rows = test::rows_to_code(300, kCols);
  for (const auto kind : kKinds) {
    const Quantizer quantizer = Quantizer::train(view(rows), small(kind));
    Context context;
    context.memory_limit = 1000;
    test::expect_error([&] { Quantizer::train(view(rows), small(kind), context); },
                       ErrorCode::memory_limit, {"300 rows", "1000"});
    test::expect_error([&] { quantizer.encode(view(rows), context); }, ErrorCode::memory_limit,
                       {"300 rows"});
    context = {};
    context.device = "opencl";
    if (kind != QuantizerKind::lsq) {
      test::expect_error([&] { quantizer.encode(view(rows), context); }, ErrorCode::unsupported,
                         {"encoding", "2 codebooks or more", to_string(kind)});
    }
    context = {};
    Progress last;
    context.progress = [&](const Progress& progress) {
      EXPECT_LE(last.done, progress.done);
      EXPECT_LE(progress.done, progress.total) << to_string(kind);
      last = progress;
    };
    quantizer.encode(view(rows), context);
    EXPECT_EQ(last.done, 300);
    last = {};
    Quantizer::train(view(rows), small(kind), context);
    EXPECT_EQ(last.done, last.total);
    context = {};
    context.cancel.cancel();
    test::expect_error([&] { quantizer.encode(view(rows), context); }, ErrorCode::cancelled, {});
    test::expect_error([&] { Quantizer::train(view(rows), small(kind), context); },
                       ErrorCode::cancelled, {});
  }
}

// Between an iteration's end and the codebooks of it there is time for another report.
TEST(Quantizer, ProgressOfOpqEndsAtItsTotal) {
  const auto rows = test::rows_to_code(300, kCols);
  QuantizerOptions options = small(QuantizerKind::opq);
  options.iterations = 2;
  Context context;
  Progress last;
  context.progress = [&](const Progress& progress) {
    EXPECT_LE(last.done, progress.done);
    EXPECT_LE(progress.done, progress.total);
    last = progress;
  };
  const auto wait = [](int, double) {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  };
  Quantizer::train(view(rows), options, context, {.checkpoint = {}, .iteration = wait});
  EXPECT_EQ(last.done, last.total);
}

// Fewer at a time: the same codes.
TEST(Quantizer, EncodesPieceByPieceWhereMemoryIsShort) {
  const auto rows = test::rows_to_code(5'000, kCols);
  for (const auto kind : kKinds) {
    const Quantizer quantizer = Quantizer::train(view(rows), small(kind));
    const Matrix codes = quantizer.encode(view(rows));
    Context context{.threads = 1};
    const std::int64_t of_codes = codes.rows() * codes.cols();
    context.memory_limit = of_codes + encoding_bytes(quantizer.options(), 256, kCols, 1);
    EXPECT_LT(*context.memory_limit,
              of_codes + encoding_bytes(quantizer.options(), 5'000, kCols, 1));
    EXPECT_EQ(bytes_of(quantizer.encode(view(rows), context)), bytes_of(codes)) << to_string(kind);
    --*context.memory_limit;
    test::expect_error([&] { quantizer.encode(view(rows), context); }, ErrorCode::memory_limit,
                       {"5000 rows"});
  }
}

TEST(Quantizer, OfNoRows) {
  const auto rows = test::rows_to_code(300, kCols);
  for (const auto kind : kKinds) {
    const Quantizer quantizer = Quantizer::train(view(rows), small(kind));
    const Matrix codes = quantizer.encode(view(rows).slice(0, 0));
    EXPECT_EQ(codes.rows(), 0);
    EXPECT_EQ(quantizer.decode(codes).rows(), 0);
  }
}

}  // namespace
}  // namespace nearfield
