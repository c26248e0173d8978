// Indexes that are tuned to a recall, beside the exact scan.
#pragma once

#include <cstdint>
#include <string>

#include <nearfield/index.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/results.hpp>

namespace nearfield::bench {

struct TunedQuestion {
  std::string figure;
  std::string data;  // what its recall is called
  std::int64_t k = 1;
  std::int64_t percent = 80;  // the recall that is asked for
};

// The same rows, as lsh and as flat, asked by the same queries: all at once, and one after the
// other.
class BesideScan {
 public:
  // tuned_by: other queries of the same kind; none: rows stand for them. All must outlive it.
  BesideScan(const Matrix& base, const Matrix& queries, const Matrix& tuned_by, int rounds);

  // Prints what was chosen, times of both and the recall; where no parameters reach the recall and
  // look at fewer rows than there are, that, and the times of the scan.
  void measure(const TunedQuestion& question) const;

 private:
  const Matrix& base_;
  const Matrix& queries_;
  const Matrix& tuned_by_;
  int rounds_;
  Index flat_;
};

}  // namespace nearfield::bench
