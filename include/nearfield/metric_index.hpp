// Objects under any metric: added, removed, searched by lower bounds of their distances, saved.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/index.hpp>
#include <nearfield/object_metric.hpp>
#include <nearfield/results.hpp>

namespace nearfield {

enum class PivotChoice {
  random,
  max_separation,  // each as far as can be from those before it
  incremental,     // each raises the bounds between some pairs as far as can be
};

// "random", "max_separation" or "incremental"; anything else throws invalid_argument.
PivotChoice parse_pivot_choice(std::string_view name);

struct PivotOptions {
  // How many objects all others know their distances to, at most 256. Empty: 16, or none where the
  // metric has signatures, which mostly drop more, unless something is said of pivots below. Of 0
  // nothing may be.
  std::optional<std::int64_t> pool = {};
  // How many of these distances an object keeps. 0: all (LAESA). Else those to its nearest pivot,
  // its farthest, its second nearest and so on (KVP).
  std::int64_t kept = 0;
  int bits = 8;  // of a distance, 1 to 8; each takes a byte
  PivotChoice choice = PivotChoice::max_separation;
  // Distances that choosing may take, up to 256 that only say how large distances are among them.
  // max_separation of fewer than the square of the pool orders random pivots, as far as these
  // reach; incremental of fewer than four for each pivot is random.
  std::int64_t choice_budget = 100'000;
  // Whether the metric's signatures are used, where it has some.
  bool signatures = true;
};

struct MetricSearchOptions {
  std::int64_t k = 10;
  // Distances that a query may take, those to pivots among them; where that is not more than there
  // are pivots, it looks at none of these. A query that would take more gets the best of those, and
  // the result is not `exact`. Empty: as many as it needs.
  std::optional<std::int64_t> budget = {};
  // Pivots looked at, of those an object keeps. Empty: all. An error where the index was made
  // without any, unless it is 0.
  std::optional<std::int64_t> pivots = {};
};

struct MetricRangeOptions {
  double radius = 0;  // inclusive
  // The result has ids only, in their order: objects that pivots prove to be within need no
  // distance.
  bool ids_only = false;
  std::optional<std::int64_t> budget = {};
  std::optional<std::int64_t> pivots = {};
};

struct MetricPairsOptions {
  // As in PairsOptions: at least one of both.
  std::optional<double> radius = {};
  std::optional<std::int64_t> count = {};
  std::optional<std::int64_t> pivots = {};
};

struct MetricIndexStats {
  std::int64_t size = 0;     // objects that may be found
  std::int64_t removed = 0;  // that still take room, until rebuild
  std::int64_t pivots = 0;
  std::int64_t kept = 0;          // pivots an object keeps
  std::int64_t object_bytes = 0;  // with where each begins
  std::int64_t filter_bytes = 0;  // of pivot distances and signatures
  std::int64_t id_bytes = 0;      // and from ids to objects
  bool signatures = false;
  std::int64_t distances = 0;  // computed by add and rebuild so far
};

// Results are those of brute force: keys are distances, in the order (distance, id). In Stats,
// pairs_verified is how many distances were computed, those to pivots among them.
//
// One writer at a time, which waits for readers; any number of readers, but one at a time where the
// metric may not be called from two threads.
class MetricIndex {
 public:
  explicit MetricIndex(std::shared_ptr<const ObjectMetric> metric, PivotOptions options = {});
  // Of an index that was saved, whose metric has the same name. The file is mapped and must stay as
  // it is. Takes milliseconds for any size: what is in it is checked as it is used. Of a metric of
  // yours three distances are computed, which must be those that were saved: another one of the
  // same name is an error.
  static MetricIndex open(const std::string& path,
                          const std::shared_ptr<const ObjectMetric>& metric,
                          const OpenOptions& options = {});
  MetricIndex(MetricIndex&&) noexcept;
  MetricIndex& operator=(MetricIndex&&) noexcept;
  ~MetricIndex();

  const ObjectMetric& metric() const;
  std::int64_t size() const;
  MetricIndexStats stats() const;

  // Under the next numbers that were never used: the first of them is returned.
  std::int64_t add(std::span<const ObjectView> objects, const Context& context = {});
  // Ids that are there already, or twice among these, are an error, and nothing is added. -1 is
  // none.
  void add(std::span<const ObjectView> objects, std::span<const std::int64_t> ids,
           const Context& context = {});
  // How many were there.
  std::int64_t remove(std::span<const std::int64_t> ids);
  // Frees what was removed, and chooses pivots anew. An index that grows does so by itself at four
  // times as many objects as they were chosen from, up to 65,536.
  void rebuild(const Context& context = {});

  bool contains(std::int64_t id) const;
  std::vector<std::byte> get(std::int64_t id) const;  // an error where there is none
  std::vector<std::int64_t> ids() const;

  Neighbors search(std::span<const ObjectView> queries, const MetricSearchOptions& options = {},
                   const Context& context = {}) const;
  Ranges within(std::span<const ObjectView> queries, const MetricRangeOptions& options,
                const Context& context = {}) const;
  // Of two objects of the index, each pair once, the smaller id first.
  Pairs pairs(const MetricPairsOptions& options, const Context& context = {}) const;
  // Of another object, called by its number among these, and one of the index.
  Pairs pairs(std::span<const ObjectView> others, const MetricPairsOptions& options,
              const Context& context = {}) const;

  // Whole or not at all.
  void save(const std::string& path, const Context& context = {}) const;

 private:
  struct Impl;
  class Asking;
  explicit MetricIndex(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What a file says of itself.
struct MetricFileInfo {
  std::string metric;  // its name
  std::int64_t objects = 0;
  std::int64_t pivots = 0;
  std::int64_t kept = 0;  // pivots an object keeps
  int bits = 8;           // of a kept distance
  bool signatures = false;
  std::int64_t bytes = 0;  // of the file
};

// Reads the header alone, and needs no metric. Empty of the file of another index.
std::optional<MetricFileInfo> metric_file_info(const std::string& path,
                                               const OpenOptions& options = {});

// Reads all of a file: compares the sums, and looks each id and object up.
void verify_metric_index(const std::string& path, const std::shared_ptr<const ObjectMetric>& metric,
                         const OpenOptions& options = {}, const Context& context = {});
// The same under the metric that the file names: an error where object_metric does not know it.
void verify_metric_index(const std::string& path, const OpenOptions& options = {},
                         const Context& context = {});

}  // namespace nearfield
