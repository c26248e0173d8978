#include "filter/rounded/rounded_filter_maker.hpp"

#include "core/float_environment.hpp"

namespace nearfield {

void RoundedFilterMaker::take_queries(const Piece& queries, const Piece& rows, int threads,
                                      Monitor& monitor) {
  const DefaultFloats floats;
  if (!rounding_.fitted()) fit_rounding(rounding_, rows.view, monitor);
  filter_.reset();
  rows_.reset();
  queries_.reset();  // first: the plan counts one batch of them
  queries_.emplace(rounding_, kernel_, queries.view, queries.first, threads, monitor);
}

TakenRows RoundedFilterMaker::take_rows(const Piece& rows, int threads, Monitor& monitor) {
  filter_.reset();
  if (kept_ != nullptr) {
    return {filter_.emplace(rounding_, kernel_, *queries_, *kept_), rows.view.rows()};
  }
  rows_.reset();  // first: the plan counts one chunk of them
  rows_.emplace(rounding_, kernel_.form, rows.view, rows.first, threads, monitor);
  return {filter_.emplace(rounding_, kernel_, *queries_, *rows_), rows.view.rows()};
}

std::string RoundedFilterMaker::name() const {
  const std::string name = RoundedFilter::name_of(kernel_);
  return kept_ != nullptr ? name + ", prepared" : name;
}

}  // namespace nearfield
