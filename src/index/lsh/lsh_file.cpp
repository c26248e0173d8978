#include "index/lsh/lsh_file.hpp"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "core/fail.hpp"
#include "index/tuning.hpp"

namespace nearfield {
namespace {

constexpr const char* kDirections = "lsh.directions";
constexpr const char* kLevels = "lsh.levels";
constexpr const char* kBuckets = "lsh.tables";  // of each its starts, then its rows
constexpr const char* kSortedKeys = "lsh.keys";
constexpr const char* kSortedRows = "lsh.rows";

template <class T>
constexpr TensorType kTensorOf = TensorType::u32;
template <>
constexpr TensorType kTensorOf<std::uint64_t> = TensorType::u64;
template <>
constexpr TensorType kTensorOf<float> = TensorType::f32;
template <>
constexpr TensorType kTensorOf<double> = TensorType::f64;

// Of a file, which may hold anything.
class LshOpening {
 public:
  LshOpening(const TensorFile& file, const IndexSpec& spec, const LshParameters& parameters,
             std::int64_t rows)
      : file_(file),
        cols_(spec.cols),
        rows_(rows),
        tables_(parameters.tables),
        scheme_(parameters.scheme(rows)),
        sorted_(parameters.sorted) {}

  std::shared_ptr<const LshTables> open() const {
    auto run = std::make_shared<LshRun>();
    run->rows = {0, rows_};
    const std::int64_t projections = tables_ * scheme_.projections();
    run->functions = {
        scheme_, tables_,
        MatrixView(values<float>(kDirections, {projections, cols_}).data(), projections, cols_),
        values<double>(kLevels, {projections, scheme_.levels()})};
    run->tables = sorted_ ? sorted_tables() : folded_tables();
    return std::make_shared<const LshTables>(LshTables::Runs{std::move(run)});
  }

 private:
  std::vector<KeyTableView> folded_tables() const {
    const int bits = folded_bits(rows_, scheme_.bits);
    const std::int64_t starts = bucket_starts(bits);
    const auto all = values<std::uint32_t>(kBuckets, {tables_, starts + rows_});
    std::vector<KeyTableView> tables;
    for (std::int64_t i = 0; i < tables_; ++i) {
      const BucketView buckets(piece(all, i * (starts + rows_), starts),
                               piece(all, i * (starts + rows_) + starts, rows_));
      tables.emplace_back(buckets, scheme_.bits, bits);
    }
    return tables;
  }

  std::vector<KeyTableView> sorted_tables() const {
    const auto keys = values<std::uint64_t>(kSortedKeys, {tables_, rows_});
    const auto rows = values<std::uint32_t>(kSortedRows, {tables_, rows_});
    std::vector<KeyTableView> tables;
    for (std::int64_t i = 0; i < tables_; ++i) {
      tables.emplace_back(piece(keys, i * rows_, rows_), piece(rows, i * rows_, rows_));
    }
    return tables;
  }

  template <class T>
  static std::span<const T> piece(std::span<const T> all, std::int64_t first, std::int64_t count) {
    return all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  }

  template <class T>
  std::span<const T> values(const char* name, const std::vector<std::int64_t>& shape) const {
    const TensorEntry& tensor = file_.tensor(name);
    if (tensor.type != kTensorOf<T> || tensor.shape != shape) {
      fail(ErrorCode::corrupt_file, "{}: tensor '{}' is {} of [{}], not {} of [{}]", file_.path(),
           name, to_string(tensor.type), fmt::join(tensor.shape, ", "), to_string(kTensorOf<T>),
           fmt::join(shape, ", "));
    }
    const std::span<const std::byte> bytes = file_.bytes(tensor);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(T) != 0) {
      fail(ErrorCode::corrupt_file, "{}: tensor '{}' does not begin at a multiple of {} bytes",
           file_.path(), name, alignof(T));
    }
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  const TensorFile& file_;
  std::int64_t cols_;
  std::int64_t rows_;
  std::int64_t tables_;
  LshScheme scheme_;
  bool sorted_;
};

class LshToWrite final : public FamilyTensors {
 public:
  LshToWrite(std::span<const PartView> parts, std::int64_t rows, MetricSpec metric,
             OwnLshFunctions functions, bool sorted, int threads, const Monitor& monitor)
      : parts_(parts),
        rows_(rows),
        metric_(metric),
        functions_(std::move(functions)),
        sorted_(sorted),
        threads_(threads),
        monitor_(monitor) {}

  void add_to(std::vector<TensorToWrite>& tensors) const override {
    const std::int64_t tables = functions_.tables;
    const LshScheme& scheme = functions_.scheme;
    const std::int64_t projections = tables * scheme.projections();
    const Matrix& directions = functions_.directions;
    tensors.push_back(tensor_in_memory(
        kDirections, TensorType::f32, {projections, directions.cols()},
        {directions.row(0),
         static_cast<std::size_t>(projections * row_bytes(DType::f32, directions.cols()))}));
    tensors.push_back(tensor_in_memory(kLevels, TensorType::f64, {projections, scheme.levels()},
                                       std::as_bytes(std::span(functions_.levels))));
    const auto add = [&](const char* name, TensorType type, std::int64_t of_a_table,
                         void (*give)(const KeyTableView& table, const TakeBytes& take)) {
      tensors.push_back({name, type, {tables, of_a_table}, [this, give](const TakeBytes& take) {
                           for (std::int64_t i = 0; i < functions_.tables; ++i) {
                             give(make(i).view(), take);
                           }
                         }});
    };
    if (sorted_) {
      add(kSortedKeys, TensorType::u64, rows_,
          [](const KeyTableView& table, const TakeBytes& take) {
            take(std::as_bytes(table.keys()));
          });
      add(kSortedRows, TensorType::u32, rows_,
          [](const KeyTableView& table, const TakeBytes& take) {
            take(std::as_bytes(table.rows()));
          });
      return;
    }
    add(kBuckets, TensorType::u32, bucket_starts(folded_bits(rows_, scheme.bits)) + rows_,
        [](const KeyTableView& table, const TakeBytes& take) {
          take(std::as_bytes(table.buckets().starts()));
          take(std::as_bytes(table.rows()));
        });
  }

 private:
  KeyTable make(std::int64_t table) const {
    AlignedArray<std::uint64_t> keys(rows_);
    std::int64_t done = 0;
    for_each_run(parts_, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
      lsh_keys(view.rows().slice(begin, end - begin), functions_.view(), metric_, table, threads_,
               monitor_, keys.data() + done);
      done += end - begin;
    });
    return make_lsh_table({keys.data(), static_cast<std::size_t>(rows_)}, functions_.scheme.bits,
                          sorted_, threads_, monitor_);
  }

  std::span<const PartView> parts_;
  std::int64_t rows_;
  MetricSpec metric_;
  OwnLshFunctions functions_;
  bool sorted_;
  int threads_;
  const Monitor& monitor_;
};

bool same_table(const KeyTableView& a, const KeyTableView& b) {
  return std::ranges::equal(a.keys(), b.keys()) && std::ranges::equal(a.rows(), b.rows()) &&
         std::ranges::equal(a.buckets().starts(), b.buckets().starts());
}

}  // namespace

std::shared_ptr<const LshTables> open_lsh_tables(const TensorFile& file, const IndexSpec& spec,
                                                 const LshParameters& parameters,
                                                 std::int64_t rows) {
  if (file.find(kDirections) == nullptr) return nullptr;
  return LshOpening(file, spec, parameters, rows).open();
}

void verify_lsh_tables(const LshTables& tables, MatrixView rows, MetricSpec metric,
                       const std::string& path, const Monitor& monitor) {
  for (const auto& run : tables.runs()) {
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(run->rows.size()));
    for (std::int64_t i = 0; i < run->functions.tables; ++i) {
      const KeyTableView& table = run->tables[static_cast<std::size_t>(i)];
      lsh_keys(rows, run->functions, metric, i, 1, monitor, keys.data());
      const KeyTable made =
          make_lsh_table(keys, run->functions.scheme.bits, table.sorted(), 1, monitor);
      if (!same_table(made.view(), table)) {
        fail(ErrorCode::corrupt_file,
             "{}: table {} of lsh does not hold the rows by their hashes: build it again", path, i);
      }
    }
  }
}

std::unique_ptr<FamilyTensors> lsh_tensors(std::span<const PartView> parts, MetricSpec metric,
                                           const LshParameters& parameters, int threads,
                                           const Monitor& monitor) {
  const std::int64_t rows = live_rows(parts);
  if (rows == 0 || rows < index_tuning().least_packed_rows) return nullptr;
  const PartView& largest = *std::ranges::max_element(parts, {}, &PartView::count);
  return std::make_unique<LshToWrite>(
      parts, rows, metric, make_lsh_functions(parameters, metric, largest.rows(), rows, monitor),
      parameters.sorted, threads, monitor);
}

std::int64_t bytes_to_write_lsh(std::int64_t rows, std::int64_t cols,
                                const LshParameters& parameters, int threads) {
  if (rows < index_tuning().least_packed_rows) return 0;
  const int bits = parameters.scheme(rows).bits;
  return lsh_function_bytes(parameters, cols, rows) + lsh_hashing_bytes(cols, threads) +
         KeyTable::bytes_for(rows, bits, parameters.sorted) +
         bytes_to_make_lsh_table(rows, bits, parameters.sorted, threads);
}

}  // namespace nearfield
