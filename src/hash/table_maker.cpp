#include "hash/table_maker.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "hash/gpu/bucket_step.hpp"
#include "hash/substrings.hpp"

namespace nearfield {
namespace {

// Of who share a table: 3 % each, since a CPU beside a GPU may be worth as little.
constexpr std::int64_t kMostSharedPieces = 32;
constexpr std::int64_t kLeastSharedRows = 1 << 16;

void write_codes(const BucketView& table, std::uint8_t* codes) {
  const auto buckets = static_cast<std::uint32_t>(table.starts().size() - 1);
  for (std::uint32_t bucket = 0; bucket < buckets; ++bucket) {
    for (const std::uint32_t row : table.of(bucket)) {
      codes[row] = static_cast<std::uint8_t>(bucket);
    }
  }
}

}  // namespace

TableMaker::TableMaker(const Context& context, std::int64_t cols)
    : threads_(resolve_threads(context.threads)) {
  if (!on_device(context)) return;
  cpu_ = false;
  for (const std::string_view name : split_devices(context.device)) {
    if (parse_device(name).kind == kCpu) {
      cpu_ = true;
    } else {
      devices_.push_back(std::make_unique<BucketStep>(context, name, cols));
    }
  }
}

TableMaker::~TableMaker() = default;

BucketTable TableMaker::make(MatrixView rows, std::span<const std::uint32_t> positions,
                             std::uint8_t* codes, const Monitor& monitor) {
  if (devices_.empty()) return make_on_cpu(rows, positions, codes, monitor);
  BucketTable table = make_in_pieces(rows, positions, monitor);
  if (codes != nullptr) write_codes(table.view(), codes);
  return table;
}

BucketTable TableMaker::make_on_cpu(MatrixView rows, std::span<const std::uint32_t> positions,
                                    std::uint8_t* codes, const Monitor& monitor) const {
  AlignedArray<std::uint32_t> buckets(rows.rows());
  hash_rows(rows, positions, buckets.data(), threads_, monitor);
  const std::span<const std::uint32_t> all(buckets.data(), static_cast<std::size_t>(rows.rows()));
  if (codes != nullptr) copy_codes(all, codes);
  return {all, static_cast<int>(positions.size()), threads_, monitor};
}

// Each takes the next piece when it is done with one: so it has its share by its speed.
BucketTable TableMaker::make_in_pieces(MatrixView rows, std::span<const std::uint32_t> positions,
                                       const Monitor& monitor) {
  const std::vector<Range> pieces = pieces_of(rows.rows(), static_cast<int>(positions.size()));
  std::vector<std::optional<BucketTable>> made(pieces.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&](const auto& make_piece) {
    try {
      for (std::size_t i = next++; i < pieces.size(); i = next++) {
        monitor.check();
        made[i].emplace(make_piece(rows.slice(pieces[i].begin, pieces[i].size())));
      }
    } catch (...) {
      next = pieces.size();  // for the others
      throw;
    }
  };
  std::vector<std::unique_ptr<Background>> beside;
  for (const auto& device : devices_) {
    beside.push_back(std::make_unique<Background>([&work, &device, positions] {
      work([&](MatrixView piece) { return device->make(piece, positions); });
    }));
  }
  if (cpu_) {
    work([&](MatrixView piece) { return make_on_cpu(piece, positions, nullptr, monitor); });
  }
  for (const auto& device : beside) device->wait();
  std::vector<BucketTable> tables;
  for (auto& piece : made) tables.push_back(std::move(*piece));
  if (tables.size() == 1) return std::move(tables.front());
  return BucketTable(tables);
}

// As few as devices have room for. Several workers share a table where each piece has as many rows
// as buckets: starts of pieces take memory, too.
std::vector<Range> TableMaker::pieces_of(std::int64_t rows, int bits) const {
  std::int64_t most = std::max<std::int64_t>(rows, 1);
  for (const auto& device : devices_) most = std::min(most, device->most_rows(bits));
  std::int64_t count = std::max<std::int64_t>(divide_up(rows, most), 1);
  if (count > 1 && count * bucket_starts(bits) > 2 * rows) {
    fail(ErrorCode::memory_limit,
         "a device has room for {} of {} rows, and tables of 2^{} buckets of so few take more than "
         "all rows: raise its limit, or leave the device out",
         most, rows, bits);
  }
  if (std::ssize(devices_) + (cpu_ ? 1 : 0) > 1) {
    count = std::max(count, std::min({kMostSharedPieces, rows >> bits, rows / kLeastSharedRows}));
  }
  std::vector<Range> pieces;
  for (std::int64_t i = 0; i < count; ++i) {
    pieces.push_back({rows * i / count, rows * (i + 1) / count});
  }
  return pieces;
}

}  // namespace nearfield
