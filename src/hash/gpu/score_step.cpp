#include "hash/gpu/score_step.hpp"

#include <algorithm>

namespace nearfield {
namespace {

constexpr std::string_view kScoreModule = "score_buckets";
// Each goes round: enough for any device.
constexpr std::int64_t kListBlocks = 1024;

static_assert(sizeof(BucketPiece) == 3 * sizeof(std::uint32_t));  // as score_buckets.cu has it

}  // namespace

void DeviceScores::add(gpu::Queue& queue, const gpu::Buffer& lists, const gpu::Buffer& pieces,
                       std::int64_t count, std::int64_t first, std::int64_t rows) const {
  if (count == 0) return;
  queue.run({kScoreModule, "add_weights"}, {count, 1},
            {lists, pieces, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(rows),
             static_cast<std::uint32_t>(words_), *scores_, *wrong_});
}

void DeviceScores::list(gpu::Queue& queue, std::int64_t queries, int threshold,
                        const PairList& found) const {
  queue.fill(*found.count, 0);
  const std::int64_t blocks = divide_up(words_, queue.threads(kScoreModule));
  queue.run({kScoreModule, "list_scored"}, {std::min(blocks, kListBlocks), queries},
            {*scores_, static_cast<std::uint32_t>(words_), static_cast<std::uint32_t>(threshold),
             *found.count, static_cast<std::uint32_t>(found.most), *found.places});
}

}  // namespace nearfield
