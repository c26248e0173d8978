#include "index/mih/mih_file.hpp"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "core/fail.hpp"
#include "hash/substrings.hpp"
#include "index/table_tensors.hpp"
#include "index/tuning.hpp"

namespace nearfield {
namespace {

constexpr const char* kPositions = "mih.positions";
constexpr const char* kTables = "mih.tables";  // of each its starts, then its rows

// Of a file, which may hold anything.
class MihOpening {
 public:
  MihOpening(const TensorFile& file, const IndexSpec& spec, std::int64_t rows)
      : file_(file), spec_(spec), rows_(rows) {}

  std::shared_ptr<const MihTables> open() const {
    auto run = std::make_shared<MihRun>();
    run->rows = {0, rows_};
    run->partition = read_partition();
    run->tables = stored_tables(file_, kTables, run->partition.tables, run->partition.bits, rows_);
    return std::make_shared<const MihTables>(MihTables::Runs{std::move(run)});
  }

 private:
  using Values = std::span<const std::uint32_t>;

  template <class... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> what, Args&&... args) const {
    fail(ErrorCode::corrupt_file, "{}: {}", file_.path(),
         fmt::format(what, std::forward<Args>(args)...));
  }

  BitPartition read_partition() const {
    const std::vector<std::int64_t>& shape = file_.tensor(kPositions).shape;
    if (shape.size() != 2 || shape[0] < 1 || shape[0] > kMostMihTables || shape[1] < 1 ||
        shape[1] > kMostMihBits) {
      reject("'{}' is of [{}], and mih has at most {} tables of {} bits", kPositions,
             fmt::join(shape, ", "), kMostMihTables, kMostMihBits);
    }
    const Values stored = u32_tensor(file_, kPositions, shape);
    const BitPartition partition{.tables = shape[0],
                                 .bits = static_cast<int>(shape[1]),
                                 .positions = {stored.begin(), stored.end()}};
    std::vector<std::uint32_t> sorted = partition.positions;
    std::ranges::sort(sorted);
    if (sorted.back() >= spec_.cols || std::ranges::adjacent_find(sorted) != sorted.end()) {
      reject("'{}' holds a bit twice, or beyond the {} that there are", kPositions, spec_.cols);
    }
    return partition;
  }

  const TensorFile& file_;
  const IndexSpec& spec_;
  std::int64_t rows_;
};

class MihToWrite final : public FamilyTensors {
 public:
  MihToWrite(std::span<const PartView> parts, std::int64_t rows, BitPartition partition,
             int threads, const Monitor& monitor)
      : parts_(parts),
        rows_(rows),
        partition_(std::move(partition)),
        threads_(threads),
        monitor_(monitor) {}

  void add_to(std::vector<TensorToWrite>& tensors) const override {
    const std::int64_t tables = partition_.tables;
    tensors.push_back(tensor_in_memory(kPositions, TensorType::u32, {tables, partition_.bits},
                                       std::as_bytes(std::span(partition_.positions))));
    tensors.push_back(tables_to_write(kTables, tables, partition_.bits, rows_,
                                      [this](std::int64_t table) { return make(table); }));
  }

 private:
  BucketTable make(std::int64_t table) const {
    AlignedArray<std::uint32_t> buckets(rows_);
    std::int64_t done = 0;
    for_each_run(parts_, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
      hash_rows(view.rows().slice(begin, end - begin), partition_.of(table), buckets.data() + done,
                threads_, monitor_);
      done += end - begin;
    });
    return {{buckets.data(), static_cast<std::size_t>(rows_)}, partition_.bits, threads_, monitor_};
  }

  std::span<const PartView> parts_;
  std::int64_t rows_;
  BitPartition partition_;
  int threads_;
  const Monitor& monitor_;
};

}  // namespace

std::shared_ptr<const MihTables> open_mih_tables(const TensorFile& file, const IndexSpec& spec,
                                                 std::int64_t rows) {
  if (file.find(kPositions) == nullptr) return nullptr;
  return MihOpening(file, spec, rows).open();
}

void verify_mih_tables(const MihTables& tables, MatrixView rows, const std::string& path,
                       const Monitor& monitor) {
  for (const auto& run : tables.runs()) {
    std::vector<std::uint32_t> buckets(static_cast<std::size_t>(run->rows.size()));
    for (std::int64_t i = 0; i < run->partition.tables; ++i) {
      hash_rows(rows, run->partition.of(i), buckets.data(), 1, monitor);
      if (!holds_by_buckets(run->tables[static_cast<std::size_t>(i)], buckets, monitor)) {
        fail(ErrorCode::corrupt_file,
             "{}: table {} of mih does not hold the rows by their bits: build it again", path, i);
      }
    }
  }
}

std::unique_ptr<FamilyTensors> mih_tensors(std::span<const PartView> parts,
                                           const MihParameters& parameters, int threads,
                                           const Monitor& monitor) {
  const std::int64_t rows = live_rows(parts);
  if (rows == 0 || rows < index_tuning().least_packed_rows) return nullptr;
  const PartView& largest = *std::ranges::max_element(parts, {}, &PartView::count);
  return std::make_unique<MihToWrite>(
      parts, rows, choose_partition(largest.rows(), rows, parameters.tables, monitor), threads,
      monitor);
}

std::int64_t bytes_to_write_mih(std::int64_t rows, int threads) {
  if (rows < index_tuning().least_packed_rows) return 0;
  const int bits = most_mih_bits(rows);
  return BucketTable::bytes_for(rows, bits) + bytes_to_make_mih_table(rows, bits, threads);
}

}  // namespace nearfield
