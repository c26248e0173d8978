#include "index/coded/coded_filter.hpp"

#include <bit>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "code/code_scan.hpp"
#include "core/checked.hpp"
#include "index/coded/coded_queries.hpp"
#include "search/prepared_base.hpp"

namespace nearfield {
namespace {

// A block of codes of 16 bytes takes 256 KiB, which stays in L2 for all queries of the block;
// rounding the tables of one takes a tenth of the time that it is looked at.
constexpr std::int64_t kMostRows = 1 << 14;
constexpr std::int64_t kMostQueries = 8;
// Of the first block all keys are computed.
constexpr std::int64_t kFirstRows = 512;

// Of the rows of a block that are near, with codes of 4 bits: from so many on all are added up at
// once. Of 8 bits, whose tables fit no register, that takes longer than one by one.
constexpr int kLeastTogether = 4;

constexpr std::int64_t kNearBytes = kMostRows / 8;

// What a kernel reads and writes for a query.
struct CodedRoom {
  std::uint64_t* near;
  std::uint8_t* tables;
};

class CodedFilter final : public Filter {
 public:
  CodedFilter(const CodedRows& codes, const PartView& view, CodedKeys keys,
              const CodeScanKernels& kernels, std::string name)
      : codes_(codes), view_(view), keys_(keys), kernels_(kernels), name_(std::move(name)) {}

  void start(const CodedQueries& queries) { queries_ = &queries; }

  static std::int64_t scratch_bytes(const CodedParameters& parameters) {
    return kNearBytes + CodedQueries::rounded_bytes(parameters);
  }

  void survivors(const Block& block, std::span<const double> thresholds,
                 Candidates& out) const override {
    if (keys_ == CodedKeys::of_codes) {
      out.start_keyed(block);
    } else {
      out.start_listed(block);
    }
    std::byte* const scratch = out.scratch(scratch_bytes(codes_.parameters()));
    const CodedRoom room{reinterpret_cast<std::uint64_t*>(scratch),
                         reinterpret_cast<std::uint8_t*>(scratch + kNearBytes)};
    for (std::int64_t query = block.queries.begin; query < block.queries.end; ++query) {
      const double threshold = thresholds[static_cast<std::size_t>(query - block.queries.begin)];
      if (queries_->finite(query)) find(query, block.rows, threshold, room, out);
      out.end_query();
    }
  }

  bool certified() const override { return false; }
  std::string name() const override { return name_; }

 private:
  void find(std::int64_t query, Range rows, double threshold, const CodedRoom& room,
            Candidates& out) const {
    const bool any = threshold == std::numeric_limits<double>::infinity();
    if (!any && !queries_->round(query, threshold, kernels_, room.tables)) return;
    const CodedParameters& parameters = codes_.parameters();
    codes_.for_each_chunk(
        rows.begin, rows.end, [&](const CodedRows::Chunk& chunk, std::int64_t first, Range range) {
          const std::int64_t begin = range.begin / kScanRows;
          const std::int64_t count = divide_up(range.end, kScanRows) - begin;
          if (any) {
            std::fill_n(room.near, count, ~std::uint64_t{0});
          } else {
            kernels_.scan({.blocks = chunk.blocks + begin * parameters.columns() * kScanRows,
                           .count = count,
                           .pair_columns = parameters.pair_columns(),
                           .byte_columns = parameters.byte_columns(),
                           .tables = room.tables,
                           .most = CodedQueries::kMostNear,
                           .near = room.near});
          }
          for (std::int64_t block = 0; block < count; ++block) {
            const std::int64_t row = (begin + block) * kScanRows;
            take_near(query, chunk, first, row, room.near[block] & found(first, row, range.end),
                      threshold, out);
          }
        });
  }

  // Of 64 rows from one on, those that there are and that can be found.
  std::uint64_t found(std::int64_t first, std::int64_t row, std::int64_t end) const {
    const std::int64_t behind = row + kScanRows - end;
    const std::uint64_t there = behind > 0 ? ~std::uint64_t{0} >> behind : ~std::uint64_t{0};
    const auto word = static_cast<std::size_t>((first + row) / kScanRows);
    return there & ~view_.part->not_finite(word, view_.count);
  }

  void take_near(std::int64_t query, const CodedRows::Chunk& chunk, std::int64_t first,
                 std::int64_t row, std::uint64_t near, double threshold, Candidates& out) const {
    const bool together =
        codes_.parameters().quantizer.bits == 4 && std::popcount(near) >= kLeastTogether;
    CodedQueries::BlockSums sums;
    if (together) sums = queries_->sums(query, chunk, row, kernels_);
    for (; near != 0; near &= near - 1) {
      const std::int64_t at = row + std::countr_zero(near);
      const double key =
          together ? queries_->key(query, chunk, at, sums) : queries_->key(query, chunk, at);
      if (!(key <= threshold)) continue;
      if (keys_ == CodedKeys::of_codes) {
        out.add(first + at, key);
      } else {
        out.add(first + at);
      }
    }
  }

  const CodedRows& codes_;
  const PartView& view_;
  CodedKeys keys_;
  const CodeScanKernels& kernels_;
  std::string name_;
  const CodedQueries* queries_ = nullptr;
};

std::string coded_name(const CodedParameters& parameters) {
  const QuantizerOptions& quantizer = parameters.quantizer;
  return fmt::format("tables of codes, {} of {} x {} bits, {} bytes a vector{}",
                     to_string(quantizer.kind), quantizer.codebooks, quantizer.bits,
                     parameters.bytes_per_row(), parameters.vectors ? "" : ", no vectors");
}

class CodedFilterMaker final : public FilterMaker {
 public:
  CodedFilterMaker(const CodedRows& codes, const PartView& view, MetricSpec metric, CodedKeys keys,
                   Isa isa)
      : codes_(codes),
        metric_(metric),
        isa_(isa),
        reads_rows_(keys == CodedKeys::of_rows),
        filter_(codes, view, keys, code_scan_kernels(isa), coded_name(codes.parameters())) {}

  void take_queries(const Piece& queries, const Piece& /*rows*/, int threads,
                    Monitor& monitor) override {
    queries_.reset();  // first: the plan counts one batch of them
    queries_.emplace(queries, codes_, metric_, isa_, threads, monitor);
    filter_.start(*queries_);
  }

  bool reads_rows() const override { return reads_rows_; }

  TakenRows take_rows(const Piece& rows, int /*threads*/, Monitor& /*monitor*/) override {
    return {filter_, rows.view.rows()};
  }

  std::string name() const override { return filter_.name(); }

 private:
  const CodedRows& codes_;
  MetricSpec metric_;
  Isa isa_;
  bool reads_rows_;
  CodedFilter filter_;
  std::optional<CodedQueries> queries_;
};

}  // namespace

std::unique_ptr<FilterMaker> CodedFinder::make(DType /*queries*/, const Context& context) const {
  return std::make_unique<CodedFilterMaker>(*codes_, view_, metric_, keys_, isa_of(context));
}

void CodedFinder::add_to(SearchShape& shape, const Context& /*context*/) const {
  const CodedParameters& parameters = codes_->parameters();
  // A code is looked at about as long as a value of a row.
  shape.value_cost /= static_cast<double>(std::max<std::int64_t>(shape.cols, 1));
  shape.tiles = TileShape{.rows = kScanRows,
                          .most_queries = kMostQueries,
                          .most_rows = kMostRows,
                          .most_pairs = kMostQueries * kMostRows,
                          .first_rows = kFirstRows};
  if (keys_ == CodedKeys::of_codes) shape.base_buffer_bytes = 0;  // as FilterMaker::reads_rows
  shape.query_filter_bytes = CodedQueries::bytes_per_query(parameters);
  shape.fixed_bytes += shape.threads * (CodedFilter::scratch_bytes(parameters) +
                                        CodedQueries::bytes_per_thread(parameters, shape.cols));
}

}  // namespace nearfield
