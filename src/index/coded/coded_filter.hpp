// Rows whose codes are near a query: the filter of coded.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <nearfield/metric.hpp>

#include "index/coded/coded_rows.hpp"
#include "index/part.hpp"
#include "search/row_finder.hpp"

namespace nearfield {

// What decides on a row whose code is near enough.
enum class CodedKeys {
  of_codes,  // the code: its key is that of the row, which is not looked at
  of_rows,   // the row itself
};

// Of the rows of a part that are coded.
class CodedFinder final : public RowFinder {
 public:
  CodedFinder(std::shared_ptr<const CodedRows> codes, PartView view, MetricSpec metric,
              CodedKeys keys)
      : codes_(std::move(codes)), view_(std::move(view)), metric_(metric), keys_(keys) {}

  std::unique_ptr<FilterMaker> make(DType queries, const Context& context) const override;
  void add_to(SearchShape& shape, const Context& context) const override;

 private:
  std::shared_ptr<const CodedRows> codes_;
  PartView view_;
  MetricSpec metric_;
  CodedKeys keys_;
};

}  // namespace nearfield
