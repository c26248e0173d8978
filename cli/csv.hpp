// Results as text: a header, then a line for each that was found.
#pragma once

#include <string>

#include <nearfield/results.hpp>

namespace nearfield::cli {

// query,rank,id,distance: rank 1 is the nearest of its query; places left empty have no line.
// A distance has the fewest digits that read back as the same float32.
void write_csv(const std::string& path, const Neighbors& found);
void write_csv(const std::string& path, const Ranges& found);

// first,second,distance.
void write_csv(const std::string& path, const Pairs& found);

}  // namespace nearfield::cli
