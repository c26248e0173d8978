// What an index brings to a search of rows: a filter that knows where to look for those of a query.
#pragma once

#include <memory>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>

#include "filter/filter_maker.hpp"
#include "search/plan.hpp"

namespace nearfield {

// Of all rows of a base, which lies in memory.
class RowFinder {
 public:
  virtual ~RowFinder() = default;

  // For one search. Looks at the finder.
  virtual std::unique_ptr<FilterMaker> make(DType queries, Isa isa) const = 0;

  // What that needs: its blocks and its bytes.
  virtual void add_to(SearchShape& shape) const = 0;
};

}  // namespace nearfield
