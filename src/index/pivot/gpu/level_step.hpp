// Rows by their lower bounds on a device: what the kernels of level_lists.cu are given.
#pragma once

#include <cstdint>

#include "device/gpu/gpu.hpp"
#include "index/pivot/gpu/kept_run.hpp"

namespace nearfield {

// Of queries: 256 x 16 bits each of what they know of pivots, and 64 bits of letters.
struct AskedBuffers {
  const gpu::Buffer& reaches;
  const gpu::Buffer& letters;
};

// Of some queries: 32 bits for the query, 32 for its levels, 32 for the first row.
struct RequestBuffers {
  static constexpr std::int64_t kWords = 3;

  const gpu::Buffer& requests;
  std::int64_t count;
  const gpu::Buffer& sums;  // 32 bits for each chunk of rows of each
  std::int64_t chunks;
};

class LevelStep {
 public:
  // slots: of the pivots that a row keeps, how many are looked at.
  LevelStep(const ObjectFilter& filter, std::int64_t slots, gpu::Queue& queue);

  // Rows that a block of threads looks at: their numbers are counted together.
  static std::int64_t chunk_rows(const gpu::Queue& queue);

  void count_levels(const KeptRun& run, const AskedBuffers& asked, std::int64_t queries,
                    gpu::Buffer& counts) const;
  // The chunks of a run begin with this one.
  void count_rows(const KeptRun& run, std::int64_t first_chunk, const AskedBuffers& asked,
                  const RequestBuffers& requests) const;
  // When the rows of all runs are counted. totals: 32 bits of each request.
  void sum_counts(const RequestBuffers& requests, gpu::Buffer& totals) const;

  // The rows of some requests, one behind the other, which begin in the list of all at `starts`.
  struct Listed {
    const gpu::Buffer& starts;
    Range some;
    gpu::Buffer& rows;
    gpu::Buffer& levels;
  };
  void list_rows(const KeptRun& run, std::int64_t first_chunk, const AskedBuffers& asked,
                 const RequestBuffers& requests, const Listed& listed) const;

 private:
  std::uint32_t block_words_;
  std::uint32_t slots_;
  std::uint32_t numbered_;
  std::uint32_t has_letters_;
  gpu::Queue& queue_;
};

}  // namespace nearfield
