// knn with a tuning of the caller's: tests prove that no tile size changes an answer.
#pragma once

#include <nearfield/knn.hpp>

#include "search/plan.hpp"
#include "search/row_finder.hpp"

namespace nearfield {

Neighbors knn(const RowSource& queries, const RowSource& base, const KnnOptions& options,
              const Context& context, const Tuning& tuning);

// Of what the finder lets through: the k nearest of those.
Neighbors knn(const RowSource& queries, const RowSource& base, const KnnOptions& options,
              const Context& context, const RowFinder& finder);

}  // namespace nearfield
