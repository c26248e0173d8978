#include "object/letter_signatures.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "object/symbols.hpp"

namespace nearfield {
namespace {

// a and A are one letter, and so are others that share their last five bits: fewer letters make
// bounds lower, and never too high.
constexpr std::size_t kLetterCount = 32;
constexpr std::int64_t kMostOften = 255;

struct LetterCounts {
  std::array<std::uint8_t, kLetterCount> often{};
  std::int64_t length = 0;

  void add(char32_t symbol) {
    std::uint8_t& count = often[symbol % kLetterCount];
    if (count < kMostOften) ++count;
    ++length;
  }
};

LetterCounts counts_of(ObjectView text) {
  LetterCounts counts;
  if (is_ascii(text)) {
    for (const std::byte byte : text) counts.add(static_cast<char32_t>(byte));
  } else {
    for (const char32_t symbol : symbols_of(text)) counts.add(symbol);
  }
  return counts;
}

}  // namespace

std::shared_ptr<const LetterSignatures> LetterSignatures::fitted(
    std::span<const ObjectView> sample) {
  // How many texts have each letter exactly so often, then at least so often.
  std::array<std::array<std::int64_t, kMostOften + 1>, kLetterCount> texts{};
  for (const ObjectView text : sample) {
    const LetterCounts counts = counts_of(text);
    for (std::size_t letter = 0; letter < kLetterCount; ++letter) {
      ++texts[letter][counts.often[letter]];
    }
  }
  // An answer that half of the texts give says most.
  std::vector<std::tuple<std::int64_t, std::uint8_t, std::uint8_t>> ranked;
  const std::int64_t all = std::ssize(sample);
  for (std::size_t letter = 0; letter < kLetterCount; ++letter) {
    std::int64_t yes = all;
    for (std::size_t least = 1; least <= kMostOften; ++least) {
      yes -= texts[letter][least - 1];
      ranked.emplace_back(-yes * (all - yes), static_cast<std::uint8_t>(least),
                          static_cast<std::uint8_t>(letter));
    }
  }
  std::partial_sort(ranked.begin(), ranked.begin() + kLetterBits, ranked.end());
  Questions questions{};
  for (std::size_t i = 0; i < questions.size(); ++i) {
    questions[i] = {std::get<2>(ranked[i]), std::get<1>(ranked[i])};
  }
  return std::make_shared<LetterSignatures>(questions);
}

std::shared_ptr<const LetterSignatures> LetterSignatures::of_state(
    std::span<const std::byte> state) {
  Questions questions{};
  if (state.size() != sizeof questions) return nullptr;
  std::memcpy(questions.data(), state.data(), sizeof questions);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (questions[i].letter >= kLetterCount || questions[i].least == 0) return nullptr;
    // Twice the same would count an edit twice.
    for (std::size_t j = 0; j < i; ++j) {
      if (questions[i].letter == questions[j].letter && questions[i].least == questions[j].least) {
        return nullptr;
      }
    }
  }
  return std::make_shared<LetterSignatures>(questions);
}

void LetterSignatures::make(ObjectView object, std::byte* out) const {
  const LetterCounts counts = counts_of(object);
  auto word = static_cast<std::uint64_t>(std::min(counts.length, kMostOften)) << kLetterBits;
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    const bool yes = counts.often[questions_[i].letter] >= questions_[i].least;
    word |= std::uint64_t{yes} << i;
  }
  std::memcpy(out, &word, sizeof word);
}

void LetterSignatures::raise_levels(const std::byte* query, const std::byte* signatures,
                                    std::int64_t count, double /*unit: 1*/, Isa isa,
                                    std::uint8_t* levels) const {
  std::uint64_t word = 0;
  std::memcpy(&word, query, sizeof word);
  letter_kernels(isa).raise(word, reinterpret_cast<const std::uint64_t*>(signatures), count,
                            levels);
}

std::vector<std::byte> LetterSignatures::state() const {
  const auto bytes = std::as_bytes(std::span(questions_));
  return {bytes.begin(), bytes.end()};
}

}  // namespace nearfield
