// A filter as a search makes it: with its queries batch by batch and its rows chunk by chunk.
#pragma once

#include <string>

#include <nearfield/matrix.hpp>

#include "core/monitor.hpp"
#include "filter/filter.hpp"

namespace nearfield {

// Rows of a matrix and the number of the first.
struct Piece {
  MatrixView view;
  std::int64_t first = 0;

  const std::byte* row(std::int64_t i) const { return view.row(i - first); }
  Range range() const { return {first, first + view.rows()}; }
};

// The filter of the first `rows` of a chunk, until the next one is taken: of all, unless there is
// no memory for so many.
struct TakenRows {
  const Filter& filter;
  std::int64_t rows;
};

class FilterMaker {
 public:
  virtual ~FilterMaker() = default;

  // Before the chunks of a batch; `rows` is the first of them.
  virtual void take_queries(const Piece& queries, const Piece& rows, int threads,
                            Monitor& monitor) = 0;

  // Whether it, or who verifies what it finds, looks at rows at all. Those it takes have no values
  // otherwise.
  virtual bool reads_rows() const { return true; }

  virtual TakenRows take_rows(const Piece& rows, int threads, Monitor& monitor) = 0;

  // Rows that are likely to be taken next, and stay where they are until then: they may be brought
  // to where they are needed while those before are searched.
  virtual void expect_rows(const Piece& /*rows*/) {}

  virtual std::string name() const = 0;

  // What else is to be said of a search that has ended.
  virtual std::string note() const { return {}; }
};

}  // namespace nearfield
