// What `nearfield eval` says about results.
#pragma once

#include <string>
#include <string_view>

#include <nearfield/eval.hpp>

namespace nearfield::cli {

// How ties were settled, as people read it and as a word of JSON.
struct TieSource {
  std::string_view text;
  std::string_view word;
};

inline constexpr TieSource kNoTies{"ties are not known: the truth has no distances", "none"};
inline constexpr TieSource kTruthTies{"ties by the distances of the truth", "truth"};
inline constexpr TieSource kComputedTies{"ties by distances computed here", "computed"};

// A table.
std::string to_text(const Recall& recall, const TieSource& ties);

// One JSON object.
std::string to_json(const Recall& recall, const TieSource& ties);

}  // namespace nearfield::cli
