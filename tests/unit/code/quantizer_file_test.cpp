// Files of quantizers, and checkpoints.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nearfield/quantize.hpp>

#include "code/quantizer_state.hpp"
#include "tests/unit/code/code_reference.hpp"
#include "tests/unit/code/small_quantizers.hpp"
#include "tests/unit/expect_error.hpp"
#include "tests/unit/io/temp_folder.hpp"

namespace nearfield {
namespace {

using test::bytes_of;
using test::kCols;
using test::kKinds;
using test::small;
using test::values_of;
using test::view;

TEST(QuantizerFile, FilesHoldAllOfIt) {
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

TEST(QuantizerFile, FilesThatAreWrongAreRefused) {
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

TEST(QuantizerFile, FilesWithAnythingButARotationAreRefused) {
  const test::TempFolder folder;
  auto state = std::make_shared<Quantizer::State>();
  state->options = small(QuantizerKind::opq);
  state->coding = Codebooks(4, 16, kCols);
  state->rotation.assign(kCols * kCols, 0);
  for (std::int64_t i = 0; i < kCols; ++i) {
    state->rotation[static_cast<std::size_t>(i * kCols + (i + 3) % kCols)] = 1;
  }
  const std::string path = folder.path("rotated.safetensors");
  write_quantizer(path, *state, {});
  EXPECT_EQ(Quantizer::open(path).cols(), kCols);
  const auto refused = [&](std::size_t at, float value, std::string_view says) {
    const float before = std::exchange(state->rotation[at], value);
    write_quantizer(path, *state, {});
    test::expect_error([&] { Quantizer::open(path); }, ErrorCode::corrupt_file,
                       {"rotated.safetensors", "rotation", says});
    state->rotation[at] = before;
  };
  refused(3, 2, "beyond");
  refused(3, 0.9F, "value 0 is");
  refused(5, 0.5F, "no rotation");
  refused(7, NAN, "not finite");
}

// Encoding looks at the columns of a codebook alone, decoding at all: they would not agree.
TEST(QuantizerFile, CodewordsOfPqOutsideTheirColumnsAreRefused) {
  const test::TempFolder folder;
  const auto rows = test::rows_to_code(300, kCols);
  const std::string path = folder.path("outside.safetensors");
  for (const auto kind : {QuantizerKind::pq, QuantizerKind::opq}) {
    const Quantizer quantizer = Quantizer::train(view(rows), small(kind));
    auto state = std::make_shared<Quantizer::State>();
    state->options = quantizer.options();
    state->coding = quantizer.state().coding;
    state->rotation = quantizer.state().rotation;
    state->errors = {1};
    // Codebook 1 of 4 has columns 5 to 9 of 20.
    for (const std::int64_t column : {4, 10}) {
      float& outside = state->coding.word(1, 3)[column];
      outside = 0.5F;
      write_quantizer(path, *state, {});
      test::expect_error([&] { Quantizer::open(path); }, ErrorCode::corrupt_file,
                         {"outside.safetensors", "codebooks", "codeword 3 of codebook 1",
                          "columns 5 to 9", to_string(kind)});
      outside = 0;
    }
    write_quantizer(path, *state, {});
    EXPECT_EQ(bytes_of(Quantizer::open(path).encode(view(rows))),
              bytes_of(quantizer.encode(view(rows))));
  }
}

// Codebooks that no training makes: one alone is not zero, and rows lie far away from all.
TEST(QuantizerFile, OddCodebooksAreUsedAsTheyAre) {
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

TEST(QuantizerFile, TrainingGoesOnFromACheckpointWithTheSameBits) {
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
  // A name that the system has no files of.
  training.checkpoint = folder.path(std::string(1'000, 'c'));
  test::expect_error([&] { Quantizer::train(view(rows), options, {}, training); }, ErrorCode::io,
                     {training.checkpoint, "too long"});
}

}  // namespace
}  // namespace nearfield
