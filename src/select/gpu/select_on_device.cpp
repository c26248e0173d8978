#include "select/gpu/select_on_device.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include <nearfield/results.hpp>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/memory_errors.hpp"
#include "core/monitor.hpp"
#include "device/gpu/array_tiles.hpp"
#include "device/gpu/host_reads.hpp"
#include "device/gpu/open.hpp"
#include "device/tuning_in_use.hpp"
#include "select/device_batch.hpp"
#include "select/gpu/radix_selector.hpp"
#include "select/gpu/selectors.hpp"
#include "select/keep_first.hpp"
#include "select/selected.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kWholeKeyBytes = sizeof(std::uint64_t);
constexpr std::int64_t kRowBytes = sizeof(std::vector<Neighbor>);
// A row is not cut into fewer values than these where the device is out of memory.
constexpr std::int64_t kLeastCols = 1 << 12;

// Rows and columns that are selected from at a time.
struct Tile {
  std::int64_t first_row;
  std::int64_t rows;
  std::int64_t first_col;
  std::int64_t cols;
};

// As value_of, of a float64, whose key is as long.
double value_of_whole_key(std::uint64_t key) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  return std::bit_cast<double>((key & kSign) != 0 ? key ^ kSign : ~key);
}

std::int64_t place_of(DeviceItem item) { return static_cast<std::int64_t>(item & 0xFFFFFFFF); }

class DeviceSelection {
 public:
  DeviceSelection(const PlacedValues& values, const SelectOptions& options, const Context& context,
                  const DeviceSelector* selector)
      : values_(values.view),
        options_(options),
        context_(context),
        opened_(gpu::open_device(context.device)),
        queue_(opened_.device.make_queue(context.stream)),
        array_(gpu::byte_rows(values)),
        kept_(values_.rows() > 0 ? std::min(options.k, values_.cols()) : 0),
        // Items hold a float32 and a column: where that is all, they are the answer.
        items_are_answers_(values_.dtype() == DType::f32 && options.ids.empty()) {
    take_tiles(gpu::HostReads::copied);
    make_plan(selector);
  }

  // How an array of the host is read, before it is. False if it is not read so.
  bool read_host(const gpu::HostReadsChoice& host) {
    write_note(host.why);
    if (host.how == gpu::HostReads::copied) return true;
    take_tiles(host.how);
    if (!tiles_->maps_host()) write_note(gpu::kNotMapped);
    return tiles_->maps_host();
  }

  const Plan& plan() const { return plan_; }

  Selected run() {
    const DefaultFloats floats;
    Monitor monitor(context_, plan_.pairs);
    monitor.check();
    result_ = none_selected(values_.rows(), options_, monitor);
    for (std::int64_t row = 0; kept_ > 0 && row < values_.rows();) {
      const std::int64_t rows = std::min(plan_.query_batch, values_.rows() - row);
      if (!select_rows(row, rows, monitor)) continue;  // again, in smaller tiles
      row += rows;
    }
    monitor.finish();
    result_.stats = {plan_, plan_.pairs, plan_.pairs, monitor.seconds()};
    return std::move(result_);
  }

 private:
  void make_plan(const DeviceSelector* selector) {
    plan_.device = opened_.id;
    plan_.pairs = values_.rows() * values_.cols();
    plan_.result_bytes = selected_bytes(values_.rows(), options_.k);
    plan_.base_chunk = std::min(values_.cols(), kMostDeviceCols);
    const std::int64_t row = std::max<std::int64_t>(value_bytes(plan_.base_chunk), 1);
    plan_.query_batch = std::clamp<std::int64_t>(kDeviceBatchBytes / row, 1,
                                                 std::max<std::int64_t>(values_.rows(), 1));
    selector_ = selector != nullptr ? selector : &choose_selector(opened_.device.facts(), shape());
    const std::int64_t limit = context_.device_memory_limit.value_or(opened_.device.facts().memory);
    while (device_bytes() > limit || !fits_host()) {
      if (!shrink()) fail_memory(limit);
    }
    plan_.selector = items_are_answers_ ? selector_->name : "radix threshold";
    plan_.kernel = fmt::format("select/{}/{}", to_string(values_.dtype()), opened_.id);
    plan_.filter = "none";
    describe_tiles();
  }

  // Which may have become smaller.
  void describe_tiles() {
    plan_.passes = divide_up(values_.cols(), std::max<std::int64_t>(plan_.base_chunk, 1));
    plan_.query_tile = plan_.query_batch;
    plan_.row_tile = plan_.base_chunk;
    plan_.working_bytes = host_bytes();
  }

  void write_note(const std::string& reads) {
    const gpu::Facts& facts = opened_.device.facts();
    const std::string tuning = tuning_of(facts.name, facts.driver).note;
    plan_.note = reads + (reads.empty() || tuning.empty() ? "" : "; ") + tuning;
  }

  void take_tiles(gpu::HostReads host) {
    tiles_.emplace(opened_.device, *queue_, array_, gpu::RowLayout{.close = true}, host);
  }

  // Of a tile of the plan.
  SelectShape shape() const {
    return {plan_.query_batch, std::max<std::int64_t>(plan_.base_chunk, 1),
            std::clamp<std::int64_t>(kept_, 1, std::max<std::int64_t>(plan_.base_chunk, 1)),
            options_.largest};
  }

  std::int64_t value_bytes(std::int64_t count) const { return row_bytes(values_.dtype(), count); }

  std::uint32_t kind() const {
    return values_.dtype() == DType::f32 ? kSourceFloats : kSourceDoubles;
  }

  std::int64_t device_bytes() const {
    if (kept_ == 0) return 0;
    const SelectShape tile = shape();
    const std::int64_t values = tiles_->bytes(tile.rows, value_bytes(tile.cols));
    if (items_are_answers_) {
      return values + tile.rows * tile.k * kItemBytes + selector_->scratch_bytes(tile);
    }
    // All values of a row may have the key of the k-th.
    return values + tile.rows * (tile.cols * found_bytes() + kThresholdBytes) +
           (tile.rows + 1) * kStartBytes;
  }

  // Of an item, and of its whole key where it has none.
  std::int64_t found_bytes() const {
    return kItemBytes + (values_.dtype() == DType::f64 ? kWholeKeyBytes : 0);
  }

  // Of work: the items of a tile, and of its rows the first k, of which one row is being sorted.
  std::int64_t host_bytes() const {
    if (kept_ == 0) return 0;
    const SelectShape tile = shape();
    const std::int64_t found = items_are_answers_ ? tile.k : tile.cols;
    const std::int64_t pairs = tile.rows * kept_ + found + 2 * kept_;
    return tile.rows * (found * found_bytes() + kThresholdBytes + kStartBytes + kRowBytes) +
           pairs * static_cast<std::int64_t>(sizeof(Neighbor));
  }

  bool fits_host() const {
    return !context_.memory_limit || plan_.result_bytes + host_bytes() <= *context_.memory_limit;
  }

  // False if tiles are as small as they get.
  bool shrink() {
    if (plan_.query_batch > 1) {
      plan_.query_batch = divide_up(plan_.query_batch, 2);
    } else if (plan_.base_chunk > kLeastCols) {
      plan_.base_chunk = divide_up(plan_.base_chunk, 2);
    } else {
      return false;
    }
    return true;
  }

  [[noreturn]] void fail_memory(std::int64_t device_limit) const {
    if (!fits_host()) {
      fail(ErrorCode::memory_limit,
           "the selection needs {} bytes ({} for {} x {} results, {} for its work) but the memory "
           "limit is {}: raise it, pass fewer rows at a time or a smaller k",
           plan_.result_bytes + host_bytes(), plan_.result_bytes, values_.rows(), options_.k,
           host_bytes(), *context_.memory_limit);
    }
    fail(ErrorCode::memory_limit,
         "selecting {} of {} values on {} needs {} bytes there, and the limit is {}: raise it, or "
         "take a smaller k",
         shape().k, plan_.base_chunk, opened_.id, device_bytes(), device_limit);
  }

  // False if the device had no memory for them, and the tiles are smaller now.
  bool select_rows(std::int64_t first, std::int64_t rows, Monitor& monitor) {
    std::vector<std::vector<Neighbor>> best(static_cast<std::size_t>(rows));
    try {
      for (std::int64_t col = 0; col < values_.cols(); col += plan_.base_chunk) {
        const Tile tile{first, rows, col, std::min(plan_.base_chunk, values_.cols() - col)};
        if (items_are_answers_) {
          select_floats(tile, best);
        } else {
          select_candidates(tile, best);
        }
        monitor.check();
      }
    } catch (const gpu::OutOfMemory&) {
      if (!shrink()) throw;
      describe_tiles();
      return false;
    }
    std::vector<Neighbor> spare;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<Neighbor>& pairs = best[static_cast<std::size_t>(row)];
      sort_selected(values_.dtype(), pairs, spare);
      write_selected(first + row, pairs, options_.largest, result_);
    }
    monitor.advance(rows * values_.cols());
    return true;
  }

  std::unique_ptr<gpu::Buffer> take(const Tile& tile) const {
    return tiles_
        ->take({tile.first_row, tile.rows, value_bytes(tile.first_col), value_bytes(tile.cols)})
        .rows;
  }

  // What is found is the answer.
  void select_floats(const Tile& tile, std::vector<std::vector<Neighbor>>& best) {
    const std::int64_t k = std::min(kept_, tile.cols);
    // What is queued reads and writes: before the queue is given anything.
    std::vector<DeviceItem> found(static_cast<std::size_t>(tile.rows * k));
    Scratch scratch;
    const auto values = take(tile);
    const auto items = opened_.device.allocate(tile.rows * k * kItemBytes);
    const SelectShape shape{tile.rows, tile.cols, k, options_.largest};
    selector_->run({opened_.device, *queue_, shape, *values, *items}, scratch);
    queue_->read(*items, found.data());
    queue_->wait();
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      std::vector<Neighbor>& into = best[static_cast<std::size_t>(row)];
      into.reserve(into.size() + static_cast<std::size_t>(k));
      for (std::int64_t i = 0; i < k; ++i) {
        const DeviceItem item = found[static_cast<std::size_t>(row * k + i)];
        if (item == kNoDeviceItem) break;
        into.push_back({value_of(item), tile.first_col + place_of(item)});
      }
      keep_first(into, kept_);
    }
  }

  // The device finds the key up to which the first k come, and who has it; the whole values, and
  // their ids, decide among those.
  void select_candidates(const Tile& tile, std::vector<std::vector<Neighbor>>& best) {
    const auto values = take(tile);
    const std::vector<DeviceThreshold> thresholds = find_thresholds(tile, *values);
    std::vector<std::uint64_t> starts{0};
    for (const DeviceThreshold& threshold : thresholds) {
      starts.push_back(starts.back() + threshold.below + threshold.equal);
    }
    const Found found = gather(tile, *values, starts);
    for (std::int64_t row = 0; row < tile.rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      best[at].reserve(best[at].size() + starts[at + 1] - starts[at]);
      for (std::uint64_t i = starts[at]; i < starts[at + 1]; ++i) {
        const std::int64_t col = tile.first_col + place_of(found.items[i]);
        best[at].push_back({found.value(i), id_of(tile.first_row + row, col)});
      }
      keep_first(best[at], kept_);
      best[at].shrink_to_fit();
    }
  }

  std::vector<DeviceThreshold> find_thresholds(const Tile& tile, const gpu::Buffer& values) {
    std::vector<DeviceThreshold> found(static_cast<std::size_t>(tile.rows));
    const auto k = static_cast<std::uint32_t>(std::min(kept_, tile.cols));
    thresholds_ = opened_.device.allocate(tile.rows * kThresholdBytes);
    queue_->run({"radix", "radix_threshold"}, {tile.rows, 1},
                {values, kind(), static_cast<std::uint32_t>(tile.cols),
                 std::uint32_t{options_.largest}, k, *thresholds_});
    queue_->read(*thresholds_, found.data());
    queue_->wait();
    return found;
  }

  struct Found {
    std::vector<DeviceItem> items;
    std::vector<std::uint64_t> keys;  // of float64

    double value(std::size_t i) const {
      return keys.empty() ? value_of(items[i]) : value_of_whole_key(keys[i]);
    }
  };

  Found gather(const Tile& tile, const gpu::Buffer& values,
               const std::vector<std::uint64_t>& starts) {
    const bool has_keys = values_.dtype() == DType::f64;
    // What is queued reads and writes: before the queue is given anything.
    Found found{std::vector<DeviceItem>(starts.back()),
                std::vector<std::uint64_t>(has_keys ? starts.back() : 0)};
    const auto begins = opened_.device.allocate(std::ssize(starts) * kStartBytes);
    const auto items = opened_.device.allocate(std::ssize(found.items) * kItemBytes);
    const auto keys = opened_.device.allocate(std::ssize(found.keys) * kWholeKeyBytes);
    const gpu::WaitAtEnd before_memory_ends(*queue_);
    queue_->write(*begins, starts.data());
    queue_->run({"radix", "gather"}, {tile.rows, 1},
                {values, kind(), static_cast<std::uint32_t>(tile.cols),
                 std::uint32_t{options_.largest}, *thresholds_, std::uint32_t{1}, *begins, *items});
    if (has_keys) {
      queue_->run({"radix", "whole_keys"}, {tile.rows, 1},
                  {values, static_cast<std::uint32_t>(tile.cols), std::uint32_t{options_.largest},
                   *begins, *items, *keys});
    }
    queue_->read(*items, found.items.data());
    if (has_keys) queue_->read(*keys, found.keys.data());
    queue_->wait();
    return found;
  }

  std::int64_t id_of(std::int64_t row, std::int64_t col) const {
    const auto ids = static_cast<std::int64_t>(options_.ids.size());
    if (ids == 0) return col;
    const std::int64_t place = ids == values_.cols() ? col : row * values_.cols() + col;
    return options_.ids[static_cast<std::size_t>(place)];
  }

  const ValuesView values_;  // for its shape: it may be on the device
  const SelectOptions& options_;
  const Context& context_;
  const gpu::Opened opened_;
  const std::unique_ptr<gpu::Queue> queue_;
  const gpu::ByteRows array_;
  std::optional<gpu::ArrayTiles> tiles_;
  const std::int64_t kept_;  // of the k, at most
  const bool items_are_answers_;
  const DeviceSelector* selector_ = nullptr;
  std::unique_ptr<gpu::Buffer> thresholds_;
  Plan plan_;
  Selected result_;
};

// Its first rows, or as much of the first as is enough.
PlacedValues sample_of(const PlacedValues& values) {
  const ValuesView& view = values.view;
  const std::int64_t most = gpu::kMostMeasured / row_bytes(view.dtype(), 1);
  const std::int64_t cols = std::min(view.cols(), most);
  const std::int64_t rows = std::min(view.rows(), most / std::max<std::int64_t>(cols, 1));
  return {
      ValuesView(rows > 0 ? view.row(0) : nullptr, view.dtype(), rows, cols, view.stride_bytes()),
      values.on_device, values.stream};
}

gpu::HostReadsChoice choose_for(const PlacedValues& values, const SelectOptions& options,
                                const Context& context, const DeviceSelector* selector) {
  const PlacedValues sample = sample_of(values);
  const SelectOptions of_sample{.k = std::min(options.k, sample.view.cols()),
                                .largest = options.largest};
  Context unseen = context;
  unseen.progress = nullptr;
  return choose_host_reads(gpu::open_device(context.device).device, "selection",
                           gpu::host_bytes(values), [&](gpu::HostReads how) {
                             DeviceSelection selection(sample, of_sample, unseen, selector);
                             const bool could = selection.read_host({how, {}});
                             selection.run();
                             return could;
                           });
}

}  // namespace

Selected select_on_device(const PlacedValues& values, const SelectOptions& options,
                          const Context& context, const DeviceSelector* selector) {
  DeviceSelection selection(values, options, context, selector);
  return with_memory_errors(selection.plan(), "pass fewer rows at a time or a smaller k", [&] {
    selection.read_host(choose_for(values, options, context, selector));
    return selection.run();
  });
}

}  // namespace nearfield
