// Signatures of texts: which letters they have how often.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <nearfield/object_metric.hpp>

#include "object/letter_kernel.hpp"

namespace nearfield {

// For every metric in which an edit adds, drops or replaces one symbol, or swaps two.
class LetterSignatures final : public ObjectSignatures {
 public:
  // A letter, of which similar symbols share one, and how often a text has it.
  struct Question {
    std::uint8_t letter;
    std::uint8_t least;
  };
  using Questions = std::array<Question, kLetterBits>;

  // Those whose answers differ most among the texts.
  static std::shared_ptr<const LetterSignatures> fitted(std::span<const ObjectView> sample);
  // Null where the state is none.
  static std::shared_ptr<const LetterSignatures> of_state(std::span<const std::byte> state);

  explicit LetterSignatures(const Questions& questions) : questions_(questions) {}

  std::int64_t bytes() const override { return sizeof(std::uint64_t); }
  void make(ObjectView object, std::byte* out) const override;
  void raise_levels(const std::byte* query, const std::byte* signatures, std::int64_t count,
                    double unit, Isa isa, std::uint8_t* levels) const override;
  std::vector<std::byte> state() const override;

 private:
  Questions questions_;
};

}  // namespace nearfield
