// `auto` where a caller allows some rows to be missed: "auto,recall=0.95,near=31".
#pragma once

#include <memory>

#include "index/family.hpp"

namespace nearfield {

// Keeps the tables of `mih` and of `ewh`, and searches by lookups, a scan or scores, whichever is
// estimated to take least. Scores only where they are expected to find the part asked for. Throws
// invalid_argument for other parameters, and for vectors without scores.
std::unique_ptr<Family> make_scoring_auto(const IndexSpec& spec);

}  // namespace nearfield
