// Locality-sensitive hashing: near vectors are likely to have the same hash, and are looked up by
// it. What is not in a table yet is scanned. Of what is found the nearest are given, which may not
// be the nearest of all: answers are not exact.
#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "index/divided_parts.hpp"
#include "index/family.hpp"
#include "index/lsh/lsh_device.hpp"
#include "index/lsh/lsh_file.hpp"
#include "index/lsh/lsh_filter.hpp"
#include "index/lsh/lsh_tables.hpp"
#include "index/lsh/lsh_tune.hpp"
#include "index/stages.hpp"
#include "search/neighbor_results.hpp"
#include "search/tiled_rows.hpp"

namespace nearfield {
namespace {

class Lsh final : public Family {
 public:
  explicit Lsh(const IndexSpec& spec)
      : spec_(spec), parameters_(parse_lsh(spec)), flat_(make_flat(flat_spec(spec))) {}

  SharedFamilyData keep(MatrixView rows, const SharedFamilyData& before,
                        const Context& context) const override {
    const Monitor monitor(context, rows.rows());
    return make_lsh_tables(rows, spec_.metric, std::static_pointer_cast<const LshTables>(before),
                           parameters_, resolve_threads(context.threads), monitor);
  }
  std::int64_t bytes_to_keep(std::int64_t rows, const SharedFamilyData& before,
                             int threads) const override {
    return lsh_bytes(rows, spec_.cols, static_cast<const LshTables*>(before.get()), parameters_,
                     threads);
  }
  std::unique_ptr<FamilyTensors> tensors(std::span<const PartView> parts, const Context& context,
                                         const Monitor& monitor) const override {
    return lsh_tensors(parts, spec_.metric, parameters_, resolve_threads(context.threads), monitor);
  }
  std::int64_t bytes_to_write(std::span<const PartView> parts, int threads) const override {
    return bytes_to_write_lsh(live_rows(parts), spec_.cols, parameters_, threads);
  }
  SharedFamilyData open(const TensorFile& file, std::int64_t rows) const override {
    return open_lsh_tables(file, spec_, parameters_, rows);
  }
  void verify(const FamilyData& data, MatrixView rows, const std::string& path,
              const Monitor& monitor, const Context& /*context*/) const override {
    verify_lsh_tables(static_cast<const LshTables&>(data), rows, spec_.metric, path, monitor);
  }

  Neighbors search(MatrixView queries, std::span<const AskedPart> parts, std::int64_t k,
                   const Context& context) const override {
    const Divided asked = divide(parts, context);
    if (parameters_.tiles) return search_in_order(queries, asked, k);
    return with_unknown_recall(flat_->search(queries, asked.parts, k, asked.context));
  }
  Ranges within(MatrixView queries, std::span<const AskedPart> parts, double radius,
                const Context& context) const override {
    const Divided asked = divide(parts, context);
    return with_unknown_recall(flat_->within(queries, asked.parts, radius, asked.context));
  }

  void check_search_device(const Context& context) const override {
    check_one_device(context, "an index of the family lsh");
  }

  TunedIndex tune(const RowSource& rows, const RowSource& queries, const TuneIndexOptions& options,
                  const Context& context) const override {
    return tune_lsh(spec_, parameters_, rows, queries, options, context);
  }

 private:
  // Who is asked, and how: less copies of that, and of a device less what stays there.
  struct Divided {
    std::vector<AskedPart> parts;
    Context context;
    const LshRun* first = nullptr;  // of the runs that are looked up
  };

  // Each run by itself, and the rows behind the last one by a scan. Rows of a list are few, and are
  // looked at one by one.
  Divided divide(std::span<const AskedPart> parts, const Context& context) const {
    LshStay stay;
    if (on_device(context)) {
      stay = lsh_stay(runs_of(parts), {parameters_.probes, parameters_.tiles},
                      round_up(row_bytes(spec_.dtype, spec_.cols), std::int64_t{8}), context);
    }
    std::vector<AskedPart> asked;
    for (const AskedPart& part : parts) {
      const auto* const tables = static_cast<const LshTables*>(part.view.family.get());
      std::int64_t end = 0;
      if (tables != nullptr && !part.only_listed) {
        for (const auto& run : tables->runs()) {
          asked.push_back(part);
          asked.back().only_rows = run->rows;
          const bool stays = std::ranges::find(stay.runs, run.get()) != stay.runs.end();
          asked.back().finder =
              std::make_shared<LshFinder>(run, parameters_.probes, spec_.metric, spec_.dtype,
                                          LshFinder::How{stays, parameters_.tiles});
          end = run->rows.end;
        }
      }
      if (end == part.view.count && end > 0) continue;
      asked.push_back(part);
      if (end > 0) asked.back().only_rows = Range{end, part.view.count};
    }
    Context own = beside_pieces(parts, asked, context);
    if (on_device(context)) own.device_memory_limit = stay.left;
    const std::vector<const LshRun*> runs = runs_of(parts);
    return {std::move(asked), std::move(own), runs.empty() ? nullptr : runs.front()};
  }

  // Queries by their first keys: those that meet the same rows are then in one tile.
  Neighbors search_in_order(MatrixView queries, const Divided& asked, std::int64_t k) const {
    const std::int64_t held =
        checked_add(result_bytes(queries.rows(), std::max<std::int64_t>(k, 0)),
                    queries.rows() * (row_bytes(queries.dtype(), queries.cols()) + 16),
                    "bytes of queries in the order of their keys");
    if (asked.context.memory_limit && held > *asked.context.memory_limit) {
      fail(ErrorCode::memory_limit,
           "compare=tiles needs {} bytes to put {} queries and their results in order, of the {} "
           "that are left of the memory limit: raise it, or ask for fewer queries at a time",
           held, queries.rows(), *asked.context.memory_limit);
    }
    const Monitor monitor(asked.context, 1);
    const std::vector<std::int64_t> order = order_of(queries, asked, monitor);
    const Matrix sorted = read_all(PickedRows(MatrixRows(queries), order));
    const Neighbors found =
        flat_->search(sorted, asked.parts, k, with_less_memory(asked.context, held));
    Neighbors result = found;
    result.stats.pairs_verified = 0;  // put_results adds them
    put_results(order, found, result);
    result.stats.seconds = monitor.seconds();
    return with_unknown_recall(std::move(result));
  }

  std::vector<std::int64_t> order_of(MatrixView queries, const Divided& asked,
                                     const Monitor& monitor) const {
    std::vector<std::int64_t> order(static_cast<std::size_t>(queries.rows()));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const bool comparable = queries.cols() == spec_.cols && queries.dtype() != DType::bits;
    if (asked.first == nullptr || !comparable) return order;  // the search says what is wrong
    std::vector<std::uint64_t> keys(order.size());
    lsh_keys(queries, asked.first->functions, spec_.metric, 0,
             resolve_threads(asked.context.threads), monitor, keys.data());
    std::ranges::stable_sort(
        order, {}, [&](std::int64_t query) { return keys[static_cast<std::size_t>(query)]; });
    return order;
  }

  // That are looked up.
  static std::vector<const LshRun*> runs_of(std::span<const AskedPart> parts) {
    std::vector<const LshRun*> runs;
    for (const AskedPart& part : parts) {
      const auto* const tables = static_cast<const LshTables*>(part.view.family.get());
      if (tables == nullptr || part.only_listed) continue;
      for (const auto& run : tables->runs()) runs.push_back(run.get());
    }
    return runs;
  }

  IndexSpec spec_;
  LshParameters parameters_;
  std::unique_ptr<Family> flat_;
};

}  // namespace

std::unique_ptr<Family> make_lsh(const IndexSpec& spec) { return std::make_unique<Lsh>(spec); }

}  // namespace nearfield
