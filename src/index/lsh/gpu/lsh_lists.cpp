#include "index/lsh/gpu/lsh_lists.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/checked.hpp"
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

constexpr std::int64_t kMostSentRows = 1 << 20;    // of lists, at a time
constexpr std::int64_t kMostSentPieces = 1 << 16;  // likewise
constexpr std::size_t kRowsOfAPiece = 1 << 12;     // which a block of threads lists
constexpr std::int64_t kRowsOfAWord = 64;          // pieces of the base are whole words
constexpr std::int64_t kMostRowsAtOnce = 1 << 25;  // 64 queries with them are fewer than 2^32 pairs

std::int64_t queries_of_block(bool tiles) { return tiles ? kLshTileQueries : kLshBlockQueries; }
// Of a row a bit for each query; with tiles one more.
std::int64_t marks_of_block(bool tiles) { return tiles ? kLshTileMarks : kLshBlockQueries; }
std::int64_t mark_bytes_of_row(bool tiles) {
  return divide_up(marks_of_block(tiles), std::int64_t{8});
}

// With tiles, a quarter of a device is for products.
std::int64_t beside_lsh_products(std::int64_t limit, bool tiles) {
  return tiles ? limit - limit / 4 : limit;
}

// Half of the other bytes of a device are for rows, and a bit for each of them and each query; an
// eighth each for queries, pairs, lists and their pieces. Of the last three, how much at a time
// fits, and how many rows are gathered for products.
struct ListsRoom {
  std::int64_t pairs;
  std::int64_t sent_rows;
  std::int64_t sent_pieces;
  std::int64_t gathered;
};

ListsRoom room_for_lists(std::int64_t limit, const LshLists& lists, std::int64_t row_bytes) {
  const std::int64_t eighth = beside_lsh_products(limit, lists.look.tiles) / 8;
  const LshProductRoom products{row_bytes, lists.run.functions.directions.cols()};
  return {
      .pairs = std::min(eighth / PairList::kPairBytes, kMostLshPairs),
      .sent_rows = std::min(eighth / 4, kMostSentRows),
      .sent_pieces = std::min(eighth / std::int64_t{sizeof(ListPiece)}, kMostSentPieces),
      .gathered = lists.look.tiles ? products.rows_within(limit / 4, lists.run.rows.size()) : 0};
}

// What stays on a device of a run whose lists do not.
struct LshDeviceValues {
  gpu::ArrayTile rows;
};

// A search's own: a batch of queries, some rows, and what is found of both.
class LshListsSearch final : public LshPairFinder {
 public:
  LshListsSearch(gpu::Device& device, const LshLists& lists, MetricSpec metric, DType queries)
      : device_(device),
        lists_(lists),
        run_(lists.run),
        stays_(lists.stays),
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
    places_.emplace(queries, run_, lists_.look.probes, metric_, isa_, threads_, monitor);
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
    if (products_) products_->take_queries(*queue_, queries_, queries.rows());
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
    room_ = room_for_lists(lsh_device_limit(device_, lists_.context), lists_,
                           row_bytes(row_type_, run_.functions.directions.cols()));
    while (!has_scratch()) {
      if (room_.pairs / 2 < queries_of_block(lists_.look.tiles)) fail_refused(1);
      room_ = {room_.pairs / 2, std::max<std::int64_t>(room_.sent_rows / 2, 1),
               std::max<std::int64_t>(room_.sent_pieces / 2, 1),
               std::max<std::int64_t>(room_.gathered / 2, 1)};
    }
  }

  bool has_scratch() {
    try {
      list_.emplace(device_, room_.pairs);
      sent_ = device_.allocate(room_.sent_rows * 4);
      pieces_ = device_.allocate(room_.sent_pieces * std::int64_t{sizeof(ListPiece)});
      wrong_ = device_.allocate(sizeof(std::uint32_t));
      if (lists_.look.tiles) {
        products_.emplace(
            device_,
            LshProducts::Types{metric_, query_type_, row_type_, run_.functions.directions.cols()},
            room_.gathered);
      }
      return true;
    } catch (const gpu::OutOfMemory&) {
      list_.reset();
      sent_.reset();
      return false;
    }
  }

  bool fits(const Piece& rows) {
    try {
      const std::int64_t bytes = DeviceBuckets::mark_bytes(rows.view.rows());
      const std::int64_t of_a_block = marks_of_block(lists_.look.tiles) * bytes;
      if (marks_ == nullptr || marks_->bytes() < of_a_block) {
        marks_.reset();
        marks_ = device_.allocate(of_a_block);
      }
      mark_words_ = bytes / 4;
      const gpu::WaitAtEnd wait(*queue_);
      stays_ = stays_ && rows.view.rows() == run_.rows.size();
      if (stays_) {
        keep(rows.view);
        first_row_ = 0;
      } else {
        came_.rows.reset();  // before there is another
        came_ = copied_rows(device_, *queue_, rows.view);
        first_row_ = rows.first;
      }
      if (products_) {
        products_->take_rows(*queue_, rows_there(), [&] { return largest(rows.view.rows()); });
      }
      queue_->wait();
      return true;
    } catch (const gpu::OutOfMemory&) {
      drop_rows();  // fewer need less, and may lack just what these had
      return false;
    }
  }

  void keep(MatrixView rows) {
    if (kept_ != nullptr) return;
    kept_ = run_.copies.of<LshDeviceValues>(&device_, [&] {
      return std::make_shared<const LshDeviceValues>(
          LshDeviceValues{copied_rows(device_, *queue_, rows)});
    });
  }

  // And those that an earlier search has left there.
  void drop_rows() {
    if (stays_) run_.copies.forget(&device_);
    stays_ = false;
    kept_.reset();
    came_.rows.reset();
    marks_.reset();
  }

  const gpu::ArrayTile& rows_there() const { return stays_ ? kept_->rows : came_; }
  float largest(std::int64_t rows) {
    return stays_ ? kept_largest(run_, device_, *queue_, kept_->rows, row_type_)
                  : largest_magnitude(device_, *queue_, came_, row_type_, rows,
                                      run_.functions.directions.cols());
  }

  std::uint32_t list(Range queries, Range rows, const PlaceList& to) override {
    const gpu::WaitAtEnd wait(*queue_);
    queue_->fill(*wrong_, 0);
    queue_->fill(*to.count, 0);
    queue_->fill(*marks_, 0);
    host_lists_.clear();
    host_pieces_.clear();
    for (std::int64_t query = queries.begin; query < queries.end; ++query) {
      monitor_->check();
      for (std::int64_t table = 0; table < run_.functions.tables; ++table) {
        const KeyTableView& view = run_.tables[static_cast<std::size_t>(table)];
        for (const KeyPlace& place : places_->of(query, table)) {
          add(view.rows_of(place), static_cast<std::uint32_t>(query - queries.begin), rows, to);
        }
      }
    }
    send(rows, to);
    return read_listed(to, *wrong_, run_.rows.size());
  }
  Marked marked() const override { return {*marks_, mark_words_, first_row_}; }

  // Those of a bucket that are asked for; behind the last row, also what is not there, which the
  // device counts.
  void add(std::span<const std::uint32_t> found, std::uint32_t query, Range rows,
           const PlaceList& to) {
    if (rows.end == run_.rows.size()) rows.end = std::int64_t{1} << 32;
    found = rows_between(found, rows);
    while (!found.empty()) {
      if (std::ssize(host_lists_) == room_.sent_rows ||
          std::ssize(host_pieces_) == room_.sent_pieces) {
        send(rows, to);
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

  void send(Range rows, const PlaceList& to) {
    if (host_pieces_.empty()) return;
    const std::int64_t all = run_.rows.size();
    const auto list_bytes = static_cast<std::int64_t>(4 * host_lists_.size());
    const auto piece_bytes = static_cast<std::int64_t>(sizeof(ListPiece) * host_pieces_.size());
    queue_->write(*sent_, host_lists_.data(), {1, list_bytes, list_bytes, list_bytes});
    queue_->write(*pieces_, host_pieces_.data(), {1, piece_bytes, piece_bytes, piece_bytes});
    list_pieces(*queue_, *sent_, *pieces_, std::ssize(host_pieces_),
                {.all = all,
                 .first = rows.begin,
                 .rows = std::min(rows.end, all) - rows.begin,
                 .once_for = lists_.look.tiles ? kLshTileQueries : 0},
                *marks_, mark_words_, to, *wrong_);
    queue_->wait();
    host_lists_.clear();
    host_pieces_.clear();
  }

  void make_keys(Range queries, Range rows) override {
    keys_.of_pairs(*queue_, {queries_, query_type_, queries.begin, queries.size()},
                   {rows_there(), row_type_, rows.begin - first_row_, rows.size()}, *list_);
  }
  gpu::Queue& queue() override { return *queue_; }

  gpu::Device& device_;
  const LshLists lists_;
  const LshRun& run_;
  bool stays_;
  ListsRoom room_{};
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
  std::unique_ptr<gpu::Buffer> sent_;
  std::unique_ptr<gpu::Buffer> pieces_;
  std::unique_ptr<gpu::Buffer> wrong_;
  std::vector<std::uint32_t> host_lists_;
  std::vector<ListPiece> host_pieces_;
  // The last: what it still has to do reads and writes the others.
  std::unique_ptr<gpu::Queue> queue_;
};

class LshListsFilterMaker final : public FilterMaker {
 public:
  LshListsFilterMaker(gpu::Device& device, const LshLists& lists, MetricSpec metric, DType queries)
      : search_(device, lists, metric, queries),
        filter_(search_, device_filter_name(lists.run, lists.look)) {}

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

// With so many beside products, of which there is one row.
std::int64_t least_bytes(std::int64_t beside, const LshProductRoom& products, bool tiles) {
  return tiles ? std::max(divide_up(4 * beside, std::int64_t{3}), 4 * products.bytes(1)) : beside;
}

}  // namespace

// Half of a device is for them; with tiles three eighths, of which a third is less.
std::optional<std::int64_t> bytes_to_mark(const LshRun& run, bool tiles) {
  const std::int64_t rows = round_up(run.rows.size(), kRowsOfAWord);
  if (rows > kMostRowsAtOnce) return {};
  return (tiles ? 3 : 2) * mark_bytes_of_row(tiles) * rows;
}

void add_lsh_lists_to(SearchShape& shape, const LshLists& lists) {
  const gpu::Opened opened = gpu::open_device(lists.context.device);
  const std::int64_t limit = lsh_device_limit(opened.device, lists.context);
  const std::int64_t largest = opened.device.facts().largest_buffer;
  const bool tiles = lists.look.tiles;
  const std::int64_t beside = beside_lsh_products(limit, tiles);
  const LshProductRoom products{shape.base_row_bytes, shape.cols};
  const std::int64_t of_a_query =
      copied_row_bytes(DType::f64, shape.cols) + (tiles ? products.query_bytes() : 0);
  // A bit for each query; and the row, if it does not stay.
  const std::int64_t marks = mark_bytes_of_row(tiles);
  const std::int64_t came = lists.stays ? 0 : round_up(shape.base_row_bytes, std::int64_t{8});
  const std::int64_t of_a_row = marks + came;
  const std::int64_t queries = std::min(beside / 8, largest) / of_a_query;
  const std::int64_t fit =
      std::min({beside / 2 / of_a_row, largest / std::max(came, marks), kMostRowsAtOnce});
  const std::int64_t rows =
      std::min(fit, round_up(lists.run.rows.size(), kRowsOfAWord)) / kRowsOfAWord * kRowsOfAWord;
  const ListsRoom room = room_for_lists(limit, lists, shape.base_row_bytes);
  const std::int64_t of_block = queries_of_block(tiles);
  if (queries < 1 || rows < 1 || room.pairs < of_block || (tiles && room.gathered < 1)) {
    fail(ErrorCode::memory_limit,
         "a search of lsh takes {} bytes of {}, and beside what stays there it has {}: raise its "
         "limit, or leave the device out",
         least_bytes(std::max({8 * of_a_query, 2 * kRowsOfAWord * of_a_row,
                               8 * of_block * PairList::kPairBytes}),
                     products, tiles),
         opened.id, limit);
  }
  shape.most_batch = queries;
  shape.most_chunk = rows;
  shape.tiles = TileShape{.most_queries = of_block,
                          .most_rows = rows,
                          .most_pairs = of_block * rows,
                          .most_listed = room.pairs,
                          .listed_bytes = kFoundHostBytes,
                          .first_rows = rows,
                          .most_row_parts = 1,
                          .keep_queries_together = true};
  shape.query_filter_bytes =
      LshPlaces::bytes_of_a_query(lists.run, lists.look.probes) + (tiles ? kQueryHostBytes : 0);
  // With what is sent, in vectors that grow by doubling.
  shape.fixed_bytes +=
      shape.threads * LshPlaces::bytes_of_a_thread(lists.run, lists.look.probes) +
      2 * (room.sent_rows * 4 + room.sent_pieces * std::int64_t{sizeof(ListPiece)});
  shape.threads = 1;  // who asks the device
}

std::unique_ptr<FilterMaker> make_lsh_lists(gpu::Device& device, const LshLists& lists,
                                            MetricSpec metric, DType queries) {
  return std::make_unique<LshListsFilterMaker>(device, lists, metric, queries);
}

}  // namespace nearfield
