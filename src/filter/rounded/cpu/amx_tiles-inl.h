// What the kernels of AMX have in common, whatever a tile's values are. Included inside a
// namespace, after NEARFIELD_MULTIPLY_TILES, the instruction, which it undefines.

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Not of a function: GCC 12 takes 8 bytes of it for all that is read, and may leave out the others.
constexpr TileConfig kTileConfig;

// Of the queries and a block: [query][row], without the bias.
struct alignas(64) Sums {
  std::int32_t of[kTileQueries * kBlockRows];

  __m512i load(std::int64_t query) const { return _mm512_load_si512(of + query * kBlockRows); }
};

// Where the operands of the products lie.
struct Operands {
  template <class Job>
  explicit Operands(const Job& job)
      : upper(job.queries),
        lower(job.queries + 16 * job.query_stride),
        rows(reinterpret_cast<const std::byte*>(job.rows)),
        query_stride(job.query_stride),
        block_bytes(job.depth * kDepthBytes) {}

  const std::byte* block(std::int64_t number) const { return rows + number * block_bytes; }

  // Asks for what lies some groups behind: what prefetches by itself stops at the end of a page.
  // One query over 1,000,000 x 128 bytes takes 8.8 instead of 9.5 ms (medians of 5), and not less
  // with 4 or 64 KiB.
  void prefetch_group(std::int64_t group) const {
    constexpr std::int64_t kAhead = 16 << 10;
    const std::byte* const begin = block(2 * group) + kAhead;
    for (std::int64_t at = 0; at < 2 * block_bytes; at += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(begin + at), _MM_HINT_T1);
    }
  }

  const std::byte* upper;  // queries 0 to 15
  const std::byte* lower;
  const std::byte* rows;
  std::int64_t query_stride;
  std::int64_t block_bytes;
};

// What sums begin with: an instruction names its tiles, so that each pair of them has a function.
struct FromZero {
  void start_even() const {
    _tile_zero(0);
    _tile_zero(1);
  }
  void start_odd() const {
    _tile_zero(2);
    _tile_zero(3);
  }
};

// Of tiles 0 and 1.
inline void store_even(Sums& sums) {
  _tile_stored(0, sums.of, 64);
  _tile_stored(1, sums.of + 16 * kBlockRows, 64);
}

// Of tiles 2 and 3.
inline void store_odd(Sums& sums) {
  _tile_stored(2, sums.of, 64);
  _tile_stored(3, sums.of + 16 * kBlockRows, 64);
}

// Twice, since an instruction names its tiles: no argument can stand for their numbers.
template <class Start>
void multiply_even(const Start& start, const Operands& operands, const std::byte* block) {
  start.start_even();
  for (std::int64_t k = 0; k < operands.query_stride; k += kDepthBytes) {
    _tile_loadd(4, operands.upper + k, operands.query_stride);
    _tile_loadd(6, block + k * 16, 64);
    NEARFIELD_MULTIPLY_TILES(0, 4, 6);
    _tile_loadd(5, operands.lower + k, operands.query_stride);
    NEARFIELD_MULTIPLY_TILES(1, 5, 6);
  }
}

template <class Start>
void multiply_odd(const Start& start, const Operands& operands, const std::byte* block) {
  start.start_odd();
  for (std::int64_t k = 0; k < operands.query_stride; k += kDepthBytes) {
    _tile_loadd(4, operands.upper + k, operands.query_stride);
    _tile_loadd(6, block + k * 16, 64);
    NEARFIELD_MULTIPLY_TILES(2, 4, 6);
    _tile_loadd(5, operands.lower + k, operands.query_stride);
    NEARFIELD_MULTIPLY_TILES(3, 5, 6);
  }
}

// Queries of one or two steps of kDepthBytes stay in tiles 4 to 7: only rows are loaded.
template <class Comparison, int kSteps, class Job>
void run_kept(Job& job) {
  const Operands operands(job);
  Comparison comparison(job);
  Sums even;
  Sums odd;
  _tile_loadd(4, operands.upper, operands.query_stride);
  _tile_loadd(5, operands.lower, operands.query_stride);
  if constexpr (kSteps == 2) {
    _tile_loadd(6, operands.upper + kDepthBytes, operands.query_stride);
    _tile_loadd(7, operands.lower + kDepthBytes, operands.query_stride);
  }
  const auto multiply = [&](std::int64_t number) {
    const std::byte* block = operands.block(number);
    comparison.start_even();
    _tile_loadd(2, block, 64);
    NEARFIELD_MULTIPLY_TILES(0, 4, 2);
    NEARFIELD_MULTIPLY_TILES(1, 5, 2);
    if constexpr (kSteps == 2) {
      _tile_loadd(3, block + kTileBytes, 64);
      NEARFIELD_MULTIPLY_TILES(0, 6, 3);
      NEARFIELD_MULTIPLY_TILES(1, 7, 3);
    }
  };
  for (std::int64_t group = 0; group < job.groups; ++group) {
    if (job.rows_from_memory) operands.prefetch_group(group);
    multiply(2 * group);
    if (group > 0) comparison.compare(odd, 2 * group - 1);
    store_even(even);
    multiply(2 * group + 1);
    comparison.start_group(group);
    comparison.compare(even, 2 * group);
    store_even(odd);
  }
  comparison.compare(odd, 2 * job.groups - 1);
}

// Blocks in turn, each in a pair of tiles of its own.
template <class Comparison, class Job>
void run_pairs(Job& job) {
  const Operands operands(job);
  Comparison comparison(job);
  Sums even;
  Sums odd;
  for (std::int64_t group = 0; group < job.groups; ++group) {
    if (job.rows_from_memory) operands.prefetch_group(group);
    multiply_even(comparison, operands, operands.block(2 * group));
    if (group > 0) {
      store_odd(odd);
      comparison.start_group(group - 1);
      comparison.compare(even, 2 * group - 2);
    }
    multiply_odd(comparison, operands, operands.block(2 * group + 1));
    store_even(even);
    if (group > 0) comparison.compare(odd, 2 * group - 1);
  }
  store_odd(odd);
  comparison.start_group(job.groups - 1);
  comparison.compare(even, 2 * job.groups - 2);
  comparison.compare(odd, 2 * job.groups - 1);
}

// Both blocks of a group at once: each tile that is loaded serves two products, and the products
// take so long that it does not matter that the stores wait for them.
template <class Comparison, class Job>
void run_squares(Job& job) {
  const Operands operands(job);
  Comparison comparison(job);
  Sums even[2];
  Sums odd[2];
  const auto compare = [&](std::int64_t group) {
    comparison.start_group(group);
    comparison.compare(even[group % 2], 2 * group);
    comparison.compare(odd[group % 2], 2 * group + 1);
  };
  for (std::int64_t group = 0; group < job.groups; ++group) {
    if (job.rows_from_memory) operands.prefetch_group(group);
    const std::byte* left = operands.block(2 * group);
    const std::byte* right = operands.block(2 * group + 1);
    comparison.start_even();
    comparison.start_odd();
    for (std::int64_t k = 0; k < operands.query_stride; k += kDepthBytes) {
      _tile_loadd(4, operands.upper + k, operands.query_stride);
      _tile_loadd(6, left + k * 16, 64);
      NEARFIELD_MULTIPLY_TILES(0, 4, 6);
      _tile_loadd(7, right + k * 16, 64);
      NEARFIELD_MULTIPLY_TILES(2, 4, 7);
      _tile_loadd(5, operands.lower + k, operands.query_stride);
      NEARFIELD_MULTIPLY_TILES(1, 5, 6);
      NEARFIELD_MULTIPLY_TILES(3, 5, 7);
    }
    if (group > 0) compare(group - 1);
    store_even(even[group % 2]);
    store_odd(odd[group % 2]);
  }
  compare(job.groups - 1);
}

// In pairs where queries that are not kept have at most so many bytes.
template <class Comparison, class Job>
void run_tiles(Job& job, std::int64_t deepest_pairs) {
  _tile_loadconfig(&kTileConfig);
  if (job.query_stride == kDepthBytes) {
    run_kept<Comparison, 1>(job);
  } else if (job.query_stride == 2 * kDepthBytes) {
    run_kept<Comparison, 2>(job);
  } else if (job.query_stride <= deepest_pairs) {
    run_pairs<Comparison>(job);
  } else {
    run_squares<Comparison>(job);
  }
  _tile_release();
}

#undef NEARFIELD_MULTIPLY_TILES
