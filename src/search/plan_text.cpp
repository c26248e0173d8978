#include <nearfield/stats.hpp>

#include <fmt/format.h>

namespace nearfield {

std::string to_string(const Plan& plan) {
  return fmt::format(
      "filter    {}\n"
      "verify    {}\n"
      "select    {}\n"
      "pairs     {}\n"
      "blocks    {} queries x {} rows, {} threads, {} row parts\n"
      "memory    {} bytes of results, {} of work, of which {} a row for the filter\n"
      "passes    {} over the base, {} queries and {} rows at a time\n",
      plan.filter, plan.kernel, plan.selector, plan.pairs, plan.query_tile, plan.row_tile,
      plan.threads, plan.row_parts, plan.result_bytes, plan.working_bytes, plan.filter_row_bytes,
      plan.passes, plan.query_batch, plan.base_chunk);
}

}  // namespace nearfield
