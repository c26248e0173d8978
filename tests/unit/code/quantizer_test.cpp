#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <nearfield/nearfield.hpp>

#include "code/k_means.hpp"
#include "code/procrustes.hpp"
#include "code/quantizer_state.hpp"
#include "core/fail.hpp"
#include "tests/unit/code/code_reference.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kCols = 20;

MatrixView view(const std::vector<float>& rows, std::int64_t cols = kCols) {
  return {rows.data(), std::ssize(rows) / cols, cols};
}

QuantizerOptions small(QuantizerKind kind, int codebooks = 4, int bits = 4) {
  QuantizerOptions options;
  options.kind = kind;
  options.codebooks = codebooks;
  options.bits = bits;
  options.iterations = 4;
  options.rounds = 4;
  options.train_rounds = 2;
  options.relaxation = Relaxation::none;
  options.beam = 4;
  return options;
}

std::vector<std::byte> bytes_of(const Matrix& matrix) {
  std::vector<std::byte> bytes;
  for (std::int64_t row = 0; row < matrix.rows(); ++row) {
    bytes.insert(bytes.end(), matrix.row(row),
                 matrix.row(row) + row_bytes(matrix.dtype(), matrix.cols()));
  }
  return bytes;
}

std::vector<float> values_of(MatrixView rows) {
  std::vector<float> values(static_cast<std::size_t>(rows.rows() * rows.cols()));
  std::memcpy(values.data(), rows.row(0), values.size() * sizeof(float));
  return values;
}

double mean_error(const Quantizer& quantizer, MatrixView rows) {
  const auto errors = quantizer.squared_errors(rows, quantizer.encode(rows));
  return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
}

constexpr std::array kKinds = {QuantizerKind::pq, QuantizerKind::opq, QuantizerKind::rq,
                               QuantizerKind::lsq};

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
  QuantizerOptions options = small(QuantizerKind::pq);
  options.iterations = 10;
  options.rounds = 16;
  const double pq = mean_error(Quantizer::train(view(rows), options), view(rows));
  options.kind = QuantizerKind::opq;
  const double opq = mean_error(Quantizer::train(view(rows), options), view(rows));
  options.kind = QuantizerKind::lsq;
  const double lsq = mean_error(Quantizer::train(view(rows), options), view(rows));
  EXPECT_LT(opq, pq);
  EXPECT_LT(lsq, opq);
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

// One codebook: Lloyd's iterations from the same random codes, written out.
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

TEST(Quantizer, FilesHoldAllOfIt) {
  const test::TempFolder folder;
  const auto rows = test::rows_to_code(300, kCols);
  for (const auto kind : kKinds) {
    const Quantizer quantizer = Quantizer::train(view(rows), small(kind));
    const std::string path = folder.path("quantizer.safetensors");
    quantizer.save(path);
    const Quantizer opened = Quantizer::open(path);
    EXPECT_EQ(opened.options(), quantizer.options());
    EXPECT_EQ(opened.seed(), quantizer.seed());
    EXPECT_TRUE(std::equal(opened.errors().begin(), opened.errors().end(),
                           quantizer.errors().begin(), quantizer.errors().end()));
    EXPECT_EQ(values_of(opened.codebooks()), values_of(quantizer.codebooks()));
    EXPECT_EQ(bytes_of(opened.encode(view(rows))), bytes_of(quantizer.encode(view(rows))));
  }
}

TEST(Quantizer, FilesThatAreWrongAreRefused) {
  const test::TempFolder folder;
  const auto rows = test::rows_to_code(300, kCols);
  const std::string path = folder.path("quantizer.safetensors");
  Quantizer::train(view(rows), small(QuantizerKind::lsq)).save(path);
  const std::string whole = folder.get("quantizer.safetensors");
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = whole;
    const auto at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    return folder.put("changed.safetensors", changed);
  };
  const auto refused = [](const std::string& changed) {
    test::expect_error([&] { Quantizer::open(changed); }, ErrorCode::corrupt_file,
                       {"changed.safetensors"});
  };
  refused(with("\"kind\":\"lsq\"", "\"kind\":\"aaa\""));
  refused(with("\"bits\":\"4\"", "\"bits\":\"8\""));
  refused(with("\"bits\":\"4\"", "\"bits\":\"x\""));
  refused(with("nearfield-quantizer", "nearfield-quantizes"));
  std::string flipped = whole;
  flipped[flipped.size() - 5] ^= 1;
  refused(folder.put("changed.safetensors", flipped));
  refused(folder.put("changed.safetensors", whole.substr(0, whole.size() / 2)));
  // As its sums would have it, and not a number all the same.
  const Quantizer quantizer = Quantizer::open(path);
  auto state = std::make_shared<Quantizer::State>();
  state->options = quantizer.options();
  state->coding = Codebooks(4, 16, kCols);
  state->coding.values[7] = NAN;
  state->errors = {1};
  write_quantizer(folder.path("changed.safetensors"), *state, {});
  refused(folder.path("changed.safetensors"));
}

TEST(Quantizer, FilesWithAnythingButARotationAreRefused) {
  const test::TempFolder folder;
  auto state = std::make_shared<Quantizer::State>();
  state->options = small(QuantizerKind::opq);
  state->coding = Codebooks(4, 16, kCols);
  state->rotation.assign(kCols * kCols, 0.5F);
  const std::string path = folder.path("rotated.safetensors");
  write_quantizer(path, *state, {});
  EXPECT_EQ(Quantizer::open(path).cols(), kCols);
  state->rotation[3] = 2;
  write_quantizer(path, *state, {});
  test::expect_error([&] { Quantizer::open(path); }, ErrorCode::corrupt_file,
                     {"rotated.safetensors", "rotation"});
}

// Codebooks that no training makes: one alone is not zero, and rows lie far away from all.
TEST(Quantizer, OddCodebooksAreUsedAsTheyAre) {
  const test::TempFolder folder;
  for (const float size : {1e-10F, 1.0F, 1e13F}) {
    auto state = std::make_shared<Quantizer::State>();
    state->options = small(QuantizerKind::lsq, 2);
    state->coding = Codebooks(2, 16, 1);
    for (int b = 0; b < 16; ++b) state->coding.word(0, b)[0] = size * static_cast<float>(b);
    const std::string path = folder.path("odd.safetensors");
    write_quantizer(path, *state, {});
    const Quantizer quantizer = Quantizer::open(path);
    const std::vector<float> rows{0, 5.2F * size, -100 * size, 100 * size, 1e15F};
    const Matrix codes = quantizer.encode({rows.data(), 5, 1});
    const auto first = [&](std::int64_t row) {
      return std::to_integer<int>(codes.row(row)[0]) & 15;
    };
    EXPECT_EQ(first(0), 0);
    EXPECT_EQ(first(1), 5);
    EXPECT_EQ(first(2), 0);
    EXPECT_EQ(first(3), 15);
  }
}

TEST(Quantizer, TrainingGoesOnFromACheckpointWithTheSameBits) {
  const test::TempFolder folder;
  const auto rows = test::rows_to_code(300, kCols);
  QuantizerOptions options = small(QuantizerKind::lsq);
  options.iterations = 6;
  options.relaxation = Relaxation::rows;
  const Quantizer whole = Quantizer::train(view(rows), options);
  TrainOptions training;
  training.checkpoint = folder.path("checkpoint");
  Context context;
  training.iteration = [&](int iteration, double) {
    if (iteration == 3) context.cancel.cancel();
  };
  EXPECT_THROW(Quantizer::train(view(rows), options, context, training), Error);
  std::vector<int> heard;
  training.iteration = [&](int iteration, double) { heard.push_back(iteration); };
  const Quantizer resumed = Quantizer::train(view(rows), options, {}, training);
  EXPECT_EQ(heard, (std::vector<int>{4, 5, 6}));
  EXPECT_EQ(values_of(resumed.codebooks()), values_of(whole.codebooks()));
  EXPECT_TRUE(std::equal(resumed.errors().begin(), resumed.errors().end(), whole.errors().begin(),
                         whole.errors().end()));
  // Of others it is refused, not overwritten.
  const std::string before = folder.get("checkpoint");
  Context other;
  other.seed = 1;
  test::expect_error([&] { Quantizer::train(view(rows), options, other, training); },
                     ErrorCode::invalid_argument, {"checkpoint", "seed"});
  const auto others = test::rows_to_code(300, kCols, 99);
  test::expect_error([&] { Quantizer::train(view(others), options, {}, training); },
                     ErrorCode::invalid_argument, {"other rows"});
  EXPECT_EQ(folder.get("checkpoint"), before);
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
