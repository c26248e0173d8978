// Results as text: a header, then a line for each that was found.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <nearfield/dedup.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/results.hpp>
#include <nearfield/select.hpp>

namespace nearfield::cli {

// The keys of ids; empty where there are none.
using KeysOf = std::function<std::vector<std::string>(std::span<const std::int64_t> ids)>;

// query,rank,id,distance: rank 1 is the nearest of its query; places left empty have no line.
// A distance has the fewest digits that read back as the same float32. With keys, key is the last:
// in quotes, doubled in it, where it holds one, a comma or the end of a line.
void write_csv(const std::string& path, const Neighbors& found, const KeysOf& keys = {});
void write_csv(const std::string& path, const Ranges& found, const KeysOf& keys = {});

// query,id,key: of ids that have no distances.
void write_ids_csv(const std::string& path, const Ranges& found, const KeysOf& keys);

// first,second,distance.
void write_csv(const std::string& path, const Pairs& found);

// group,row,distance, of groups of two rows and more: the distance is that to the first of them.
void write_csv(const std::string& path, const DuplicateGroups& found, const KeysOf& keys = {});

// row,rank,id,value: values with the fewest digits that read back as the same of their type.
void write_csv(const std::string& path, const Selected& found, DType dtype);

}  // namespace nearfield::cli
