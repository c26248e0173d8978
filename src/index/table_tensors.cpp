#include "index/table_tensors.hpp"

#include <utility>

#include <fmt/ranges.h>

#include "core/fail.hpp"

namespace nearfield {

std::span<const std::uint32_t> u32_tensor(const TensorFile& file, const char* name,
                                          const std::vector<std::int64_t>& shape) {
  const TensorEntry& tensor = file.tensor(name);
  if (tensor.type != TensorType::u32 || tensor.shape != shape) {
    fail(ErrorCode::corrupt_file, "{}: tensor '{}' is {} of [{}], not {} of [{}]", file.path(),
         name, to_string(tensor.type), fmt::join(tensor.shape, ", "), to_string(TensorType::u32),
         fmt::join(shape, ", "));
  }
  const std::span<const std::byte> bytes = file.bytes(tensor);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint32_t) != 0) {
    fail(ErrorCode::corrupt_file, "{}: tensor '{}' does not begin at a multiple of {} bytes",
         file.path(), name, alignof(std::uint32_t));
  }
  return {reinterpret_cast<const std::uint32_t*>(bytes.data()),
          bytes.size() / sizeof(std::uint32_t)};
}

std::vector<BucketView> stored_tables(const TensorFile& file, const char* name, std::int64_t tables,
                                      int bits, std::int64_t rows) {
  const std::int64_t starts = bucket_starts(bits);
  const std::span<const std::uint32_t> all = u32_tensor(file, name, {tables, starts + rows});
  std::vector<BucketView> views;
  for (std::int64_t i = 0; i < tables; ++i) {
    const auto table = all.subspan(static_cast<std::size_t>(i * (starts + rows)));
    views.emplace_back(
        table.first(static_cast<std::size_t>(starts)),
        table.subspan(static_cast<std::size_t>(starts), static_cast<std::size_t>(rows)));
  }
  return views;
}

TensorToWrite tables_to_write(const char* name, std::int64_t tables, int bits, std::int64_t rows,
                              std::function<BucketTable(std::int64_t)> make) {
  return {name,
          TensorType::u32,
          {tables, bucket_starts(bits) + rows},
          [tables, make = std::move(make)](const TakeBytes& take) {
            for (std::int64_t i = 0; i < tables; ++i) {
              const BucketTable table = make(i);
              take(std::as_bytes(table.view().starts()));
              take(std::as_bytes(table.view().rows()));
            }
          }};
}

bool holds_by_buckets(const BucketView& table, std::span<const std::uint32_t> buckets,
                      const Monitor& monitor) {
  constexpr std::size_t kBucketsBetweenChecks = 1 << 16;
  const std::span<const std::uint32_t> starts = table.starts();
  const std::span<const std::uint32_t> rows = table.rows();
  if (starts.front() != 0 || starts.back() != buckets.size()) return false;
  for (std::size_t bucket = 0; bucket + 1 < starts.size(); ++bucket) {
    if (bucket % kBucketsBetweenChecks == 0) monitor.check();
    const std::uint32_t end = starts[bucket + 1];
    if (starts[bucket] > end || end > rows.size()) return false;
    for (std::uint32_t i = starts[bucket]; i < end; ++i) {
      const bool rises = i == starts[bucket] || rows[i] > rows[i - 1];
      if (!rises || rows[i] >= buckets.size() || buckets[rows[i]] != bucket) return false;
    }
  }
  return true;
}

}  // namespace nearfield
