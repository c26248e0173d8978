// Vectors that are kept: added, removed, searched, saved and opened again, under ids of the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/results.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

// What an index is made of. `family` may carry parameters: "flat", "mih", "mih,tables=16",
// "ewh,near=31", "lsh", "coded,codebooks=16" (docs/indexes.md).
struct IndexSpec {
  std::string family = "flat";
  DType dtype = DType::f32;
  std::int64_t cols = 0;
  MetricSpec metric = Metric::sqeuclidean;
  // Each vector has a key beside its id: any bytes, no two the same.
  bool keys = false;
};

// Which ids a search may return. Looks at the caller's memory.
struct IdFilter {
  enum class Kind { all, only, without };
  Kind kind = Kind::all;
  std::span<const std::int64_t> ids;  // any order, repeats allowed; unknown ones are of no use
};

struct SearchOptions {
  std::int64_t k = 10;
  IdFilter filter = {};
};

struct RangeOptions {
  double radius = 0;  // inclusive, in what the metric reports: as in WithinOptions
  IdFilter filter = {};
};

struct IndexStats {
  std::int64_t size = 0;     // vectors that may be found
  std::int64_t removed = 0;  // that still take room, until compact
  // Of these vectors, with a NaN or an infinity: no search returns them.
  std::int64_t not_finite = 0;
  std::int64_t parts = 0;   // pieces of memory or files
  std::int64_t bytes = 0;   // of vectors, ids and what is made of them
  std::int64_t mapped = 0;  // of these, in a file
};

// Vectors of an index, for other uses than its searches: some of it, as it was when it was asked
// for. Bytes that are kept in the layout of the tile kernels alone are not in_memory(): they are
// read.
struct IndexPart {
  std::shared_ptr<const RowSource> rows;
  std::span<const std::int64_t> ids;    // of each row; empty: their numbers
  std::span<const std::uint64_t> live;  // a bit for each row, as RowFilter::bitset; empty: all
  std::shared_ptr<const void> kept;     // keeps what the others look at
};

struct OpenOptions {
  bool read_only = false;                           // what would change the index is an error
  std::int64_t most_bytes = std::int64_t{1} << 62;  // of the file
  std::int64_t most_header_bytes = 1 << 20;
  std::int64_t most_cols = kMaxCols;
};

// One writer at a time, others wait; any number of readers beside it. A search sees the index as it
// was when it began, whole calls of a writer or nothing of them.
class Index {
 public:
  explicit Index(IndexSpec spec);
  // Of an index that was saved. The file is mapped and stays as it is, whatever is added or removed
  // then; it must not become shorter. Takes milliseconds for any size: only the header is checked,
  // the rest as it is used; `verify` reads all of it.
  static Index open(const std::string& path, const OpenOptions& options = {});
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;
  ~Index();

  const IndexSpec& spec() const;
  std::int64_t size() const;
  IndexStats stats() const;

  // Ids that are in the index already, or twice among these, are an error, and nothing is added.
  // Any 64 bits but -1, which stands for "not found".
  void add(MatrixView vectors, std::span<const std::int64_t> ids, const Context& context = {});
  // Under the next numbers that were never used, which are returned: the first of them; the others
  // follow.
  std::int64_t add(MatrixView vectors, const Context& context = {});
  // As add, but replaces what is there under an id. How many it replaced.
  std::int64_t upsert(MatrixView vectors, std::span<const std::int64_t> ids,
                      const Context& context = {});
  // Of an index with keys, one for each vector. Without ids, they get the next numbers that were
  // never used. Returns their ids.
  std::vector<std::int64_t> add(MatrixView vectors, std::span<const std::string_view> keys,
                                std::optional<std::span<const std::int64_t>> ids = {},
                                const Context& context = {});
  // What has the key already is replaced, under its id. How many it replaced. (By ids, what has the
  // id keeps its key, and others are an error.)
  std::int64_t upsert(MatrixView vectors, std::span<const std::string_view> keys,
                      const Context& context = {});

  // How many were there.
  std::int64_t remove(std::span<const std::int64_t> ids);
  std::int64_t remove(std::span<const std::string_view> keys);
  // Makes one part of all, without what was removed.
  void compact(const Context& context = {});

  bool contains(std::int64_t id) const;
  bool contains(std::string_view key) const;
  // Of an index with keys: the id of each, -1 of one that is not there; and the way back, "" for an
  // id that is not there.
  std::vector<std::int64_t> ids_of(std::span<const std::string_view> keys) const;
  std::vector<std::string> keys_of(std::span<const std::int64_t> ids) const;
  // A row for each id, which all must be there.
  Matrix get(std::span<const std::int64_t> ids) const;
  // In the order of their rows.
  std::vector<std::int64_t> ids() const;
  // All vectors, without copying any.
  std::vector<IndexPart> parts() const;

  Neighbors search(MatrixView queries, const SearchOptions& options = {},
                   const Context& context = {}) const;
  Ranges within(MatrixView queries, const RangeOptions& options, const Context& context = {}) const;

  // Whole or not at all: a reader of the file sees the old one or the new one.
  void save(const std::string& path, const Context& context = {}) const;

 private:
  struct Impl;
  explicit Index(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Whether a file begins as one that `open` reads: with the length of a header, and a header's first
// and last characters. What follows may be damaged.
bool begins_as_index(const std::string& path);

// Reads all of an index file: compares the sums, looks each id up, and throws corrupt_file if
// something is not as it was written. One of objects too, where its metric is the library's: else
// there is verify_metric_index.
void verify_index(const std::string& path, const OpenOptions& options = {},
                  const Context& context = {});

}  // namespace nearfield
