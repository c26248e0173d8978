#include "index/lsh/gpu/lsh_lists.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/decode.hpp"
#include "core/fail.hpp"
#include "core/tasks.hpp"
#include "device/gpu/open.hpp"
#include "distance/gpu/key_step.hpp"
#include "filter/device_filter.hpp"
#include "filter/gpu/copied_rows.hpp"
#include "hash/gpu/short_list_step.hpp"
#include "index/lsh/gpu/lsh_device_filter.hpp"
#include "index/lsh/lsh_places.hpp"
#include "index/rows_between.hpp"
#include "search/prepared_base.hpp"

namespace nearfield {
namespace {

constexpr std::int64_t kMostSentRows = 1 << 20;            // of lists, at a time
constexpr std::int64_t kMostSentPieces = 1 << 16;          // likewise
constexpr std::size_t kRowsOfAPiece = 1 << 12;             // which a block of threads lists
constexpr std::int64_t kRowsOfAWord = 64;                  // pieces of the base are whole words
constexpr std::int64_t kMarkBytes = kLshBlockQueries / 8;  // of a row: a bit for each query
constexpr std::int64_t kMostRowsAtOnce = 1 << 25;  // 64 queries with them are fewer than 2^32 pairs

// Half of the bytes of a device are for rows, and a bit for each of them and each query; an eighth
// each for queries, pairs, lists and their pieces. Of the last three, how much at a time fits.
struct ListsRoom {
  std::int64_t pairs;
  std::int64_t sent_rows;
  std::int64_t sent_pieces;
};

ListsRoom room_for_lists(std::int64_t limit) {
  return {.pairs = std::min(limit / 8 / PairList::kPairBytes, kMostLshPairs),
          .sent_rows = std::min(limit / 8 / 4, kMostSentRows),
          .sent_pieces = std::min(limit / 8 / std::int64_t{sizeof(ListPiece)}, kMostSentPieces)};
}

// What stays on a device of a run whose lists do not.
struct LshDeviceValues {
  gpu::ArrayTile rows;
};

// A search's own: a batch of queries, some rows, and what is found of both.
class LshListsSearch final : public LshPairFinder {
 public:
  LshListsSearch(const LshLists& lists, MetricSpec metric, DType queries)
      : device_(gpu::open_device(lists.context.device).device),
        run_(lists.run),
        probes_(lists.probes),
        stays_(lists.stays),
        room_(room_for_lists(lsh_device_limit(device_, lists.context))),
        metric_(metric),
        query_type_(queries),
        isa_(isa_of(lists.context)),
        threads_(resolve_threads(lists.context.threads)),
        keys_(metric, run_.functions.directions.cols()),
        queue_(device_.make_queue(lists.context.stream)) {}

  void take_queries(MatrixView queries, DType rows, const Monitor& monitor) {
    monitor_ = &monitor;
    row_type_ = rows;
    places_.reset();
    places_.emplace(queries, run_, probes_, metric_, isa_, threads_, monitor);
    finite_.assign(static_cast<std::size_t>(queries.rows()), false);
    for (std::int64_t i = 0; i < queries.rows(); ++i) {
      finite_[static_cast<std::size_t>(i)] =
          row_is_finite(query_type_, queries.row(i), queries.cols());
    }
    queries_.rows.reset();
    const gpu::WaitAtEnd wait(*queue_);
    queries_ = copied_rows(device_, *queue_, queries);
    queue_->wait();
    if (!list_) make_scratch();
  }

  // Says how many of them it has taken: fewer, where the device has less memory than it said.
  std::int64_t take_rows(const Piece& rows) {
    std::int64_t count = rows.view.rows();
    while (!fits({rows.view.slice(0, count), rows.first})) {
      if (count <= kRowsOfAWord) fail_refused(count);
      count = round_up(count / 2, kRowsOfAWord);
    }
    return count;
  }

 private:
  [[noreturn]] void fail_refused(std::int64_t rows) const {
    fail(ErrorCode::memory_limit,
         "{} has no memory for {} rows of lsh and what is found of them: free some of it, or leave "
         "the device out",
         device_.facts().name, rows);
  }

  // Of what is found and sent, half as much until the device has the memory.
  void make_scratch() {
    while (!has_scratch()) {
      if (room_.pairs / 2 < kLshBlockQueries) fail_refused(1);
      room_ = {room_.pairs / 2, std::max<std::int64_t>(room_.sent_rows / 2, 1),
               std::max<std::int64_t>(room_.sent_pieces / 2, 1)};
    }
  }

  bool has_scratch() {
    try {
      list_.emplace(device_, room_.pairs);
      lists_ = device_.allocate(room_.sent_rows * 4);
      pieces_ = device_.allocate(room_.sent_pieces * std::int64_t{sizeof(ListPiece)});
      wrong_ = device_.allocate(sizeof(std::uint32_t));
      return true;
    } catch (const gpu::OutOfMemory&) {
      list_.reset();
      lists_.reset();
      return false;
    }
  }

  bool fits(const Piece& rows) {
    try {
      const std::int64_t bytes = DeviceBuckets::mark_bytes(rows.view.rows());
      if (marks_ == nullptr || marks_->bytes() < kLshBlockQueries * bytes) {
        marks_.reset();
        marks_ = device_.allocate(kLshBlockQueries * bytes);
      }
      mark_words_ = bytes / 4;
      const gpu::WaitAtEnd wait(*queue_);
      stays_ = stays_ && rows.view.rows() == run_.rows.size();
      if (stays_) {
        kept_ = run_.copies.of<LshDeviceValues>(&device_, [&] {
          return std::make_shared<const LshDeviceValues>(
              LshDeviceValues{copied_rows(device_, *queue_, rows.view)});
        });
        first_row_ = 0;
      } else {
        came_.rows.reset();  // before there is another
        came_ = copied_rows(device_, *queue_, rows.view);
        first_row_ = rows.first;
      }
      queue_->wait();
      return true;
    } catch (const gpu::OutOfMemory&) {
      stays_ = false;
      marks_.reset();  // fewer rows need less, and may lack just that
      return false;
    }
  }

  std::uint32_t list(Range queries, Range rows) override {
    const gpu::WaitAtEnd wait(*queue_);
    queue_->fill(*wrong_, 0);
    queue_->fill(*list_->count, 0);
    queue_->fill(*marks_, 0);
    host_lists_.clear();
    host_pieces_.clear();
    for (std::int64_t query = queries.begin; query < queries.end; ++query) {
      monitor_->check();
      for (std::int64_t table = 0; table < run_.functions.tables; ++table) {
        const KeyTableView& view = run_.tables[static_cast<std::size_t>(table)];
        for (const KeyPlace& place : places_->of(query, table)) {
          add(view.rows_of(place), static_cast<std::uint32_t>(query - queries.begin), rows);
        }
      }
    }
    send(rows);
    return read_listed(*queue_, *wrong_, run_.rows.size());
  }

  // Those of a bucket that are asked for; behind the last row, also what is not there, which the
  // device counts.
  void add(std::span<const std::uint32_t> found, std::uint32_t query, Range rows) {
    if (rows.end == run_.rows.size()) rows.end = std::int64_t{1} << 32;
    found = rows_between(found, rows);
    while (!found.empty()) {
      if (std::ssize(host_lists_) == room_.sent_rows ||
          std::ssize(host_pieces_) == room_.sent_pieces) {
        send(rows);
      }
      const std::size_t count =
          std::min({found.size(), kRowsOfAPiece,
                    static_cast<std::size_t>(room_.sent_rows) - host_lists_.size()});
      host_pieces_.push_back({static_cast<std::uint32_t>(host_lists_.size()),
                              static_cast<std::uint32_t>(count), query});
      host_lists_.insert(host_lists_.end(), found.begin(),
                         found.begin() + static_cast<std::ptrdiff_t>(count));
      found = found.subspan(count);
    }
  }

  void send(Range rows) {
    if (host_pieces_.empty()) return;
    const std::int64_t all = run_.rows.size();
    const auto list_bytes = static_cast<std::int64_t>(4 * host_lists_.size());
    const auto piece_bytes = static_cast<std::int64_t>(sizeof(ListPiece) * host_pieces_.size());
    queue_->write(*lists_, host_lists_.data(), {1, list_bytes, list_bytes, list_bytes});
    queue_->write(*pieces_, host_pieces_.data(), {1, piece_bytes, piece_bytes, piece_bytes});
    list_pieces(*queue_, *lists_, *pieces_, std::ssize(host_pieces_),
                {.all = all, .first = rows.begin, .rows = std::min(rows.end, all) - rows.begin},
                *marks_, mark_words_, *list_, *wrong_);
    queue_->wait();
    host_lists_.clear();
    host_pieces_.clear();
  }

  void read_keyed(Range queries, Range rows, std::span<std::uint64_t> places,
                  std::span<double> keys) override {
    const gpu::WaitAtEnd wait(*queue_);
    keys_.of_pairs(*queue_, {queries_, query_type_, queries.begin, queries.size()},
                   {stays_ ? kept_->rows : came_, row_type_, rows.begin - first_row_, rows.size()},
                   *list_);
    read_pairs(*queue_, places, keys);
  }

  gpu::Device& device_;
  const LshRun& run_;
  std::int64_t probes_;
  bool stays_;
  ListsRoom room_;
  MetricSpec metric_;
  DType query_type_;
  DType row_type_ = DType::f32;
  Isa isa_;
  int threads_;
  KeyStep keys_;
  const Monitor* monitor_ = nullptr;
  std::optional<LshPlaces> places_;  // of the batch
  gpu::ArrayTile queries_{};
  std::shared_ptr<const LshDeviceValues> kept_;
  gpu::ArrayTile came_{};
  std::int64_t first_row_ = 0;  // that the device has
  std::unique_ptr<gpu::Buffer> marks_;
  std::int64_t mark_words_ = 0;
  std::unique_ptr<gpu::Buffer> lists_;
  std::unique_ptr<gpu::Buffer> pieces_;
  std::unique_ptr<gpu::Buffer> wrong_;
  std::vector<std::uint32_t> host_lists_;
  std::vector<ListPiece> host_pieces_;
  // The last: what it still has to do reads and writes the others.
  std::unique_ptr<gpu::Queue> queue_;
};

class LshListsFilterMaker final : public FilterMaker {
 public:
  LshListsFilterMaker(const LshLists& lists, MetricSpec metric, DType queries)
      : search_(lists, metric, queries),
        filter_(search_, lsh_filter_name(lists.run, lists.probes) + ", on the device") {}

  void take_queries(const Piece& queries, const Piece& rows, int /*threads*/,
                    Monitor& monitor) override {
    search_.take_queries(queries.view, rows.view.dtype(), monitor);
    filter_.start(queries.first);
  }
  TakenRows take_rows(const Piece& rows, int /*threads*/, Monitor& /*monitor*/) override {
    filter_.take(rows);
    return {filter_, search_.take_rows(rows)};
  }
  std::string name() const override { return filter_.name(); }

 private:
  LshListsSearch search_;
  LshDeviceFilter filter_;
};

}  // namespace

std::optional<std::int64_t> bytes_to_mark(const LshRun& run) {
  const std::int64_t rows = round_up(run.rows.size(), kRowsOfAWord);
  if (rows > kMostRowsAtOnce) return {};
  return 2 * kMarkBytes * rows;  // half of a device is for them
}

void add_lsh_lists_to(SearchShape& shape, const LshLists& lists) {
  const gpu::Opened opened = gpu::open_device(lists.context.device);
  const std::int64_t limit = lsh_device_limit(opened.device, lists.context);
  const std::int64_t largest = opened.device.facts().largest_buffer;
  const std::int64_t of_a_query = copied_row_bytes(DType::f64, shape.cols);
  // A bit for each query; and the row, if it does not stay.
  const std::int64_t came = lists.stays ? 0 : round_up(shape.base_row_bytes, std::int64_t{8});
  const std::int64_t of_a_row = kMarkBytes + came;
  const std::int64_t queries = std::min(limit / 8, largest) / of_a_query;
  const std::int64_t fit =
      std::min({limit / 2 / of_a_row, largest / std::max(came, kMarkBytes), kMostRowsAtOnce});
  const std::int64_t rows =
      std::min(fit, round_up(lists.run.rows.size(), kRowsOfAWord)) / kRowsOfAWord * kRowsOfAWord;
  const ListsRoom room = room_for_lists(limit);
  if (queries < 1 || rows < 1 || room.pairs < kLshBlockQueries) {
    fail(ErrorCode::memory_limit,
         "a search of lsh takes {} bytes of {}, and beside what stays there it has {}: raise its "
         "limit, or leave the device out",
         std::max({8 * of_a_query, 2 * kRowsOfAWord * of_a_row,
                   8 * kLshBlockQueries * PairList::kPairBytes}),
         opened.id, limit);
  }
  shape.most_batch = queries;
  shape.most_chunk = rows;
  shape.tiles = TileShape{.most_queries = kLshBlockQueries,
                          .most_rows = rows,
                          .most_pairs = kLshBlockQueries * rows,
                          .most_listed = room.pairs,
                          .listed_bytes = kFoundHostBytes,
                          .first_rows = rows,
                          .most_row_parts = 1,
                          .keep_queries_together = true};
  shape.query_filter_bytes = LshPlaces::bytes_of_a_query(lists.run, lists.probes);
  // With what is sent, in vectors that grow by doubling.
  shape.fixed_bytes +=
      shape.threads * LshPlaces::bytes_of_a_thread(lists.run, lists.probes) +
      2 * (room.sent_rows * 4 + room.sent_pieces * std::int64_t{sizeof(ListPiece)});
  shape.threads = 1;  // who asks the device
}

std::unique_ptr<FilterMaker> make_lsh_lists(const LshLists& lists, MetricSpec metric,
                                            DType queries) {
  return std::make_unique<LshListsFilterMaker>(lists, metric, queries);
}

}  // namespace nearfield
