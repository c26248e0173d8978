#include "index/coded/rerank.hpp"

#include <algorithm>
#include <compare>
#include <memory>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "core/fail.hpp"
#include "core/monitor.hpp"
#include "index/coded/chosen_rows.hpp"
#include "index/coded/coded_queries.hpp"
#include "index/stages.hpp"
#include "search/check_rows.hpp"
#include "search/neighbor_results.hpp"

namespace nearfield {
namespace {

// Of equal keys, those that came first: pieces and rows keep that order when an index is copied,
// saved or compacted.
struct NearCode {
  double key;
  std::uint32_t piece;
  std::uint32_t row;

  friend auto operator<=>(const NearCode&, const NearCode&) = default;
};

class Reranking {
 public:
  Reranking(const Family& flat, MatrixView queries, std::span<const AskedPart> pieces,
            std::int64_t chosen, const Context& context)
      : flat_(flat),
        queries_(queries),
        pieces_(pieces),
        chosen_(std::min(chosen, coded_rows(pieces))),
        stages_(context, queries.rows() * pairs_of_a_query(pieces)),
        near_(static_cast<std::size_t>(queries.rows())) {
    stages_.context() = with_less_memory(stages_.context(), bytes());
  }

  // By codes, and then of those that were chosen.
  static std::int64_t pairs_of_a_query(std::span<const AskedPart> pieces) {
    std::int64_t rows = coded_rows(pieces);
    for (const AskedPart& piece : pieces) rows += rows_of(piece);
    return rows;
  }
  // What is near, of two pieces before it is cut, and what is chosen of it, by pieces: 6 KB of 100.
  static std::int64_t bytes_of_a_query(std::int64_t chosen, std::span<const AskedPart> pieces) {
    constexpr std::int64_t kNear = 3 * sizeof(NearCode);
    constexpr std::int64_t kListed = 3 * sizeof(std::uint32_t);
    constexpr std::int64_t kOfAPiece = 3 * sizeof(std::size_t);
    return std::min(chosen, coded_rows(pieces)) * (kNear + kListed) +
           std::ssize(pieces) * kOfAPiece +
           static_cast<std::int64_t>(sizeof(std::vector<NearCode>));
  }

  Neighbors run(std::int64_t k, const Context& context) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].finder != nullptr) look_at_codes(i);
    }
    Neighbors result = flat_.search(queries_, to_verify(), k, stages_.context());
    take_stats(result.stats);
    stages_.finish(context);
    return result;
  }

 private:
  static std::int64_t rows_of(const AskedPart& piece) {
    return piece.only_rows ? piece.only_rows->size() : piece.view.count;
  }
  static std::int64_t coded_rows(std::span<const AskedPart> pieces) {
    std::int64_t rows = 0;
    for (const AskedPart& piece : pieces) rows += piece.finder != nullptr ? rows_of(piece) : 0;
    return rows;
  }
  // And copies of the pieces.
  std::int64_t bytes() const {
    std::int64_t copies = 0;
    for (const AskedPart& piece : pieces_) {
      copies += static_cast<std::int64_t>(sizeof(AskedPart) + 2 * 8 * piece.allowed.size() +
                                          2 * 8 * piece.listed.size());
    }
    return copies + queries_.rows() * bytes_of_a_query(chosen_, pieces_);
  }

  void look_at_codes(std::size_t i) {
    AskedPart piece = pieces_[i];
    piece.by_row = true;
    const std::int64_t most = std::min(chosen_, rows_of(piece));
    const Neighbors found = flat_.search(queries_, {&piece, 1}, most, stages_.context());
    for (std::int64_t query = 0; query < queries_.rows(); ++query) {
      std::vector<NearCode>& near = near_[static_cast<std::size_t>(query)];
      const auto count = static_cast<std::size_t>(found.counts[static_cast<std::size_t>(query)]);
      for (std::size_t j = 0; j < count; ++j) {
        near.push_back({found.keys_of(query)[j], static_cast<std::uint32_t>(i),
                        static_cast<std::uint32_t>(found.ids_of(query)[j])});
      }
      if (std::ssize(near) <= chosen_) continue;
      std::ranges::nth_element(near, near.begin() + chosen_);
      near.resize(static_cast<std::size_t>(chosen_));
    }
    stages_.end_stage(queries_.rows() * rows_of(piece));
    if (found.stats.plan.pairs >= by_codes_.plan.pairs) by_codes_.plan = found.stats.plan;
    by_codes_.pairs_considered += queries_.rows() * rows_of(piece);
    by_codes_.seconds += found.stats.seconds;
  }

  // The pieces again, with the rows that were chosen of them.
  std::vector<AskedPart> to_verify() {
    std::vector<AskedPart> asked(pieces_.begin(), pieces_.end());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (asked[i].finder == nullptr) continue;
      ChosenRows chosen;
      for (const std::vector<NearCode>& near : near_) {
        std::vector<std::uint32_t> rows;
        for (const NearCode& code : near) {
          if (code.piece == i) rows.push_back(code.row);
        }
        chosen.add(std::move(rows));
      }
      asked[i].finder = std::make_shared<ChosenFinder>(std::move(chosen), rows_of(asked[i]));
    }
    return asked;
  }

  // What ran is what looked at the codes.
  void take_stats(Stats& stats) const {
    if (by_codes_.pairs_considered == 0) return;
    stats.plan = by_codes_.plan;
    stats.plan.note =
        fmt::format("of each query the nearest {} by their codes were verified", chosen_);
    stats.pairs_considered += by_codes_.pairs_considered;
    stats.seconds += by_codes_.seconds;
  }

  const Family& flat_;
  MatrixView queries_;
  std::span<const AskedPart> pieces_;
  std::int64_t chosen_;
  Stages stages_;
  std::vector<std::vector<NearCode>> near_;
  Stats by_codes_;
};

// Of a batch: what is near by codes, before vectors decide. Each batch reads all codes once.
constexpr std::int64_t kMostBatchBytes = 64 << 20;

std::int64_t reranked_at_once(std::int64_t bytes_of_a_query, const Context& context) {
  const std::int64_t most =
      context.memory_limit ? std::min(*context.memory_limit / 4, kMostBatchBytes) : kMostBatchBytes;
  return std::max<std::int64_t>(most / bytes_of_a_query, 1);
}

// Of all batches: they are there from the first on.
std::int64_t bytes_of_all_results(std::int64_t queries, std::int64_t k, const Context& context) {
  const std::int64_t bytes = result_bytes(queries, k);
  if (context.memory_limit && bytes >= *context.memory_limit) {
    fail(ErrorCode::memory_limit,
         "the results of {} queries take {} bytes but the memory limit is {}: raise it, ask for "
         "fewer queries at a time or fewer results of each",
         queries, bytes, *context.memory_limit);
  }
  return bytes;
}

// Those of the queries from the first on.
void put_batch(std::int64_t first, const Neighbors& batch, Neighbors& all) {
  std::vector<std::int64_t> queries(static_cast<std::size_t>(batch.queries));
  std::iota(queries.begin(), queries.end(), first);
  if (first == 0) {
    all.exact = batch.exact;
    all.stats.plan = batch.stats.plan;
  } else {
    all.stats.plan.pairs += batch.stats.plan.pairs;
  }
  put_results(queries, batch, all);
  all.stats.pairs_considered += batch.stats.pairs_considered;
  all.stats.seconds += batch.stats.seconds;
}

}  // namespace

Neighbors search_reranked(const Family& flat, MetricSpec metric, MatrixView queries,
                          std::span<const AskedPart> pieces, std::int64_t chosen, std::int64_t k,
                          const Context& context) {
  check_k(k);  // before codes are scanned for it, and bytes of results counted
  const std::int64_t bytes_of_a_query = Reranking::bytes_of_a_query(chosen, pieces);
  if (queries.rows() <= reranked_at_once(bytes_of_a_query, context)) {
    return Reranking(flat, queries, pieces, chosen, context).run(k, context);
  }
  check_coded_queries(queries);  // a batch numbers its own from 0 on
  const std::int64_t pairs_of_a_query = Reranking::pairs_of_a_query(pieces);
  Stages stages(context, queries.rows() * pairs_of_a_query);
  const Context own =
      with_less_memory(stages.context(), bytes_of_all_results(queries.rows(), k, context));
  const std::int64_t at_once = reranked_at_once(bytes_of_a_query, own);
  Neighbors all = nothing_found(queries.rows(), k, metric, Monitor(own, 1));
  for (std::int64_t first = 0; first < queries.rows(); first += at_once) {
    const std::int64_t count = std::min(at_once, queries.rows() - first);
    Reranking batch(flat, queries.slice(first, count), pieces, chosen, own);
    put_batch(first, batch.run(k, own), all);
    stages.end_stage(count * pairs_of_a_query);
  }
  stages.finish(context);
  return all;
}

}  // namespace nearfield
