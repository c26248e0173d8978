// Signatures of texts never claim more than the distance, and say the same on every ISA.
#include "object/letter_signatures.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include <nearfield/object_metrics.hpp>

#include "core/random.hpp"
#include "tests/oracle/texts.hpp"

namespace nearfield {
namespace {

ObjectView bytes_of(const std::string& text) { return ObjectBytes<std::string>::bytes(text); }

struct SignedTexts {
  std::vector<std::string> texts;
  std::shared_ptr<const LetterSignatures> signatures;
  std::vector<std::byte> of_all;

  SignedTexts(std::uint64_t seed, std::int64_t count, std::int64_t longest) {
    Random random(seed);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t most = i % 10 == 0 ? longest : 10;
      texts.push_back(test::some_text(random, most));
    }
    std::vector<ObjectView> sample;
    for (const std::string& text : texts) sample.push_back(bytes_of(text));
    signatures = LetterSignatures::fitted(sample);
    const auto bytes = static_cast<std::size_t>(signatures->bytes());
    of_all.resize(texts.size() * bytes);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      signatures->make(sample[i], of_all.data() + i * bytes);
    }
  }

  std::vector<std::uint8_t> levels(const std::string& query, Isa isa, std::uint8_t before) const {
    std::vector<std::byte> own(static_cast<std::size_t>(signatures->bytes()));
    signatures->make(bytes_of(query), own.data());
    std::vector<std::uint8_t> levels(texts.size(), before);
    signatures->raise_levels(own.data(), of_all.data(), std::ssize(texts), 1, isa, levels.data());
    return levels;
  }
};

TEST(LetterSignatures, NeverClaimMoreThanTheDistance) {
  const SignedTexts all(1, 203, 400);
  Random random(2);
  std::int64_t positive = 0;
  for (int round = 0; round < 10; ++round) {
    const std::string query = test::some_text(random, round % 3 == 0 ? 300 : 12);
    const std::vector<std::uint8_t> levels = all.levels(query, default_isa(), 0);
    for (std::size_t i = 0; i < all.texts.size(); ++i) {
      ASSERT_LE(levels[i], test::textbook_edit(query, all.texts[i])) << query;
      ASSERT_LE(levels[i], DamerauDistance()(query, all.texts[i])) << query;
      positive += levels[i] > 0;
    }
  }
  EXPECT_GT(positive, 1'000);  // or the bound would be of no use
}

TEST(LetterSignatures, AreTheSameOnEveryIsa) {
  const SignedTexts all(3, 131, 300);
  const std::vector<std::uint8_t> want = all.levels("abca", available_isas().front(), 2);
  for (const Isa isa : available_isas()) {
    EXPECT_EQ(all.levels("abca", isa, 2), want) << to_string(isa);
  }
  for (const std::uint8_t level : want) EXPECT_GE(level, 2);  // raised, never lowered
}

TEST(LetterSignatures, AreTheSameOfTheirState) {
  const SignedTexts all(4, 50, 30);
  const std::vector<std::byte> state = all.signatures->state();
  const auto again = LetterSignatures::of_state(state);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->state(), state);

  std::vector<std::byte> damaged = state;
  damaged[0] = std::byte{32};  // no such letter
  EXPECT_EQ(LetterSignatures::of_state(damaged), nullptr);
  damaged = state;
  std::memcpy(damaged.data() + 2, damaged.data(), 2);  // a question twice
  EXPECT_EQ(LetterSignatures::of_state(damaged), nullptr);
  damaged.pop_back();
  EXPECT_EQ(LetterSignatures::of_state(damaged), nullptr);
}

}  // namespace
}  // namespace nearfield
