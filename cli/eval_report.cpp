#include "eval_report.hpp"

#include <cstdint>

#include <fmt/format.h>
#include <nearfield/version.hpp>

#include "json.hpp"

namespace nearfield::cli {
namespace {

std::string cell(const Estimate& estimate) {
  return fmt::format("{}{:.5f}  {:.5f} to {:.5f}", estimate.open > 0 ? ">=" : "  ", estimate.mean,
                     estimate.low, estimate.high);
}

std::string notes(const RecallAt& at) {
  std::string text;
  const auto open = [&](std::string_view name, std::int64_t queries) {
    if (queries > 0) {
      text += fmt::format("{}@{} may be higher: the truth cannot settle the ties of {} queries\n",
                          name, at.k, queries);
    }
  };
  open("recall", at.recall.open);
  open("1-recall", at.nearest.open);
  if (at.wrong_truth_queries > 0) {
    text += fmt::format(
        "the truth is wrong at k = {}: {} queries found a row that is nearer and not in it; is it "
        "of another base or metric?\n",
        at.k, at.wrong_truth_queries);
  }
  return text;
}

JsonObject json_of(const Estimate& estimate) {
  JsonObject json;
  json.add("mean", estimate.mean)
      .add("low", estimate.low)
      .add("high", estimate.high)
      .add("open_queries", estimate.open);
  return json;
}

}  // namespace

std::string to_text(const Recall& recall, const TieSource& ties) {
  std::string text = fmt::format("{} queries, {}", recall.queries, ties.text);
  if (recall.empty_queries > 0) {
    text +=
        fmt::format("; {} queries left out, which have no true neighbour", recall.empty_queries);
  }
  text += fmt::format("\n{:>6}  {:<30}  {}\n", "k", "  recall@k, 95 % interval",
                      "  1-recall@k, 95 % interval");
  std::string remarks;
  for (const RecallAt& at : recall.at) {
    text += fmt::format("{:>6}  {:<30}  {}\n", at.k, cell(at.recall), cell(at.nearest));
    remarks += notes(at);
  }
  return text + remarks;
}

std::string to_json(const Recall& recall, const TieSource& ties) {
  JsonArray at;
  for (const RecallAt& one : recall.at) {
    at.add(JsonObject()
               .add("k", one.k)
               .add("recall", json_of(one.recall))
               .add("nearest", json_of(one.nearest))
               .add("wrong_truth_queries", one.wrong_truth_queries));
  }
  return JsonObject()
      .add("nearfield", version())
      .add("command", "eval")
      .add("queries", recall.queries)
      .add("empty_queries", recall.empty_queries)
      .add("ties", ties.word)
      .add("at", at)
      .text();
}

}  // namespace nearfield::cli
