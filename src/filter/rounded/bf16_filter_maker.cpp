#include "filter/rounded/bf16_filter_maker.hpp"

namespace nearfield {

void Bf16FilterMaker::take_queries(const Piece& queries, const Piece& /*rows*/, int threads,
                                   Monitor& monitor) {
  filter_.reset();
  rows_.reset();
  queries_.reset();  // first: the plan counts one batch of them
  queries_.emplace(rounding_, queries.view, queries.first, threads, monitor);
}

TakenRows Bf16FilterMaker::take_rows(const Piece& rows, int threads, Monitor& monitor) {
  filter_.reset();
  rows_.reset();  // first: the plan counts one chunk of them
  rows_.emplace(rounding_, rows.view, rows.first, threads, monitor);
  return {filter_.emplace(rounding_, kernel_, *queries_, *rows_), rows.view.rows()};
}

}  // namespace nearfield
