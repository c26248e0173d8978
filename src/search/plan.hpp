// How a search is cut to fit caches, threads and the memory limit.
#pragma once

#include <cstdint>
#include <optional>

#include <nearfield/stats.hpp>

#include "device/default_choice.hpp"
#include "filter/device_filter.hpp"

namespace nearfield {

// Of a search by tiles of bytes. Measured as below, 1,000,000 x 128 u8.
struct TileTuning {
  std::int64_t least_queries = 24;  // below, rounding the base costs more than it saves
  std::int64_t least_rows = 1024;   // below, fitting the rounding costs more than it saves
  std::int64_t most_forbidden = 8;  // rows for one that may be found: all are rounded
  std::int64_t queries = 512;       // of a block: 64 KiB at 128 columns
  std::int64_t rows = 1024;         // of a block: 128 KiB
  std::int64_t first_rows = 32;     // of the first block, all of whose pairs survive
  // Of a block, so that 341 queries of 768 columns read its rows from memory once: of 500,000 x 768
  // that takes 4.7 instead of 6.3 s beside 1 << 26. Verifying looks at the cancel token itself.
  std::int64_t block_values = 1 << 28;
  double most_block_nanoseconds = 2e7;         // of its products: cancel is due within 50 ms
  std::int64_t most_selected_items = 1 << 22;  // likewise, of its queries, each with k of them
  double least_bf16_gain = 1.2;  // predicted, so that tiles are of bf16: bf16_gain.hpp
  // Of all pairs, for each thread, so that it is predicted at all. That takes 0.5 to 1.0 ms; what
  // can be gained is what verifying takes, 50 ps a value where so few are in a cache: 3.4 ms.
  std::int64_t least_bf16_values = 1 << 26;
};

// Of a search over bits. Measured as below, 4,000,000 x 512 bits.
struct BitTuning {
  std::int64_t queries = 1024;           // of a block: they share what its rows cost to make ready
  std::int64_t rows = 512;               // of a block
  std::int64_t block_words = 1 << 23;    // of 32 bits: at most 30 ms a block, on the slowest ISA
  std::int64_t few_queries_rows = 4096;  // of a block with no more queries than are counted at once
  std::int64_t least_tile_queries = 96;  // below, AMX is slower than counting
  double value_cost = 1.0 / 256;         // of a bit: see value_cost.hpp
  std::int64_t bits_of_a_pair = 128;     // what a pair costs beside its bits, in bits
};

// Of a search on a device, where it is not to be the fastest: `nearfield tune` tries them all.
struct DeviceSearchTuning {
  std::optional<DeviceMethod> method = {};       // as none where it does not apply
  std::optional<std::int64_t> query_batch = {};  // of a block
  std::int64_t least_half_cols = kDefaultChoice.least_half_cols;
};

// Measured on two cores of a 5th-generation Xeon (48 KiB L1, 2 MiB L2), 100,000 x 128 f32.
struct Tuning {
  std::int64_t block_pairs = 16'384;        // keys of a block: 128 KiB, beside the rows in L2
  std::int64_t row_tile_bytes = 512 << 10;  // rows of a block, read once for each of its queries
  std::int64_t block_values = 1 << 23;      // at most 10 ms a block: cancel is due within 50
  std::int64_t chunk_bytes = 16 << 20;      // read from a file at a time: as above, at 1 GB/s
  std::int64_t default_budget = std::int64_t{1} << 30;  // working memory where no limit is set
  std::int64_t tasks_per_thread = 4;          // so that the last task is a small part of the whole
  double nanoseconds_per_value = 0.25;        // of a row, to guess what is too small for threads
  double inline_below_nanoseconds = 100'000;  // an arena costs 18 us
  TileTuning tiles;
  BitTuning bits;
  DeviceSearchTuning device;
};

// What a search uses that is not told otherwise. Tests change it between searches.
Tuning& default_tuning();

// Blocks as a filter wants them.
struct TileShape {
  std::int64_t queries = 1;  // a whole number of these, and of these rows
  std::int64_t rows = 1;
  std::int64_t most_queries = 1;
  std::int64_t most_rows = 1;
  std::int64_t most_pairs = 1;
  // Of most_pairs, those that are listed at a time: the filter answers for fewer rows where it
  // finds more. Empty: all.
  std::optional<std::int64_t> most_listed = {};
  std::int64_t listed_bytes = 12;               // of a pair: its row and its key
  std::optional<std::int64_t> first_rows = {};  // of the first block; empty: those of the tuning
  std::optional<std::int64_t> most_row_parts = {};
  // Threads share the rows, and each has as many queries as there may be: rows cost something for
  // every block they are in. Else they share the queries, since each part of the rows begins
  // without a threshold.
  bool keep_queries_together = false;
};

struct SearchShape {
  std::int64_t queries = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  double value_cost = 1;            // of the metric: value_cost.hpp
  std::int64_t threshold_rank = 1;  // of a query: Engine::Keeps
  std::int64_t first_of_any = 0;    // likewise
  std::int64_t sink_bytes = 0;      // of a query, while it is searched
  std::int64_t result_bytes = 0;
  std::int64_t base_row_bytes = 0;
  std::int64_t base_buffer_bytes = 0;   // a row; 0 if the base is in memory already
  std::int64_t query_buffer_bytes = 0;  // likewise
  std::optional<TileShape> tiles;       // of a filter that has them
  std::int64_t base_filter_bytes = 0;   // a row, as the filter keeps it
  std::int64_t query_filter_bytes = 0;  // likewise
  // At a time, where a device has room for no more.
  std::optional<std::int64_t> most_batch = {};
  std::optional<std::int64_t> most_chunk = {};
  std::int64_t fixed_bytes = 0;  // of the whole search: the list of allowed rows, say
  int threads = 1;
  std::optional<std::int64_t> memory_limit;
};

// Whether it fits the memory limit, with so many queries at a time.
bool fits(const SearchShape& shape, const Tuning& tuning, std::int64_t queries);

// Fills all of the plan but isa, filter, kernel and selector. Throws memory_limit.
Plan make_plan(const SearchShape& shape, const Tuning& tuning);

}  // namespace nearfield
