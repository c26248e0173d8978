#include <nearfield/stats.hpp>

#include <fmt/format.h>

namespace nearfield {

std::string to_string(const Plan& plan) {
  const std::string of_a_row =
      plan.filter_row_bytes > 0 ? fmt::format(", {} bytes a row", plan.filter_row_bytes) : "";
  const std::string device = plan.device == "cpu" ? "" : "device    " + plan.device + "\n";
  const std::string note = plan.note.empty() ? "" : "note      " + plan.note + "\n";
  const std::string recall = plan.expected_recall < 1
                                 ? fmt::format("recall    {:.4f} expected\n", plan.expected_recall)
                                 : "";
  return fmt::format(
      "{}"
      "filter    {}{}\n"
      "verify    {}\n"
      "select    {}\n"
      "pairs     {}\n"
      "blocks    {} queries x {} rows, {} threads, {} row parts\n"
      "memory    {} bytes of results, {} of work\n"
      "passes    {} over the base, {} queries and {} rows at a time\n"
      "{}{}",
      device, plan.filter, of_a_row, plan.kernel, plan.selector, plan.pairs, plan.query_tile,
      plan.row_tile, plan.threads, plan.row_parts, plan.result_bytes, plan.working_bytes,
      plan.passes, plan.query_batch, plan.base_chunk, recall, note);
}

}  // namespace nearfield
