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

  // For one search, which may run on a device that the context names. Looks at the finder.
  virtual std::unique_ptr<FilterMaker> make(DType queries, const Context& context) const = 0;

  // What that needs: its blocks and its bytes.
  virtual void add_to(SearchShape& shape, const Context& context) const = 0;
};

}  // namespace nearfield
