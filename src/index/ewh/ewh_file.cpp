#include "index/ewh/ewh_file.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/ranges.h>

#include "core/fail.hpp"
#include "hash/score_kernel.hpp"
#include "hash/substrings.hpp"
#include "index/table_tensors.hpp"
#include "index/tuning.hpp"

namespace nearfield {
namespace {

constexpr const char* kEwhScores = "ewh.scores";  // the threshold, then the weights
constexpr const char* kEwhPositions = "ewh.positions";
constexpr const char* kEwhTables = "ewh.tables";  // of each its starts, then its rows
constexpr const char* kEwhCodes = "ewh.codes";    // where every row is scored: buckets as bytes

// Of a file, which may hold anything.
class EwhOpening {
 public:
  EwhOpening(const TensorFile& file, const IndexSpec& spec, std::int64_t rows)
      : file_(file), spec_(spec), rows_(rows) {}

  std::shared_ptr<const EwhTables> open() const {
    auto run = std::make_shared<EwhRun>();
    run->rows = {0, rows_};
    read_positions(*run);
    read_scores(run->shape);
    run->tables = stored_tables(file_, kEwhTables, run->shape.tables, run->shape.bits, rows_);
    if (file_.find(kEwhCodes) != nullptr) run->codes = read_codes(run->shape);
    return std::make_shared<const EwhTables>(EwhTables::Runs{std::move(run)});
  }

 private:
  template <class... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> what, Args&&... args) const {
    fail(ErrorCode::corrupt_file, "{}: {}", file_.path(),
         fmt::format(what, std::forward<Args>(args)...));
  }

  void read_positions(EwhRun& run) const {
    const std::vector<std::int64_t>& shape = file_.tensor(kEwhPositions).shape;
    if (shape.size() != 2 || shape[0] < 1 || shape[0] > kMostEwhTables || shape[1] < 1 ||
        shape[1] > kMostEwhBits) {
      reject("'{}' is of [{}], and ewh has at most {} tables of {} bits", kEwhPositions,
             fmt::join(shape, ", "), kMostEwhTables, kMostEwhBits);
    }
    const auto stored = u32_tensor(file_, kEwhPositions, shape);
    run.shape.tables = shape[0];
    run.shape.bits = static_cast<int>(shape[1]);
    run.positions.assign(stored.begin(), stored.end());
    for (std::int64_t table = 0; table < run.shape.tables; ++table) {
      const auto positions = run.positions_of(table);
      const bool rise =
          std::ranges::adjacent_find(positions, std::greater_equal<>()) == positions.end();
      if (!rise || positions.back() >= spec_.cols) {
        reject("table {} of '{}' holds bits that do not rise, or beyond the {} that there are",
               table, kEwhPositions, spec_.cols);
      }
    }
  }

  void read_scores(EwhShape& shape) const {
    const std::vector<std::int64_t>& stored_shape = file_.tensor(kEwhScores).shape;
    if (stored_shape.size() != 1 || stored_shape[0] < 2 ||
        stored_shape[0] > 2 + std::min(kMostEwhErrors, shape.bits)) {
      reject("'{}' is of [{}], and tables of {} bits have weights of at most {} errors", kEwhScores,
             fmt::join(stored_shape, ", "), shape.bits, kMostEwhErrors);
    }
    const auto stored = u32_tensor(file_, kEwhScores, stored_shape);
    const auto weights = stored.subspan(1);
    const bool fit = stored[0] >= 1 && stored[0] <= kMostEwhScore && weights.back() >= 1 &&
                     weights.front() <= kMostEwhScore / shape.tables &&
                     std::ranges::is_sorted(weights, std::greater<>());
    if (!fit) {
      reject(
          "'{}' is {}: a threshold of 1 to {}, and weights that do not rise, of {} tables at "
          "most {} together",
          kEwhScores, fmt::join(stored, ", "), kMostEwhScore, shape.tables, kMostEwhScore);
    }
    shape.threshold = static_cast<int>(stored[0]);
    shape.weights.assign(weights.begin(), weights.end());
  }

  std::span<const std::uint8_t> read_codes(const EwhShape& shape) const {
    const std::int64_t tables = shape.tables;
    if (shape.bits > kMostScoredBits)
      reject("buckets of {} bits are no '{}'", shape.bits, kEwhCodes);
    const TensorEntry& tensor = file_.tensor(kEwhCodes);
    if (tensor.type != TensorType::u8 || tensor.shape != std::vector{tables, rows_}) {
      reject("tensor '{}' is {} of [{}], not {} of [{}, {}]", kEwhCodes, to_string(tensor.type),
             fmt::join(tensor.shape, ", "), to_string(TensorType::u8), tables, rows_);
    }
    const std::span<const std::byte> bytes = file_.bytes(tensor);
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  }

  const TensorFile& file_;
  const IndexSpec& spec_;
  std::int64_t rows_;
};

class EwhToWrite final : public FamilyTensors {
 public:
  EwhToWrite(std::span<const PartView> parts, std::int64_t rows, const EwhShape& shape,
             std::vector<std::uint32_t> positions, int threads, const Monitor& monitor)
      : parts_(parts), rows_(rows), threads_(threads), monitor_(monitor) {
    run_.shape = shape;
    run_.positions = std::move(positions);
    scores_.push_back(static_cast<std::uint32_t>(shape.threshold));
    scores_.insert(scores_.end(), shape.weights.begin(), shape.weights.end());
  }

  void add_to(std::vector<TensorToWrite>& tensors) const override {
    const std::int64_t tables = run_.shape.tables;
    tensors.push_back(tensor_in_memory(kEwhScores, TensorType::u32, {std::ssize(scores_)},
                                       std::as_bytes(std::span(scores_))));
    tensors.push_back(tensor_in_memory(kEwhPositions, TensorType::u32, {tables, run_.shape.bits},
                                       std::as_bytes(std::span(run_.positions))));
    tensors.push_back(
        tables_to_write(kEwhTables, tables, run_.shape.bits, rows_, [this](std::int64_t table) {
          const AlignedArray<std::uint32_t> buckets = buckets_of(table);
          return BucketTable({buckets.data(), static_cast<std::size_t>(rows_)}, run_.shape.bits,
                             threads_, monitor_);
        }));
    if (!scores_every_row(run_.shape)) return;
    tensors.push_back({kEwhCodes, TensorType::u8, {tables, rows_}, [this](const TakeBytes& take) {
                         give_codes(take);
                       }});
  }

 private:
  AlignedArray<std::uint32_t> buckets_of(std::int64_t table) const {
    AlignedArray<std::uint32_t> buckets(rows_);
    std::int64_t done = 0;
    for_each_run(parts_, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
      hash_rows(view.rows().slice(begin, end - begin), run_.positions_of(table),
                buckets.data() + done, threads_, monitor_);
      done += end - begin;
    });
    return buckets;
  }

  void give_codes(const TakeBytes& take) const {
    AlignedArray<std::uint8_t> codes(rows_);
    for (std::int64_t table = 0; table < run_.shape.tables; ++table) {
      const AlignedArray<std::uint32_t> buckets = buckets_of(table);
      copy_codes({buckets.data(), static_cast<std::size_t>(rows_)}, codes.data());
      take(std::as_bytes(std::span(codes.data(), static_cast<std::size_t>(rows_))));
    }
  }

  std::span<const PartView> parts_;
  std::int64_t rows_;
  int threads_;
  const Monitor& monitor_;
  EwhRun run_;  // without tables
  std::vector<std::uint32_t> scores_;
};

bool holds_codes(const EwhRun& run, std::int64_t table, std::span<const std::uint32_t> buckets) {
  if (run.codes.empty()) return true;
  const auto codes =
      run.codes.subspan(static_cast<std::size_t>(table) * buckets.size(), buckets.size());
  return std::ranges::equal(codes, buckets);
}

}  // namespace

std::shared_ptr<const EwhTables> open_ewh_tables(const TensorFile& file, const IndexSpec& spec,
                                                 std::int64_t rows) {
  if (file.find(kEwhPositions) == nullptr) return nullptr;
  return EwhOpening(file, spec, rows).open();
}

void verify_ewh_tables(const EwhTables& tables, MatrixView rows, const std::string& path,
                       const Monitor& monitor) {
  for (const auto& run : tables.runs()) {
    std::vector<std::uint32_t> buckets(static_cast<std::size_t>(run->rows.size()));
    for (std::int64_t i = 0; i < run->shape.tables; ++i) {
      hash_rows(rows, run->positions_of(i), buckets.data(), 1, monitor);
      if (!holds_by_buckets(run->tables[static_cast<std::size_t>(i)], buckets, monitor) ||
          !holds_codes(*run, i, buckets)) {
        fail(ErrorCode::corrupt_file,
             "{}: table {} of ewh does not hold the rows by their bits: build it again", path, i);
      }
    }
  }
}

std::unique_ptr<FamilyTensors> ewh_tensors(std::span<const PartView> parts,
                                           const EwhParameters& parameters, int threads,
                                           const Monitor& monitor) {
  const std::int64_t rows = live_rows(parts);
  if (rows == 0 || rows < index_tuning().least_packed_rows) return nullptr;
  const MatrixView like = std::ranges::max_element(parts, {}, &PartView::count)->rows();
  const EwhShape shape = choose_ewh(like, rows, parameters, monitor);
  return std::make_unique<EwhToWrite>(
      parts, rows, shape, random_positions(shape, like.cols(), parameters.seed), threads, monitor);
}

std::int64_t bytes_to_write_ewh(std::int64_t rows, std::int64_t cols,
                                const EwhParameters& parameters, int threads) {
  if (rows < index_tuning().least_packed_rows) return 0;
  const int bits = most_of_ewh(rows, cols, parameters).bits;
  return BucketTable::bytes_for(rows, bits) + bytes_to_make_ewh_table(rows, bits, threads) + rows;
}

}  // namespace nearfield
