// Neighbours without saying beforehand how many: the nearest first, then more as they are asked
// for.
#pragma once

#include <cstdint>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/results.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

// next(10), next(90) together are knn with k = 100, bit for bit.
//
// It looks ahead: a pass over the base keeps as many again as were asked for in all, so that what
// follows often needs no pass, and many small steps need few. With a memory limit it keeps only
// what is asked for, and every step is a pass.
class KnnCursor {
 public:
  // The sources, and what the options look at, must outlive it. k and after are not looked at.
  KnnCursor(const RowSource& queries, const RowSource& base, const KnnOptions& options = {});

  // The next k of each query. Where the rows come to an end, fewer: counts says how many.
  // A step that throws changes nothing and can be asked for again.
  Neighbors next(std::int64_t k, const Context& context = {});

 private:
  Neighbors next_of(std::int64_t k, const Context& context);
  Neighbors search(std::int64_t k, Context context) const;

  const RowSource& queries_;
  const RowSource& base_;
  KnnOptions options_;
  Neighbors ahead_;  // found and not yet handed out, from column used_ on
  std::int64_t used_ = 0;
  std::vector<Neighbor> last_;   // that was found, of each query
  std::int64_t handed_out_ = 0;  // to each query
};

}  // namespace nearfield
