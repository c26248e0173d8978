// within for an index that finds rows itself.
#pragma once

#include <nearfield/within.hpp>

#include "search/row_finder.hpp"

namespace nearfield {

// Of what the finder lets through: all within the radius.
Ranges within(const RowSource& queries, const RowSource& base, const WithinOptions& options,
              const Context& context, const RowFinder& finder);

}  // namespace nearfield
