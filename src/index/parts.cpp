#include "index/parts.hpp"

#include <algorithm>
#include <utility>

#include "core/checked.hpp"

namespace nearfield {
namespace {

// A part in memory that is full grows by a copy up to this many bytes, so that there is one to
// search; larger ones are left, and another begins. At least kLeastBytes are there at first.
constexpr std::int64_t kMostCopiedBytes = std::int64_t{256} << 20;
constexpr std::int64_t kLeastBytes = 64 << 10;

std::size_t words_of_rows(std::int64_t rows) {
  return static_cast<std::size_t>(divide_up(rows, 64));
}

void set_bit(RowBits& words, std::int64_t row) {
  words[static_cast<std::size_t>(row / 64)] |= std::uint64_t{1} << (row % 64);
}

// Copied between two looks at the cancel token.
constexpr std::int64_t kRowsPerCheck = 4096;

}  // namespace

Parts::Parts(std::shared_ptr<Part> part)
    : dtype_(part->rows(0).dtype()), cols_(part->rows(0).cols()) {
  replace_all(std::move(part));
}

std::int64_t Parts::rows_in(std::int64_t bytes) const {
  constexpr std::int64_t kOfAnId = sizeof(std::int64_t) + 2 * sizeof(std::uint32_t);
  return bytes / (row_bytes(dtype_, cols_) + kOfAnId);
}

std::int64_t Parts::removed() const {
  std::int64_t removed = 0;
  for (const Held& held : parts_) removed += held.removed;
  return removed;
}

std::int64_t Parts::bytes() const {
  std::int64_t bytes = 0;
  for (const Held& held : parts_) bytes += held.part->bytes();
  return bytes;
}

std::int64_t Parts::mapped_bytes() const {
  std::int64_t bytes = 0;
  for (const Held& held : parts_) bytes += held.part->mapped() ? held.part->bytes() : 0;
  return bytes;
}

std::int64_t Parts::rows_in_memory() const {
  std::int64_t rows = 0;
  for (const Held& held : parts_) rows += held.part->mapped() ? 0 : held.count;
  return rows;
}

// The last parts first: an id that was added again is there.
std::optional<Place> Parts::find(std::int64_t id) const {
  for (std::size_t i = parts_.size(); i-- > 0;) {
    const auto row = parts_[i].part->find(id);
    if (row && *row < parts_[i].count && parts_[i].lives(*row)) return Place{i, *row};
  }
  return std::nullopt;
}

const std::byte* Parts::row(Place place) const {
  const Held& held = parts_[place.part];
  return held.part->rows(held.count).row(place.row);
}

std::shared_ptr<Part> Parts::copy(std::span<const Held> parts, std::int64_t capacity,
                                  const Monitor& monitor) const {
  if (capacity > kMostPartRows) {
    fail(ErrorCode::unsupported, "a part holds at most {} vectors, and {} are to be in one",
         kMostPartRows, capacity);
  }
  auto copy = std::make_shared<Part>(dtype_, cols_, capacity);
  std::int64_t to = 0;
  for (const Held& held : parts) {
    const MatrixView rows = held.part->rows(held.count);
    const std::span<const std::int64_t> ids = held.part->ids(held.count);
    for (std::int64_t row = 0; row < held.count; ++row) {
      if (row % kRowsPerCheck == 0) monitor.check();
      if (!held.lives(row)) continue;
      copy->put(to, rows.row(row), ids[static_cast<std::size_t>(row)]);
      copy->enter(to++);
    }
  }
  return copy;
}

Appended Parts::append(MatrixView vectors, std::span<const std::int64_t> ids,
                       const Monitor& monitor) const {
  Appended appended;
  const Held* const last =
      parts_.empty() || parts_.back().part->mapped() ? nullptr : &parts_.back();
  const std::int64_t rows = vectors.rows();
  if (rows > kMostPartRows) {
    fail(ErrorCode::invalid_argument, "at most {} vectors are added at a time, got {}",
         kMostPartRows, rows);
  }
  if (last != nullptr && last->count + rows <= last->part->capacity()) {
    appended.part = last->part;
    appended.begin = last->count;
  } else if (last != nullptr && last->part->capacity() <= rows_in(kMostCopiedBytes)) {
    appended.begin = last->count - last->removed;
    appended.replaces_last = true;
    appended.part = copy({last, 1}, std::max(2 * appended.begin, appended.begin + rows), monitor);
  } else {
    const std::int64_t capacity = std::max({rows, rows_in_memory() / 2, rows_in(kLeastBytes) + 1});
    appended.part = std::make_shared<Part>(dtype_, cols_, std::min(capacity, kMostPartRows));
  }
  appended.end = appended.begin + rows;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (i % kRowsPerCheck == 0) monitor.check();
    appended.part->put(appended.begin + i, vectors.row(i), ids[static_cast<std::size_t>(i)]);
  }
  return appended;
}

std::int64_t Parts::publish(const Appended& appended) {
  if (appended.replaces_last) parts_.pop_back();
  if (parts_.empty() || parts_.back().part != appended.part) {
    parts_.push_back({.part = appended.part, .count = appended.begin});
  }
  const std::span<const std::int64_t> ids =
      appended.part->ids(appended.end).subspan(static_cast<std::size_t>(appended.begin));
  std::vector<Place> replaced;
  for (const std::int64_t id : ids) {
    if (const auto old = find(id)) replaced.push_back(*old);
  }
  for (const Place& place : replaced) parts_[place.part].make_live();
  Held& held = parts_.back();
  if (!held.live.empty()) held.live.resize(words_of_rows(appended.end));

  // Nothing throws from here on: all of it is seen, or nothing.
  for (const Place& place : replaced) drop(place);
  for (std::int64_t row = appended.begin; row < appended.end; ++row) {
    appended.part->enter(row);
    if (!held.live.empty()) set_bit(held.live, row);
  }
  held.published.reset();
  held.count = appended.end;
  live_ += std::ssize(ids);
  return std::ssize(replaced);
}

void Parts::Held::make_live() {
  if (live.empty()) live.assign(words_of_rows(count), ~std::uint64_t{0});
}

void Parts::drop(Place place) {
  Held& held = parts_[place.part];
  held.live[static_cast<std::size_t>(place.row / 64)] &= ~(std::uint64_t{1} << (place.row % 64));
  held.published.reset();
  ++held.removed;
  --live_;
}

std::int64_t Parts::remove(std::span<const std::int64_t> ids) {
  std::vector<Place> places;
  for (const std::int64_t id : ids) {
    if (const auto place = find(id)) places.push_back(*place);
  }
  for (const Place& place : places) parts_[place.part].make_live();
  // Nothing throws from here on: all of it is seen, or nothing.
  std::int64_t removed = 0;
  for (const Place& place : places) {
    if (!parts_[place.part].lives(place.row)) continue;  // its id is given twice
    drop(place);
    ++removed;
  }
  return removed;
}

void Parts::replace_all(std::shared_ptr<Part> part) {
  live_ = part->capacity();
  parts_.clear();
  parts_.push_back(
      {.part = std::move(part), .count = live_, .removed = 0, .live = {}, .published = nullptr});
}

std::vector<PartView> Parts::views() {
  std::vector<PartView> views;
  for (Held& held : parts_) {
    if (held.count == held.removed) continue;
    if (held.removed > 0 && held.published == nullptr) {
      held.published = std::make_shared<const RowBits>(held.live);
    }
    views.push_back({held.part, held.count, held.removed > 0 ? held.published : nullptr});
  }
  return views;
}

}  // namespace nearfield
