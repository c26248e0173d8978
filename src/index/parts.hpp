// All parts of an index, and what was removed from them: what a writer changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/monitor.hpp"
#include "index/part.hpp"

namespace nearfield {

// Where a vector is.
struct Place {
  std::size_t part;
  std::int64_t row;
};

// Rows that are written, and seen by nobody yet.
struct Appended {
  std::shared_ptr<Part> part;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool replaces_last = false;  // the part before, whose live rows it begins with
};

// What is const may run beside itself and views(); what is not const, alone. The views stay as they
// are, whatever comes later.
class Parts {
 public:
  Parts(DType dtype, std::int64_t cols) : dtype_(dtype), cols_(cols) {}
  // Of a file, with all its rows.
  explicit Parts(std::shared_ptr<Part> part);

  std::int64_t live() const { return live_; }
  std::int64_t removed() const;
  std::int64_t bytes() const;
  std::int64_t mapped_bytes() const;
  std::size_t size() const { return parts_.size(); }
  std::shared_ptr<const Part> part(std::size_t i) const { return parts_[i].part; }

  std::optional<Place> find(std::int64_t id) const;
  const std::byte* row(Place place) const;

  // Writes rows behind the last. One writer at a time.
  Appended append(MatrixView vectors, std::span<const std::int64_t> ids,
                  const Monitor& monitor) const;
  // From here on they are there, and what their ids led to before is not. How many that was.
  std::int64_t publish(const Appended& appended);

  // How many were there.
  std::int64_t remove(std::span<const std::int64_t> ids);

  // All live rows in one part, in their order.
  std::shared_ptr<Part> gathered(const Monitor& monitor) const {
    return copy(parts_, live_, monitor);
  }
  void replace_all(std::shared_ptr<Part> part);

  std::vector<PartView> views();

 private:
  struct Held {
    std::shared_ptr<Part> part;
    std::int64_t count = 0;
    std::int64_t removed = 0;
    RowBits live = {};                                   // empty: all
    std::shared_ptr<const RowBits> published = nullptr;  // a copy of it, until it changes

    void make_live();
    bool lives(std::int64_t row) const { return live.empty() || bit_of(live, row); }
  };

  // Copies the live rows of some parts behind each other.
  std::shared_ptr<Part> copy(std::span<const Held> parts, std::int64_t capacity,
                             const Monitor& monitor) const;
  std::int64_t rows_in(std::int64_t bytes) const;
  std::int64_t rows_in_memory() const;
  void drop(Place place);

  DType dtype_;
  std::int64_t cols_;
  std::vector<Held> parts_;
  std::int64_t live_ = 0;
};

}  // namespace nearfield
