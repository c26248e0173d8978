#include "index/parts.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/tasks.hpp"
#include "index/tuning.hpp"

namespace nearfield {
namespace {

void set_bit(RowBits& words, std::int64_t row) {
  words[static_cast<std::size_t>(row / 64)] |= std::uint64_t{1} << (row % 64);
}

// Copied between two looks at the cancel token.
constexpr std::int64_t kRowsPerCheck = 4096;

// What a call takes beside what grows with its rows: a vector that is taken out of tiles has up to
// half of it.
constexpr std::int64_t kCallBytes = 32 << 10;

// Where it is, or in the buffer, if it is in tiles alone.
const std::byte* vector_of(const Part& part, std::int64_t row, Matrix& buffer) {
  if (part.tiles() == nullptr) return part.rows(row + 1).row(row);
  part.read(row, 1, buffer, 0);
  return buffer.row(0);
}

// Its limit is kept by who asks, and progress is of vectors that are added.
Context for_packing(const Context& context) {
  return {.threads = context.threads, .deadline = context.deadline, .cancel = context.cancel};
}

}  // namespace

Parts::Parts(std::shared_ptr<Part> part, SharedFamilyData data, IndexSpec spec,
             std::shared_ptr<const Family> family)
    : Parts(std::move(spec), std::move(family)) {
  const std::int64_t rows = part->capacity();
  replace_all({.part = std::move(part), .end = rows, .family = std::move(data)});
}

std::int64_t Parts::rows_in(std::int64_t bytes) const {
  constexpr std::int64_t kOfAnId = sizeof(std::int64_t) + 2 * sizeof(std::uint32_t);
  const std::int64_t vector = keeps_tiles_alone(spec_) ? RoundedRows::bytes_per_row(spec_.cols)
                                                       : row_bytes(spec_.dtype, spec_.cols);
  return bytes / (vector + kOfAnId);
}

std::int64_t Parts::removed() const {
  std::int64_t removed = 0;
  for (const Held& held : parts_) removed += held.removed;
  return removed;
}

std::int64_t Parts::not_finite() const {
  std::int64_t count = 0;
  for (const Held& held : parts_) {
    for (std::size_t i = 0; i < words_of_rows(held.count); ++i) {
      const std::uint64_t live = held.live.empty() ? ~std::uint64_t{0} : held.live[i];
      count += std::popcount(held.part->not_finite(i, held.count) & live);
    }
  }
  return count;
}

std::int64_t Parts::bytes() const {
  std::int64_t bytes = 0;
  for (const Held& held : parts_) {
    bytes += held.part->bytes();
    if (held.packed != nullptr) bytes += bytes_of(held.packed->rows.tensors());
    if (held.family != nullptr) bytes += held.family->bytes();
  }
  return bytes + family_->shared_bytes();
}

std::int64_t Parts::mapped_bytes() const {
  std::int64_t bytes = 0;
  for (const Held& held : parts_) {
    if (!held.part->mapped()) continue;
    bytes += held.part->bytes() + (held.family != nullptr ? held.family->bytes() : 0);
  }
  return bytes;
}

std::int64_t Parts::rows_in_memory() const {
  std::int64_t rows = 0;
  for (const Held& held : parts_) rows += held.part->mapped() ? 0 : held.count;
  return rows;
}

// The last parts first: an id that was added again is there.
template <class Name>
std::optional<Place> Parts::find_row_of(Name name) const {
  for (std::size_t i = parts_.size(); i-- > 0;) {
    const auto row = parts_[i].part->find(name);
    if (row && *row < parts_[i].count && parts_[i].lives(*row)) return Place{i, *row};
  }
  return std::nullopt;
}

template std::optional<Place> Parts::find_row_of(std::int64_t id) const;
template std::optional<Place> Parts::find_row_of(std::string_view key) const;

std::int64_t Parts::id(Place place) const { return parts_[place.part].part->id(place.row); }

std::shared_ptr<Part> Parts::copy(std::span<const Held> parts, std::int64_t capacity, bool vectors,
                                  const Monitor& monitor) const {
  if (capacity > kMostPartRows) {
    fail(ErrorCode::unsupported, "a part holds at most {} vectors, and {} are to be in one",
         kMostPartRows, capacity);
  }
  auto copy = std::make_shared<Part>(spec_, capacity, vectors);
  std::int64_t to = 0;
  Matrix vector = keeps_tiles_alone(spec_) ? Matrix(spec_.dtype, 1, spec_.cols) : Matrix();
  for (const Held& held : parts) {
    for (std::int64_t row = 0; row < held.count; ++row) {
      if (row % kRowsPerCheck == 0) monitor.check();
      if (!held.lives(row)) continue;
      if (to == capacity) {
        fail(ErrorCode::corrupt_file, "there are more vectors than ids: a file was changed");
      }
      const std::int64_t id = held.part->id(row);
      const std::string_view key = spec_.keys ? held.part->key(row) : std::string_view();
      if (vectors) {
        copy->put(to, vector_of(*held.part, row, vector), id, key);
      } else {
        copy->put_finite(to, held.is_finite(row), id, key);
      }
      copy->enter(to++);
    }
  }
  return copy;
}

Parts::Growth Parts::growth_for(std::int64_t rows, bool untrainable) const {
  const Held* const last =
      parts_.empty() || parts_.back().part->mapped() ? nullptr : &parts_.back();
  Growth growth{Growth::Kind::new_part, 0, 0, nullptr, false};
  const std::int64_t kept = last != nullptr ? last->count - last->removed : 0;
  growth.vectors = untrainable || family_->keeps_vectors(kept + rows);
  // From here on there are none: those that are there go.
  const bool drops = last != nullptr && last->part->has_vectors() && !growth.vectors;
  if (last != nullptr && !drops && last->count + rows <= last->part->capacity()) {
    growth.kind = Growth::Kind::behind_last;
    growth.begin = last->count;
    growth.packed = last->packed;
    growth.family = last->family;
  } else if (last != nullptr &&
             (drops || last->part->capacity() <= rows_in(index_tuning().most_copied_bytes))) {
    growth = {Growth::Kind::copy_of_last,
              kept,
              std::max(2 * kept, kept + rows),
              last->removed == 0 ? last->packed : nullptr,
              false,
              last->removed == 0 ? last->family : nullptr,
              true,
              growth.vectors};
  } else {
    const std::int64_t capacity =
        std::max({rows, rows_in_memory() / 2, rows_in(index_tuning().least_part_bytes) + 1});
    growth.capacity = std::min(capacity, kMostPartRows);
  }
  const std::int64_t packed = growth.packed != nullptr ? growth.packed->rows.count() : 0;
  growth.packs =
      scans_tiles(spec_) && !keeps_tiles_alone(spec_) && should_pack(growth.begin + rows, packed);
  growth.keeps = !keeps_tiles_alone(spec_) && !untrainable;
  return growth;
}

std::int64_t Parts::bytes_to_grow(const Growth& growth, const NewRows& rows, int threads) const {
  std::int64_t bytes = kCallBytes + rows.count() * kLookUpBytes;
  if (growth.capacity > 0) bytes += Part::bytes_for(spec_, growth.capacity, growth.vectors);
  if (growth.kind == Growth::Kind::copy_of_last) bytes += key_bytes({&parts_.back(), 1});
  for (const std::string_view key : rows.keys) bytes += KeyColumn::bytes_of_its_own(key);
  if (growth.packs) bytes += pack_bytes(spec_, growth.begin + rows.count(), threads);
  if (growth.keeps) {
    bytes += family_->bytes_to_keep(growth.begin + rows.count(), growth.family, threads);
  }
  // A row that is replaced is marked in the bits of its part, which grow by a copy.
  return bytes + (rows.replaced.empty() ? 0 : 2 * live_bytes() + rows.count() / 8);
}

void Parts::check_gathering(const Context& context, bool vectors) const {
  if (!context.memory_limit) return;
  const int threads = resolve_threads(context.threads);
  const std::int64_t needed = kCallBytes + Part::bytes_for(spec_, live_, vectors) +
                              key_bytes(parts_) + pack_bytes(spec_, live_, threads) +
                              family_->bytes_to_gather(views_of(parts_), threads);
  if (needed > *context.memory_limit) {
    fail(ErrorCode::memory_limit,
         "compacting {} vectors takes {} bytes but the memory limit is {}: raise it, or save the "
         "index and open it, which is the same",
         live_, needed, *context.memory_limit);
  }
}

// Of copies of them, what they have beside their strings.
std::int64_t Parts::key_bytes(std::span<const Held> parts) const {
  if (!spec_.keys) return 0;
  std::int64_t bytes = 0;
  for (const Held& held : parts) {
    for (std::int64_t row = 0; row < held.count; ++row) {
      if (held.lives(row)) bytes += KeyColumn::bytes_of_its_own(held.part->key(row));
    }
  }
  return bytes;
}

// Of a bit for each row.
std::int64_t Parts::live_bytes() const {
  std::int64_t words = 0;
  for (const Held& held : parts_) words += static_cast<std::int64_t>(words_of_rows(held.count));
  return words * 8;
}

// Within the limit. Where it is too much to pack them, or to make room for more, that is left to
// who adds the next.
Parts::Growth Parts::growth_within(const NewRows& rows, const Context& context,
                                   bool untrainable) const {
  Growth usual = growth_for(rows.count(), untrainable);
  if (!context.memory_limit) return usual;
  Growth unpacked = usual;
  unpacked.packs = false;
  unpacked.keeps = !unpacked.vectors;
  const bool vectors = family_->keeps_vectors(0);
  const Growth least{
      Growth::Kind::new_part, 0, rows.count(), nullptr, false, nullptr, !vectors, vectors};
  std::int64_t needed = 0;
  for (const Growth& growth : {usual, unpacked, least}) {
    needed = bytes_to_grow(growth, rows, resolve_threads(context.threads));
    if (needed <= *context.memory_limit) return growth;
  }
  fail(ErrorCode::memory_limit,
       "adding {} vectors takes {} bytes but the memory limit is {}: raise it, or add fewer at a "
       "time",
       rows.count(), needed, *context.memory_limit);
}

Appended Parts::new_place(const Growth& growth, const NewRows& rows, const Monitor& monitor) const {
  Appended appended{.begin = growth.begin,
                    .end = growth.begin + rows.count(),
                    .packed = growth.packed,
                    .family = growth.family,
                    .replaced = rows.replaced};
  switch (growth.kind) {
    case Growth::Kind::behind_last:
      appended.part = parts_.back().part;
      break;
    case Growth::Kind::copy_of_last:
      appended.part = copy({&parts_.back(), 1}, growth.capacity, growth.vectors, monitor);
      appended.replaces_last = true;
      break;
    case Growth::Kind::new_part:
      appended.part = std::make_shared<Part>(spec_, growth.capacity, growth.vectors);
      break;
  }
  return appended;
}

SharedFamilyData Parts::keep_alone(const Growth& growth, MatrixView vectors,
                                   const Context& context) const {
  std::vector<PartView> before;
  if (growth.kind != Growth::Kind::new_part) before = views_of({&parts_.back(), 1});
  // Those that were removed from the last part stay in it.
  if (growth.kind == Growth::Kind::behind_last) before.front().live = nullptr;
  return family_->keep_alone(before, vectors, for_packing(context));
}

Appended Parts::append(const NewRows& rows, const Context& context) const {
  if (rows.count() > kMostPartRows) {
    fail(ErrorCode::invalid_argument, "at most {} vectors are added at a time, got {}",
         kMostPartRows, rows.count());
  }
  const Monitor monitor(context, rows.count());
  family_->check_rows(rows.vectors, monitor);
  Growth growth = growth_within(rows, context, false);
  SharedFamilyData alone;
  if (!growth.vectors) {
    alone = keep_alone(growth, rows.vectors, context);
    if (alone == nullptr) growth = growth_within(rows, context, true);
  }
  Appended appended = new_place(growth, rows, monitor);
  for (std::int64_t i = 0; i < rows.count(); ++i) {
    if (i % kRowsPerCheck == 0) monitor.check();
    appended.part->put(appended.begin + i, rows.vectors.row(i),
                       rows.ids[static_cast<std::size_t>(i)],
                       spec_.keys ? rows.keys[static_cast<std::size_t>(i)] : std::string_view());
  }
  if (growth.packs) {
    appended.packed = pack(appended.part->rows(appended.end), spec_.metric, for_packing(context));
  }
  if (!growth.vectors) {
    appended.family = std::move(alone);
  } else if (growth.keeps) {
    Context keeping = for_packing(context);
    keeping.device = context.device;
    keeping.device_memory_limit = context.device_memory_limit;
    keeping.stream = context.stream;
    appended.family = family_->keep(appended.part->rows(appended.end), growth.family, keeping);
  }
  return appended;
}

Appended Parts::gathered(const Context& context) const {
  const bool vectors = family_->keeps_vectors(live_);
  check_gathering(context, vectors);
  const Monitor monitor(context, live_);
  const std::vector<PartView> live = views_of(parts_);
  SharedFamilyData alone;
  if (!vectors) {
    alone = family_->keep_alone(live, {}, for_packing(context));
    if (alone == nullptr) check_gathering(context, true);
  }
  Appended all{.part = copy(parts_, live_, alone == nullptr, monitor), .end = live_};
  if (alone != nullptr) {
    all.family = std::move(alone);
  } else if (!keeps_tiles_alone(spec_)) {
    if (scans_tiles(spec_)) {
      all.packed = pack(all.part->rows(live_), spec_.metric, for_packing(context));
    }
    all.family = family_->keep_copied(live, all.part->rows(live_), for_packing(context));
  }
  return all;
}

void Parts::publish(const Appended& appended) {
  if (appended.replaces_last) parts_.pop_back();
  if (parts_.empty() || parts_.back().part != appended.part) {
    parts_.push_back({.part = appended.part, .count = appended.begin});
  }
  std::vector<Place> replaced;
  replaced.reserve(appended.replaced.size());
  for (const std::int64_t id : appended.replaced) replaced.push_back(*find(id));
  for (const Place& place : replaced) parts_[place.part].make_live();
  Held& held = parts_.back();
  if (!held.live.empty()) held.live.resize(words_of_rows(appended.end));

  // Nothing throws from here on: all of it is seen, or nothing.
  for (const Place& place : replaced) {
    if (parts_[place.part].lives(place.row)) drop(place);  // else an id of a file was there twice
  }
  for (std::int64_t row = appended.begin; row < appended.end; ++row) {
    appended.part->enter(row);
    if (!held.live.empty()) set_bit(held.live, row);
  }
  held.published.reset();
  held.count = appended.end;
  held.packed = appended.packed;
  held.family = appended.family;
  live_ += appended.end - appended.begin;
  free_empty_parts();
}

// The last stays if it is in memory: there is room in it.
void Parts::free_empty_parts() {
  if (parts_.empty()) return;
  const Held& newest = parts_.back();
  if (newest.part->mapped() && newest.removed == newest.count) parts_.pop_back();
  if (parts_.empty()) return;
  const auto last = parts_.end() - 1;
  parts_.erase(std::remove_if(parts_.begin(), last,
                              [](const Held& held) { return held.removed == held.count; }),
               last);
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
  free_empty_parts();
  return removed;
}

std::vector<std::shared_ptr<Part>> Parts::replace_all(const Appended& all) {
  std::vector<std::shared_ptr<Part>> old;
  old.reserve(parts_.size());
  for (Held& held : parts_) old.push_back(std::move(held.part));
  live_ = all.end;
  parts_.clear();
  parts_.push_back(
      {.part = all.part, .count = all.end, .packed = all.packed, .family = all.family});
  return old;
}

std::vector<PartView> Parts::views_of(std::span<const Held> parts) const {
  std::vector<PartView> views;
  for (const Held& held : parts) {
    views.push_back({held.part, held.count,
                     held.removed > 0 ? std::make_shared<const RowBits>(held.live) : nullptr,
                     held.packed, held.family});
  }
  return views;
}

std::vector<PartView> Parts::views() {
  std::vector<PartView> views;
  for (Held& held : parts_) {
    if (held.count == held.removed) continue;
    if (held.removed > 0 && held.published == nullptr) {
      held.published = std::make_shared<const RowBits>(held.live);
    }
    views.push_back({held.part, held.count, held.removed > 0 ? held.published : nullptr,
                     held.packed, held.family});
  }
  return views;
}

}  // namespace nearfield
