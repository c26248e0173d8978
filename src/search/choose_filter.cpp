#include "search/choose_filter.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "filter/bits/bit_filter.hpp"
#include "filter/bits/bit_tile_filter.hpp"
#include "filter/every_row.hpp"
#include "filter/rounded/bf16_gain.hpp"
#include "filter/rounded/bf16_vectors.hpp"
#include "filter/rounded/either_filter_maker.hpp"
#include "filter/rounded/rounded_filter_maker.hpp"
#include "search/allowed_rows.hpp"
#include "search/engine.hpp"
#include "search/prepared_base.hpp"

namespace nearfield {
namespace {

// What a filter needs; `shape` is that of the search with every row.
TileShape rounded_blocks(const SearchShape& shape, const TileKernel& kernel,
                         const TileTuning& tuning) {
  const auto in_time =
      static_cast<std::int64_t>(kernel.products_a_nanosecond * tuning.most_block_nanoseconds);
  const std::int64_t selected =
      tuning.most_selected_items / std::max<std::int64_t>(shape.threshold_rank, 1);
  return {
      .queries = kTileQueries,
      .rows = kGroupRows,
      .most_queries = std::min(tuning.queries, std::max(selected, kTileQueries)),
      .most_rows = std::min(tuning.rows, kMostTileRows),
      .most_pairs = std::min(tuning.block_values, in_time) / std::max<std::int64_t>(shape.cols, 1)};
}

// Centre and signs.
std::int64_t rounding_bytes(std::int64_t cols) {
  return cols * static_cast<std::int64_t>(3 * sizeof(float));
}

SearchShape rounded_shape(SearchShape shape, const TileKernel& kernel, const TileTuning& tuning) {
  const std::int64_t cols = shape.cols;
  shape.tiles = rounded_blocks(shape, kernel, tuning);
  shape.base_filter_bytes = RoundedRows::bytes_per_row(cols);
  shape.query_filter_bytes = RoundedQueries::bytes_per_query(cols);
  shape.fixed_bytes += RoundedRows::fixed_bytes(cols, shape.threads) +
                       RoundedQueries::fixed_bytes(cols, shape.threads) + fit_bytes(cols);
  return shape;
}

// For whichever of bytes and bf16 takes more.
SearchShape either_shape(const SearchShape& every_row, const TileKernel& kernel,
                         const TileTuning& tuning) {
  SearchShape shape = rounded_shape(every_row, kernel, tuning);
  const std::int64_t cols = shape.cols;
  shape.base_filter_bytes = std::max(shape.base_filter_bytes, Bf16Rows::bytes_per_row(cols));
  shape.query_filter_bytes = std::max(shape.query_filter_bytes, Bf16Queries::bytes_per_query(cols));
  const std::int64_t of_bf16 = Bf16Rows::fixed_bytes(cols, shape.threads) +
                               Bf16Queries::fixed_bytes(cols, shape.threads) + fit_bytes(cols);
  // What decides is freed before anything is rounded.
  const std::int64_t of_deciding = rounding_bytes(cols) + bf16_gain_bytes(cols);
  shape.fixed_bytes =
      std::max(shape.fixed_bytes, every_row.fixed_bytes + std::max(of_bf16, of_deciding));
  return shape;
}

// What both filters of bits have in common; the rest of their blocks is their own.
SearchShape bit_shape(SearchShape shape, const BitTuning& tuning) {
  const std::int64_t cols = std::max<std::int64_t>(shape.cols, 1);
  shape.tiles = TileShape{.most_queries = tuning.queries,
                          .most_pairs = tuning.block_words / words_of(cols),
                          .keep_queries_together = true};
  shape.value_cost = tuning.value_cost * static_cast<double>(cols + tuning.bits_of_a_pair) /
                     static_cast<double>(cols);
  return shape;
}

SearchShape counted_shape(const SearchShape& every_row, const BitTuning& tuning) {
  SearchShape shape = bit_shape(every_row, tuning);
  shape.tiles->rows = kBlockRows;
  shape.tiles->most_rows = shape.queries <= kBitQueries
                               ? tuning.few_queries_rows
                               : std::min(BitFilter::rows_at_once(shape.cols), tuning.rows);
  shape.query_filter_bytes = BitQueries::bytes_per_query(shape.cols);
  const Block largest{{0, std::max<std::int64_t>(shape.queries, 1)}, {0, shape.tiles->most_rows}};
  shape.fixed_bytes += shape.threads * BitFilter::scratch_bytes(shape.cols, largest);
  return shape;
}

SearchShape bit_tile_shape(const SearchShape& every_row, const BitTuning& tuning) {
  SearchShape shape = bit_shape(every_row, tuning);
  shape.tiles->queries = kTileQueries;
  shape.tiles->rows = kGroupRows;
  shape.tiles->most_rows = std::min(BitTileFilter::rows_at_once(shape.cols), tuning.rows);
  shape.query_filter_bytes = BitTileQueries::bytes_per_query(shape.cols);
  shape.fixed_bytes += BitTileQueries::fixed_bytes(shape.cols) +
                       shape.threads * BitTileFilter::scratch_bytes(shape.cols);
  return shape;
}

// Of a base that is prepared: nothing is made of it, and where nothing was lost, none of it is
// read.
SearchShape kept_shape(SearchShape shape, const PreparedBase& prepared, const TileKernel& kernel,
                       const TileTuning& tuning) {
  if (prepared.rounding.lossless) shape.base_buffer_bytes = 0;  // as FilterMaker::reads_rows
  shape.tiles = rounded_blocks(shape, kernel, tuning);
  shape.query_filter_bytes = RoundedQueries::bytes_per_query(shape.cols);
  shape.fixed_bytes +=
      RoundedQueries::fixed_bytes(shape.cols, shape.threads) + rounding_bytes(shape.cols);
  return shape;
}

void check_prepared(const PreparedBase& prepared, MetricSpec metric, Isa isa) {
  const auto refuse = [](std::string_view is, std::string_view wanted) {
    fail(ErrorCode::invalid_argument,
         "the base is prepared for {}, and the search asks for {}: prepare it for that too", is,
         wanted);
  };
  if (prepared.metric != metric) refuse(to_string(prepared.metric), to_string(metric));
  if (prepared.isa != isa) refuse(to_string(prepared.isa), to_string(isa));
}

class FilterChoice {
 public:
  FilterChoice(const SearchInput& input, Isa isa, const Tuning& tuning, SearchShape& shape)
      : input_(input), isa_(isa), tuning_(tuning), shape_(shape) {}

  std::unique_ptr<FilterMaker> make() {
    const PreparedBase* const prepared = input_.base.prepared();
    if (prepared != nullptr) check_prepared(*prepared, input_.metric, isa_);
    if (shape_.rows / tuning_.tiles.most_forbidden <= allowed_rows(input_.filter, shape_.rows)) {
      if (prepared != nullptr) {
        if (auto filter = kept(*prepared)) return filter;
      }
      if (input_.metric.metric == Metric::hamming) return bits();
      if (auto filter = rounded()) return filter;
    }
    return every_row();
  }

 private:
  static std::unique_ptr<FilterMaker> every_row() { return std::make_unique<EveryRowMaker>(); }

  // Takes the shape if it fits with so many queries at a time.
  bool takes(const SearchShape& shape, std::int64_t least_queries) {
    if (!fits(shape, tuning_, least_queries)) return false;
    shape_ = shape;
    return true;
  }

  std::unique_ptr<FilterMaker> bits() {
    const BitKernel& kernel = bit_kernel(isa_);
    if (isa_ == Isa::amx && BitTileFilter::rows_at_once(shape_.cols) > 0 &&
        takes(bit_tile_shape(shape_, tuning_.bits), tuning_.bits.least_tile_queries)) {
      return std::make_unique<BitTileFilterMaker>(kernel, tile_kernel(isa_));
    }
    if (takes(counted_shape(shape_, tuning_.bits), 1)) {
      return std::make_unique<BitFilterMaker>(kernel);
    }
    return every_row();
  }

  // Empty if it is of no use: bytes kept as they are serve queries of the same bytes alone.
  std::unique_ptr<FilterMaker> kept(const PreparedBase& prepared) {
    if (prepared.rounding.lossless && input_.queries.dtype() != input_.base.dtype()) return nullptr;
    if (!takes(kept_shape(shape_, prepared, tile_kernel(isa_), tuning_.tiles), 1)) return nullptr;
    BaseRounding rounding = prepared.rounding;
    rounding.queries = input_.queries.dtype();
    return std::make_unique<RoundedFilterMaker>(std::move(rounding), tile_kernel(isa_),
                                                prepared.rows);
  }

  // Empty if it does not know the metric, or does not pay.
  std::unique_ptr<FilterMaker> rounded() {
    auto rounding = choose_rounding(input_.metric, input_.queries.dtype(), input_.base.dtype(),
                                    input_.base.cols(), isa_);
    if (!rounding) return nullptr;
    const SearchShape bytes = rounded_shape(shape_, tile_kernel(isa_), tuning_.tiles);
    if ((!rounding->lossless && shape_.rows < tuning_.tiles.least_rows) ||
        !fits(bytes, tuning_, tuning_.tiles.least_queries)) {
      return nullptr;
    }
    const Bf16TileKernel bf16 = rounding->lossless ? nullptr : bf16_tile_kernel(isa_);
    if (bf16 != nullptr && may_gain_by_bf16() && takes_either(bytes)) {
      return std::make_unique<EitherFilterMaker>(*std::move(rounding), tile_kernel(isa_), bf16,
                                                 Sought{shape_.threshold_rank, shape_.rows},
                                                 tuning_.tiles.least_bf16_gain);
    }
    shape_ = bytes;
    return std::make_unique<RoundedFilterMaker>(*std::move(rounding), tile_kernel(isa_));
  }

  // By the shape alone. In floats: no product of counts overflows them.
  bool may_gain_by_bf16() const {
    const double values = static_cast<double>(shape_.queries) * static_cast<double>(shape_.rows) *
                          static_cast<double>(shape_.cols);
    return values >= static_cast<double>(tuning_.tiles.least_bf16_values) * shape_.threads;
  }

  // Takes the shape that is also for bf16, unless so much more memory means that the base is read
  // and rounded more often, that blocks are smaller, or that a base is cut which was whole: one
  // look at a pair serves both sides of a whole base only.
  bool takes_either(const SearchShape& bytes) {
    const SearchShape either = either_shape(shape_, tile_kernel(isa_), tuning_.tiles);
    if (!fits(either, tuning_, tuning_.tiles.least_queries)) return false;
    const Plan with_bytes = make_plan(bytes, tuning_);
    const Plan with_either = make_plan(either, tuning_);
    if (with_either.passes > with_bytes.passes) return false;
    if (with_either.query_tile * with_either.row_tile <
        with_bytes.query_tile * with_bytes.row_tile) {
      return false;
    }
    if (with_bytes.base_chunk >= shape_.rows && with_either.base_chunk < shape_.rows) return false;
    shape_ = either;
    return true;
  }

  const SearchInput& input_;
  Isa isa_;
  const Tuning& tuning_;
  SearchShape& shape_;
};

}  // namespace

std::unique_ptr<FilterMaker> choose_filter(const SearchInput& input, Isa isa, const Tuning& tuning,
                                           SearchShape& shape) {
  return FilterChoice(input, isa, tuning, shape).make();
}

}  // namespace nearfield
