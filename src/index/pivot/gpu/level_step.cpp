#include "index/pivot/gpu/level_step.hpp"

#include <algorithm>
#include <string_view>

#include "core/checked.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kLevelModule = "level_lists";
constexpr std::int64_t kRowsOfAThread = 4;
// Each goes round: enough for any device, few enough for their sums of 256 levels.
constexpr std::int64_t kMostCountBlocks = 256;

std::uint32_t word_of(std::int64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

LevelStep::LevelStep(const ObjectFilter& filter, std::int64_t slots, gpu::Queue& queue)
    : block_words_(filter.table() ? word_of(filter.table()->blocks().block_bytes() / 4) : 0),
      slots_(word_of(slots)),
      numbered_(filter.table() && !filter.table()->all_kept() ? 1 : 0),
      has_letters_(filter.signatures() != nullptr ? 1 : 0),
      queue_(queue) {}

std::int64_t LevelStep::chunk_rows(const gpu::Queue& queue) {
  return kRowsOfAThread * queue.threads(kLevelModule);
}

void LevelStep::count_levels(const KeptRun& run, const AskedBuffers& asked, std::int64_t queries,
                             gpu::Buffer& counts) const {
  const std::int64_t chunks = divide_up(run.rows.size(), chunk_rows(queue_));
  queue_.run({kLevelModule, "count_levels"}, {std::min(chunks, kMostCountBlocks), queries},
             {*run.blocks, block_words_, slots_, numbered_, *run.letters, has_letters_,
              word_of(run.rows.size()), asked.reaches, asked.letters, counts});
}

void LevelStep::count_rows(const KeptRun& run, std::int64_t first_chunk, const AskedBuffers& asked,
                           const RequestBuffers& requests) const {
  queue_.run(
      {kLevelModule, "count_rows"},
      {divide_up(run.rows.size(), chunk_rows(queue_)), requests.count},
      {*run.blocks, block_words_, slots_, numbered_, *run.letters, has_letters_,
       word_of(run.rows.size()), asked.reaches, asked.letters, requests.requests,
       word_of(requests.chunks), word_of(first_chunk), word_of(run.rows.begin), requests.sums});
}

void LevelStep::sum_counts(const RequestBuffers& requests, gpu::Buffer& totals) const {
  queue_.run({kLevelModule, "sum_counts"}, {requests.count, 1},
             {requests.sums, word_of(requests.chunks), totals});
}

void LevelStep::list_rows(const KeptRun& run, std::int64_t first_chunk, const AskedBuffers& asked,
                          const RequestBuffers& requests, const Listed& listed) const {
  queue_.run({kLevelModule, "list_rows"},
             {divide_up(run.rows.size(), chunk_rows(queue_)), listed.some.size()},
             {*run.blocks, block_words_, slots_, numbered_, *run.letters, has_letters_,
              word_of(run.rows.size()), asked.reaches, asked.letters, requests.requests,
              word_of(requests.chunks), word_of(first_chunk), requests.sums, listed.starts,
              word_of(listed.some.begin), word_of(run.rows.begin), listed.rows, listed.levels});
}

}  // namespace nearfield
