// Searches of approximate families, which ask `flat` for pieces of parts: those that a finder of
// theirs finds, and the others.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "index/family.hpp"
#include "index/stages.hpp"

namespace nearfield {

// How much is found hangs on the vectors, and nobody knows it without searching exactly.
template <class Result>
Result with_unknown_recall(Result result) {
  if (!result.exact) {
    result.stats.plan.expected_recall = std::numeric_limits<double>::quiet_NaN();
  }
  return result;
}

// Less copies of who is asked, with a bit for each row.
inline Context beside_pieces(std::span<const AskedPart> parts, std::span<const AskedPart> pieces,
                             const Context& context) {
  if (pieces.size() == parts.size()) return context;
  std::int64_t bytes = 0;
  for (const AskedPart& piece : pieces) {
    bytes += static_cast<std::int64_t>(sizeof(AskedPart) + 8 * piece.allowed.size());
  }
  return with_less_memory(context, bytes);
}

}  // namespace nearfield
