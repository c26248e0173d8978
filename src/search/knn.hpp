// knn with a tuning of the caller's: tests prove that no tile size changes an answer.
#pragma once

#include <nearfield/knn.hpp>

#include "search/plan.hpp"

namespace nearfield {

Neighbors knn(const RowSource& queries, const RowSource& base, const KnnOptions& options,
              const Context& context, const Tuning& tuning);

}  // namespace nearfield
