#include "index/ewh/gpu/ewh_device.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "device/gpu/open.hpp"
#include "filter/gpu/copied_rows.hpp"
#include "hash/near_buckets.hpp"
#include "index/part.hpp"
#include "index/rows_between.hpp"

namespace nearfield {
namespace {

// Scored at once: enough to fill a device, few enough for the host to be busy beside it, and for a
// search to stop soon.
constexpr std::int64_t kBatchQueries = 4;
constexpr std::int64_t kBatchPairs = 1 << 22;
// What is found of a batch, at first.
constexpr std::int64_t kFirstFound = 1 << 16;
constexpr std::int64_t kWordOfRows = 64;

std::int64_t list_bytes(const EwhRun& run, std::int64_t rows) {
  return run.shape.tables * rows * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

// Of a batch: the pieces of buckets, in rows that are whole or not, and the scores.
std::int64_t bytes_of_pieces(const EwhRun& run, std::int64_t queries, std::int64_t rows) {
  const std::int64_t buckets = run.shape.tables * near_buckets(run.shape.bits, run.shape.errors());
  return queries * (buckets + run.shape.tables * (rows / kMostPieceRows + 1)) *
         static_cast<std::int64_t>(sizeof(BucketPiece));
}
template <class Value>
std::int64_t bytes_in(const std::vector<Value>& values) {
  return static_cast<std::int64_t>(values.size() * sizeof(Value));
}
// In whole words: of more than one, both halves have some.
std::int64_t half_of(std::int64_t rows) { return round_up(rows / 2, kWordOfRows); }
std::int64_t bytes_of_batch(const EwhRun& run, std::int64_t queries, std::int64_t rows) {
  return DeviceScores::bytes(queries, rows) + bytes_of_pieces(run, queries, rows);
}

}  // namespace

EwhDevice::EwhDevice(const Context& context, std::string_view name, std::int64_t cols)
    : device_(gpu::open_device(name).device),
      id_(gpu::open_device(name).id),
      queue_(device_.make_queue(context.stream)),
      limit_(context.device_memory_limit.value_or(device_.facts().memory)),
      room_(limit_),
      query_stride_(copied_row_bytes(DType::bits, cols)),
      keys_(Metric::hamming, cols) {
  if (!device_.facts().has_float64) {
    fail(ErrorCode::unsupported, "keys are float64, which {} lacks: search on another", id_);
  }
}

void EwhDevice::find(std::span<const EwhAsking> asking, const EwhRows& in, Range piece,
                     const Monitor& monitor) {
  if (const std::shared_ptr<const Rows> all = copy_of(in)) {
    return find_in_copy(asking, in, piece, *all, monitor);
  }
  for (std::int64_t first = piece.begin; first < piece.end;) {
    const Range part{first, std::min(first + rows_at_once(in), piece.end)};
    if (const std::optional<Part> made = make_part(in, part)) {
      find_in(asking, in, part, made->rows, made->scores, monitor);
      first = part.end;
    } else {
      room_ /= 2;
    }
  }
  // A run that fits is reckoned without them.
  list_.reset();
  lists_.reset();
}

// Of fewer queries and rows at a time, where the device has less memory than it said.
void EwhDevice::find_in_copy(std::span<const EwhAsking> asking, const EwhRows& in, Range piece,
                             const Rows& copy, const Monitor& monitor) {
  std::int64_t rows = piece.size();
  std::int64_t queries = std::clamp<std::int64_t>(kBatchPairs / rows, 1, kBatchQueries);
  std::optional<DeviceScores> scores;
  for (;;) {
    try {
      scores.emplace(device_, *queue_, queries, rows);
      break;
    } catch (const gpu::OutOfMemory&) {
      if (queries == 1 && rows <= kWordOfRows) fail_without_room(rows);
      if (queries == 1) rows = half_of(rows);
      queries = 1;
    }
  }
  for (std::int64_t first = piece.begin; first < piece.end; first += rows) {
    find_in(asking, in, {first, std::min(first + rows, piece.end)}, copy, *scores, monitor);
  }
}

void EwhDevice::fail_without_room(std::int64_t rows) const {
  fail(ErrorCode::memory_limit,
       "{} holds the rows and has no memory left to score {} of them: free some of it, lower the "
       "limit of {} bytes, or search on the CPU",
       id_, rows, limit_);
}

// Null if there is no room for it, beside those of other runs that the search has used.
std::shared_ptr<const EwhDevice::Rows> EwhDevice::copy_of(const EwhRows& in) {
  const EwhRun& run = *in.run;
  const auto known = std::ranges::find(copies_, &run, &UsedCopy::run);
  if (known != copies_.end()) return known->rows;
  const std::int64_t rows = run.rows.size();
  const std::int64_t kept = rows * query_stride_ + list_bytes(run, rows);
  // With room to find all rows.
  const std::int64_t taken = kept + bytes_of_batch(run, kBatchQueries + 1, rows) +
                             std::max(kFirstFound, rows) * PairList::kPairBytes;
  if (taken > room_ || rows > most_addressed(run)) {
    run.copies.forget(&device_);  // of a search that had more room
    return nullptr;
  }
  const auto copy = run.copies.of<Rows>(&device_, [&] { return make_copy(in); });
  if (copy == nullptr) {
    room_ /= 2;
    return nullptr;
  }
  copies_.push_back({&run, copy});
  room_ -= kept;
  return copy;
}

// Rows that buffers have room for and 32 bits number, in all lists.
std::int64_t EwhDevice::most_addressed(const EwhRun& run) const {
  const std::int64_t of_a_row = std::max(
      {query_stride_, list_bytes(run, 1), static_cast<std::int64_t>(sizeof(std::uint64_t))});
  return std::min(device_.facts().largest_buffer / of_a_row,
                  std::numeric_limits<std::uint32_t>::max() / std::int64_t{run.shape.tables});
}

// Null where the device has less memory than it said.
std::shared_ptr<const EwhDevice::Rows> EwhDevice::make_copy(const EwhRows& in) {
  const EwhRun& run = *in.run;
  const std::int64_t rows = run.rows.size();
  try {
    const auto made = std::make_shared<Rows>();
    made->lists = device_.allocate(list_bytes(run, rows));
    AlignedArray<std::uint32_t> joined(run.shape.tables * rows);
    const gpu::WaitAtEnd wait(*queue_);
    for (std::int64_t table = 0; table < run.shape.tables; ++table) {
      std::ranges::copy(run.tables[static_cast<std::size_t>(table)].rows(),
                        joined.data() + table * rows);
    }
    queue_->write(*made->lists, joined.data());
    made->rows = copied_rows(device_, *queue_, in.rows);
    queue_->wait();
    return made;
  } catch (const gpu::OutOfMemory&) {
    return nullptr;
  }
}

// Likewise. All memory that finding takes: once something is found, it cannot begin again.
std::optional<EwhDevice::Part> EwhDevice::make_part(const EwhRows& in, Range piece) {
  const std::int64_t rows = piece.size();
  list_.reset();  // it may have more room than is left
  lists_.reset();
  pieces_.reset();
  try {
    list_.emplace(device_, rows);
    make_room_in(lists_, list_bytes(*in.run, rows));
    make_room_in(pieces_, bytes_of_pieces(*in.run, 1, rows));
    make_room_in(queries_.rows, query_stride_);
    DeviceScores scores(device_, *queue_, 1, rows);
    const gpu::WaitAtEnd wait(*queue_);
    gpu::ArrayTile copied = copied_rows(device_, *queue_, in.rows.slice(piece.begin, rows));
    queue_->wait();
    return Part{{std::move(copied), nullptr}, std::move(scores)};
  } catch (const gpu::OutOfMemory&) {
    return std::nullopt;
  }
}

// Of a run that does not fit: with the lists of one query, and room to find all of them.
std::int64_t EwhDevice::rows_at_once(const EwhRows& in) const {
  const std::int64_t fixed = bytes_of_batch(*in.run, 1, 0) + query_stride_;
  const std::int64_t of_a_row = query_stride_ + list_bytes(*in.run, 1) + 1 + PairList::kPairBytes;
  const std::int64_t most =
      std::min((room_ - fixed) / of_a_row, most_addressed(*in.run)) / kWordOfRows * kWordOfRows;
  if (most < kWordOfRows) {
    fail(ErrorCode::memory_limit,
         "{} has {} bytes, of which {} are left, and {} rows with their buckets take {}: raise the "
         "limit",
         id_, limit_, room_, kWordOfRows, fixed + kWordOfRows * of_a_row);
  }
  return std::min(most, in.run->rows.size());
}

void EwhDevice::find_in(std::span<const EwhAsking> asking, const EwhRows& in, Range piece,
                        const Rows& rows, const DeviceScores& scores, const Monitor& monitor) {
  std::array<Batch, 2> batches;  // one on the device, one that is made ready
  const gpu::WaitAtEnd wait(*queue_);
  const auto most = static_cast<std::size_t>(scores.queries());
  const auto ready = [&](std::size_t first, Batch& batch) {
    batch.asking = asking.subspan(first, std::min(most, asking.size() - first));
    prepare(in, piece, rows.lists == nullptr, batch);
  };
  ready(0, batches[0]);
  for (std::size_t first = 0, turn = 0; first < asking.size(); first += most, turn ^= 1) {
    monitor.check();
    const Batch& batch = batches[turn];
    const std::int64_t pairs = std::ssize(batch.asking) * piece.size();
    bool found = makes_room(batch, list_ ? list_->most : std::min(kFirstFound, pairs));
    if (found) score(in, piece, rows, scores, batch);
    if (first + most < asking.size()) ready(first + most, batches[turn ^ 1]);
    queue_->wait();
    if (found && count_ > list_->most) {  // now it is known how much room it takes
      found = count_ <= piece.size() && makes_room(batch, count_);
      if (found) score(in, piece, rows, scores, batch);
      queue_->wait();
    }
    if (found) {
      collect(in, piece, batch);
    } else {
      find_in_halves(batch.asking, in, piece, rows, scores, monitor);
    }
  }
}

// What a batch was refused memory for, or has found too much at once.
void EwhDevice::find_in_halves(std::span<const EwhAsking> asking, const EwhRows& in, Range piece,
                               const Rows& rows, const DeviceScores& scores,
                               const Monitor& monitor) {
  if (asking.size() > 1) {
    const std::size_t half = asking.size() / 2;
    find_in(asking.first(half), in, piece, rows, scores, monitor);
    find_in(asking.subspan(half), in, piece, rows, scores, monitor);
    return;
  }
  // A piece that does not stay has all its memory from the start.
  if (rows.lists == nullptr || piece.size() <= kWordOfRows) fail_without_room(piece.size());
  const std::int64_t middle = piece.begin + half_of(piece.size());
  find_in(asking, in, {piece.begin, middle}, rows, scores, monitor);
  find_in(asking, in, {middle, piece.end}, rows, scores, monitor);
}

// For what kernels are given of it, and so many that are found: all that scoring allocates.
bool EwhDevice::makes_room(const Batch& batch, std::int64_t found) {
  try {
    make_room_in(pieces_, bytes_in(batch.pieces));
    make_room_in(queries_.rows, bytes_in(batch.queries));
    make_room_in(lists_, bytes_in(batch.lists));
    if (!list_ || list_->most < found) {
      list_.reset();
      list_.emplace(device_, found);
    }
    return true;
  } catch (const gpu::OutOfMemory&) {
    return false;
  }
}

void EwhDevice::prepare(const EwhRows& in, Range piece, bool with_lists, Batch& batch) {
  const EwhRun& run = *in.run;
  const bool whole = piece.size() == run.rows.size();
  batch.rows_met = 0;
  batch.pieces.clear();
  batch.lists.clear();
  batch.queries.assign(batch.asking.size() * static_cast<std::size_t>(query_stride_), {});
  for (std::size_t query = 0; query < batch.asking.size(); ++query) {
    const std::byte* const values = batch.asking[query].query;
    std::memcpy(&batch.queries[query * static_cast<std::size_t>(query_stride_)], values,
                static_cast<std::size_t>(row_bytes(DType::bits, in.rows.cols())));
    run.write_query_buckets(values, in.rows.cols(), query_buckets_);
    for (std::size_t table = 0; table < query_buckets_.size(); ++table) {
      const BucketView& view = run.tables[table];
      for_each_near_bucket(
          query_buckets_[table], run.shape.bits, run.shape.errors(),
          [&](std::uint32_t bucket, int error) {
            std::span<const std::uint32_t> rows = view.of(bucket);
            if (!whole) rows = rows_between(rows, piece);
            std::size_t begin = batch.lists.size();
            if (with_lists) {
              batch.lists.insert(batch.lists.end(), rows.begin(), rows.end());
            } else {
              begin = table * view.rows().size() +
                      static_cast<std::size_t>(rows.data() - view.rows().data());
            }
            batch.rows_met += std::ssize(rows);
            add_pieces(
                static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(rows.size()),
                static_cast<std::uint8_t>(run.shape.weights[static_cast<std::size_t>(error)]),
                static_cast<std::uint32_t>(query), batch.pieces);
          });
    }
  }
}

void EwhDevice::score(const EwhRows& in, Range piece, const Rows& rows, const DeviceScores& scores,
                      const Batch& batch) {
  write(std::as_bytes(std::span(batch.pieces)), *pieces_);
  write(batch.queries, *queries_.rows);
  queries_.stride = query_stride_;
  write(std::as_bytes(std::span(batch.lists)), *lists_);
  scores.add(*queue_, rows.lists != nullptr ? *rows.lists : *lists_, *pieces_,
             std::ssize(batch.pieces), piece.begin, piece.size());
  scores.list(*queue_, std::ssize(batch.asking), in.run->shape.threshold, *list_);
  // Of all rows the device has, those of the piece.
  const std::int64_t first = rows.lists != nullptr ? piece.begin : 0;
  keys_.of_pairs(*queue_, {queries_, DType::bits, 0, std::ssize(batch.asking)},
                 {rows.rows, DType::bits, first, piece.size()}, *list_);
  queue_->read(*list_->count, &count_);
  queue_->read(scores.wrong(), &wrong_);
}

void EwhDevice::make_room_in(std::unique_ptr<gpu::Buffer>& buffer, std::int64_t bytes) {
  constexpr std::int64_t kLeast = 64;  // no device has memory of no bytes
  if (buffer != nullptr && buffer->bytes() >= bytes) return;
  buffer.reset();
  buffer = device_.allocate(std::max(bytes, kLeast));
}

void EwhDevice::write(std::span<const std::byte> values, gpu::Buffer& to) {
  const std::int64_t bytes = std::ssize(values);
  if (bytes > 0) queue_->write(to, values.data(), {1, bytes, bytes, bytes});
}

void EwhDevice::collect(const EwhRows& in, Range piece, const Batch& batch) {
  if (wrong_ != 0) {
    fail(ErrorCode::corrupt_file,
         "buckets hold {} rows out of order or not among the {} there are: build the index again",
         wrong_, in.run->rows.size());
  }
  considered_ += batch.rows_met;
  places_.resize(count_);
  found_keys_.resize(count_);
  if (count_ == 0) return;
  const auto bytes = static_cast<std::int64_t>(count_ * sizeof(std::uint64_t));
  queue_->read(*list_->places, places_.data(), {1, bytes, bytes, bytes});
  queue_->read(*list_->keys, found_keys_.data(), {1, bytes, bytes, bytes});
  queue_->wait();
  verified_ += count_;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::int64_t row = piece.begin + static_cast<std::uint32_t>(places_[i]);
    if (!in.live.empty() && !bit_of(in.live, in.run->rows.begin + row)) continue;
    SearchGoal& goal = *batch.asking[static_cast<std::size_t>(places_[i] >> 32)].goal;
    if (found_keys_[i] <= goal.limit()) goal.take(row, found_keys_[i]);
  }
}

}  // namespace nearfield
