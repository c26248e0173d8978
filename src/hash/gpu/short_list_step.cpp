#include "hash/gpu/short_list_step.hpp"

#include <string_view>

namespace nearfield {
namespace {

constexpr std::string_view kShortListModule = "short_list";

static_assert(sizeof(ListPiece) == 3 * sizeof(std::uint32_t));  // as short_list.cu has it

std::unique_ptr<gpu::Buffer> copied(gpu::Device& device, gpu::Queue& queue,
                                    std::span<const std::uint32_t> values) {
  auto buffer = device.allocate(static_cast<std::int64_t>(values.size_bytes()));
  queue.write(*buffer, values.data());
  return buffer;
}

}  // namespace

DeviceBuckets::DeviceBuckets(gpu::Device& device, gpu::Queue& queue,
                             std::span<const BucketView> tables)
    : bucket_count_(static_cast<std::uint32_t>(tables.front().starts().size() - 1)),
      row_count_(static_cast<std::uint32_t>(tables.front().rows().size())) {
  for (const BucketView& table : tables) {
    tables_.push_back({copied(device, queue, table.starts()), copied(device, queue, table.rows())});
  }
}

std::int64_t DeviceBuckets::bytes(std::span<const BucketView> tables) {
  std::int64_t bytes = 0;
  for (const BucketView& table : tables) {
    bytes += static_cast<std::int64_t>(table.starts().size_bytes() + table.rows().size_bytes());
  }
  return bytes;
}

void DeviceBuckets::short_list(gpu::Queue& queue, const Asked& asked, gpu::Buffer& marks,
                               const PlaceList& list, gpu::Buffer& wrong) const {
  queue.fill(*list.count, 0);
  queue.fill(marks, 0);
  const auto probes = static_cast<std::uint64_t>(asked.probes);
  const std::uint64_t of_a_query = probes * tables_.size();
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const std::uint64_t first = static_cast<std::uint64_t>(asked.first_query) * of_a_query;
    queue.run({kShortListModule, "short_list"}, {asked.probes, asked.queries},
              {*tables_[i].starts, bucket_count_, *tables_[i].rows, row_count_,
               static_cast<std::uint32_t>(asked.first_row), static_cast<std::uint32_t>(asked.rows),
               asked.buckets, first + probes * i, of_a_query, marks,
               static_cast<std::uint32_t>(mark_bytes(row_count_) / 4),
               static_cast<std::uint32_t>(asked.once ? asked.queries : 0), *list.count,
               static_cast<std::uint32_t>(list.most), *list.places, wrong});
  }
}

void list_pieces(gpu::Queue& queue, const gpu::Buffer& lists, const gpu::Buffer& pieces,
                 std::int64_t count, const ListedRows& asked, gpu::Buffer& marks,
                 std::int64_t mark_words, const PlaceList& list, gpu::Buffer& wrong) {
  queue.run({kShortListModule, "list_pieces"}, {count, 1},
            {lists, pieces, static_cast<std::uint32_t>(asked.all),
             static_cast<std::uint32_t>(asked.first), static_cast<std::uint32_t>(asked.rows), marks,
             static_cast<std::uint32_t>(mark_words), static_cast<std::uint32_t>(asked.once_for),
             *list.count, static_cast<std::uint32_t>(list.most), *list.places, wrong});
}

void gather_rows(gpu::Queue& queue, const GatheredFrom& from, const PlaceList& list,
                 std::int64_t count, gpu::Buffer& to) {
  queue.run(
      {kShortListModule, "gather_rows"}, {count, 1},
      {from.rows, static_cast<std::uint64_t>(from.begin), static_cast<std::uint64_t>(from.stride),
       static_cast<std::uint32_t>(from.bytes), *list.places, to});
}

}  // namespace nearfield
