// What differs from family to family of indexes: how their parts are searched.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <nearfield/index.hpp>
#include <nearfield/knn.hpp>

#include "index/part.hpp"

namespace nearfield {

// A part, and which of its rows a search may return.
struct AskedPart {
  PartView view;
  bool only_listed = false;
  std::vector<std::int64_t> listed = {};  // rows, if only these
  RowBits allowed = {};                   // else if not empty, a bit for each row

  RowFilter filter() const {
    if (only_listed) return RowFilter::list(listed);
    if (!allowed.empty()) return RowFilter::bitset(allowed);
    return view.live != nullptr ? RowFilter::bitset(*view.live) : RowFilter();
  }
};

class Family {
 public:
  virtual ~Family() = default;

  virtual Neighbors search(MatrixView queries, std::span<const AskedPart> parts, std::int64_t k,
                           const Context& context) const = 0;
  virtual Ranges within(MatrixView queries, std::span<const AskedPart> parts, double radius,
                        const Context& context) const = 0;
};

// Of the family that the spec names. Throws invalid_argument for one that there is not.
std::unique_ptr<Family> make_family(const IndexSpec& spec);

#define NEARFIELD_INDEX(name, text) std::unique_ptr<Family> make_##name(const IndexSpec& spec);
#include <nearfield/indexes.def>
#undef NEARFIELD_INDEX

}  // namespace nearfield
