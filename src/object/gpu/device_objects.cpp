#include "object/gpu/device_objects.hpp"

#include <algorithm>
#include <limits>

#include "core/fail.hpp"
#include "core/make_room.hpp"
#include "object/symbols.hpp"

namespace nearfield {
namespace {

// As object_distances.cu has them.
constexpr std::size_t kPatternLetters = 128;
constexpr std::size_t kMostPatternWords = 4;
constexpr std::size_t kPlacesOfAWord = 64;
constexpr std::uint32_t kTooLong = ~std::uint32_t{0};

}  // namespace

void PackedObjectBytes::start(std::size_t objects, std::size_t bytes) {
  reserve_room(bytes_, bytes);
  reserve_room(ends_, objects + 1);
  ends_.push_back(0);
}

void PackedObjectBytes::add(ObjectView object) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (object.size() > kMost - bytes_.size()) {
    fail(ErrorCode::unsupported, "an object of {} bytes is too large for a device, which counts {}",
         object.size(), kMost);
  }
  bytes_.insert(bytes_.end(), object.begin(), object.end());
  ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
}

void DeviceObjects::copy(const ObjectList& objects, Range some, PackedObjectBytes& staging,
                         gpu::Device& device, gpu::Queue& queue) {
  rows = some;
  std::size_t all = 0;
  for (std::int64_t row = some.begin; row < some.end; ++row) all += objects.view(row).size();
  staging.start(static_cast<std::size_t>(some.size()), all);
  for (std::int64_t row = some.begin; row < some.end; ++row) staging.add(objects.view(row));
  const gpu::WaitAtEnd wait(queue);
  copy_values(staging.bytes(), device, queue, bytes);
  copy_values(staging.ends(), device, queue, ends);
  queue.wait();
}

std::vector<Range> object_runs(const ObjectList& objects, std::int64_t most_bytes) {
  std::vector<Range> runs;
  Range run;
  std::int64_t bytes = DeviceObjects::kRowBytes;  // one more than there are objects
  for (; run.end < objects.size(); ++run.end) {
    const std::int64_t own = std::ssize(objects.view(run.end)) + DeviceObjects::kRowBytes;
    if (run.size() > 0 && bytes + own > most_bytes) {
      runs.push_back(run);
      run.begin = run.end;
      bytes = DeviceObjects::kRowBytes;
    }
    bytes += own;
  }
  if (run.size() > 0) runs.push_back(run);
  return runs;
}

std::int64_t DeviceQueries::bytes_of_one(DeviceDistance distance,
                                         std::span<const ObjectView> queries) {
  if (distance == DeviceDistance::edit) {
    return kPatternLetters * kMostPatternWords * sizeof(std::uint64_t) + sizeof(std::uint32_t);
  }
  std::size_t most = 0;
  for (const ObjectView query : queries) most = std::max(most, query.size());
  return static_cast<std::int64_t>(most + sizeof(std::uint32_t));
}

void DeviceQueries::copy(DeviceDistance distance, std::span<const ObjectView> queries,
                         gpu::Device& device, gpu::Queue& queue) {
  if (distance == DeviceDistance::edit) return copy_patterns(queries, device, queue);
  PackedObjectBytes packed;
  packed.start(queries.size(), 0);
  for (const ObjectView query : queries) packed.add(query);
  const gpu::WaitAtEnd wait(queue);
  copy_values(packed.bytes(), device, queue, values_);
  copy_values(packed.ends(), device, queue, sizes_);
  queue.wait();
}

void DeviceQueries::copy_patterns(std::span<const ObjectView> queries, gpu::Device& device,
                                  gpu::Queue& queue) {
  std::vector<std::vector<char32_t>> symbols;
  std::vector<std::uint32_t> sizes;
  std::size_t longest = 1;
  for (const ObjectView query : queries) {
    symbols.push_back(symbols_of(query));
    const bool too_long = symbols.back().size() > kMostPatternWords * kPlacesOfAWord;
    sizes.push_back(too_long ? kTooLong : static_cast<std::uint32_t>(symbols.back().size()));
    if (too_long) symbols.back().clear();
    longest = std::max(longest, symbols.back().size());
  }
  const std::size_t words = (longest + kPlacesOfAWord - 1) / kPlacesOfAWord;
  stride_ = static_cast<std::int64_t>(words);
  std::vector<std::uint64_t> places(queries.size() * kPatternLetters * words);
  for (std::size_t query = 0; query < queries.size(); ++query) {
    for (std::size_t i = 0; i < symbols[query].size(); ++i) {
      const char32_t symbol = symbols[query][i];
      if (symbol >= kAscii) continue;  // no text on the device has it
      places[(query * kPatternLetters + symbol) * words + i / kPlacesOfAWord] |=
          std::uint64_t{1} << (i % kPlacesOfAWord);
    }
  }
  const gpu::WaitAtEnd wait(queue);
  copy_values(std::span<const std::uint64_t>(places), device, queue, values_);
  copy_values(std::span<const std::uint32_t>(sizes), device, queue, sizes_);
  queue.wait();
}

}  // namespace nearfield
