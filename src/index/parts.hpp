// All parts of an index, and what was removed from them: what a writer changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/monitor.hpp"
#include "index/family.hpp"
#include "index/part.hpp"

namespace nearfield {

// Where a vector is.
struct Place {
  std::size_t part;
  std::int64_t row;
};

// Rows that are to be there.
struct NewRows {
  MatrixView vectors;
  std::span<const std::int64_t> ids;
  std::span<const std::string_view> keys;  // of an index that has some
  std::vector<std::int64_t> replaced;      // of the ids, those that are there

  std::int64_t count() const { return vectors.rows(); }
};

// Rows that are written, and seen by nobody yet.
struct Appended {
  std::shared_ptr<Part> part = nullptr;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool replaces_last = false;  // the part before, whose live rows it begins with
  SharedPacked packed = nullptr;
  SharedFamilyData family = nullptr;
  std::vector<std::int64_t> replaced = {};  // ids that lead to other rows until then
};

// What is const may run beside itself and views(); what is not const, alone. The views stay as they
// are, whatever comes later.
class Parts {
 public:
  // Of each row that is added: ids, keys and places while they are looked up.
  static constexpr std::int64_t kLookUpBytes = 64;

  Parts(IndexSpec spec, std::shared_ptr<const Family> family)
      : spec_(std::move(spec)), family_(std::move(family)) {}
  // Of a file, with all its rows, and what the family has of them.
  Parts(std::shared_ptr<Part> part, SharedFamilyData data, IndexSpec spec,
        std::shared_ptr<const Family> family);

  std::int64_t live() const { return live_; }
  std::int64_t removed() const;
  std::int64_t not_finite() const;
  std::int64_t bytes() const;
  std::int64_t mapped_bytes() const;
  std::size_t size() const { return parts_.size(); }
  std::shared_ptr<const Part> part(std::size_t i) const { return parts_[i].part; }

  std::optional<Place> find(std::int64_t id) const { return find_row_of(id); }
  std::optional<Place> find(std::string_view key) const { return find_row_of(key); }
  std::int64_t id(Place place) const;
  std::string_view key(Place place) const { return parts_[place.part].part->key(place.row); }

  // Writes rows behind the last. One writer at a time.
  Appended append(const NewRows& rows, const Context& context) const;
  // From here on they are there, and what their ids led to before is not.
  void publish(const Appended& appended);

  // How many were there.
  std::int64_t remove(std::span<const std::int64_t> ids);

  // All live rows in one part, in their order.
  Appended gathered(const Context& context) const;
  // Returns what was there before, for who would not have it freed while others wait.
  std::vector<std::shared_ptr<Part>> replace_all(const Appended& all);

  std::vector<PartView> views();

 private:
  struct Held {
    std::shared_ptr<Part> part;
    std::int64_t count = 0;
    std::int64_t removed = 0;
    RowBits live = {};                                   // empty: all
    std::shared_ptr<const RowBits> published = nullptr;  // a copy of it, until it changes
    SharedPacked packed = nullptr;
    SharedFamilyData family = nullptr;

    void make_live();
    bool lives(std::int64_t row) const { return live.empty() || bit_of(live, row); }
    bool is_finite(std::int64_t row) const {
      return (part->not_finite(static_cast<std::size_t>(row / 64), count) >> (row % 64) & 1) == 0;
    }
  };

  // Where rows go that are added.
  struct Growth {
    enum class Kind { behind_last, copy_of_last, new_part };
    Kind kind;
    std::int64_t begin;                 // of them, in their part
    std::int64_t capacity;              // of a part that is made
    SharedPacked packed;                // of the rows before them, as far as it is kept
    bool packs;                         // whether they are packed, with those before them
    SharedFamilyData family = nullptr;  // as packed
    bool keeps = true;                  // whether the family looks at them: not at tiles
    bool vectors = true;                // whether their part keeps them
  };

  template <class Name>
  std::optional<Place> find_row_of(Name name) const;
  // Copies the live rows of some parts behind each other, with their vectors or without.
  std::shared_ptr<Part> copy(std::span<const Held> parts, std::int64_t capacity, bool vectors,
                             const Monitor& monitor) const;
  std::int64_t rows_in(std::int64_t bytes) const;
  std::int64_t rows_in_memory() const;
  // Untrainable: the family was asked to keep them without vectors, and cannot.
  Growth growth_for(std::int64_t rows, bool untrainable) const;
  Growth growth_within(const NewRows& rows, const Context& context, bool untrainable) const;
  std::int64_t bytes_to_grow(const Growth& growth, const NewRows& rows, int threads) const;
  void check_gathering(const Context& context, bool vectors) const;
  std::int64_t key_bytes(std::span<const Held> parts) const;
  std::int64_t live_bytes() const;
  // What the family keeps of the part where they go, and of them, if that keeps no vectors.
  SharedFamilyData keep_alone(const Growth& growth, MatrixView vectors,
                              const Context& context) const;
  std::vector<PartView> views_of(std::span<const Held> parts) const;
  Appended new_place(const Growth& growth, const NewRows& rows, const Monitor& monitor) const;
  void drop(Place place);
  void free_empty_parts();

  IndexSpec spec_;
  std::shared_ptr<const Family> family_;
  std::vector<Held> parts_;
  std::int64_t live_ = 0;
};

}  // namespace nearfield
