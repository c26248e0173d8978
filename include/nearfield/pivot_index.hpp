// MetricIndex for a type and a metric of yours.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nearfield/metric_index.hpp>
#include <nearfield/object_metric.hpp>

namespace nearfield {

// Of a metric that the library has compiled (object_metrics.hpp) that, of any other an adapter.
template <class T, MetricOn<T> Metric>
std::shared_ptr<const ObjectMetric> object_metric_of(Metric metric) {
  if constexpr (requires { metric.compiled(); }) {
    return metric.compiled();
  } else {
    return std::make_shared<TypedMetric<T, Metric>>(std::move(metric));
  }
}

// The bytes of some objects, for as long as both live.
template <class T>
class PackedObjects {
 public:
  explicit PackedObjects(std::span<const T> objects) {
    packed_.reserve(objects.size());
    views_.reserve(objects.size());
    for (const T& object : objects) packed_.push_back(ObjectBytes<T>::bytes(object));
    for (const auto& bytes : packed_) views_.emplace_back(bytes);
  }
  PackedObjects(const PackedObjects&) = delete;
  PackedObjects& operator=(const PackedObjects&) = delete;

  std::span<const ObjectView> views() const { return views_; }

 private:
  std::vector<decltype(ObjectBytes<T>::bytes(std::declval<const T&>()))> packed_;
  std::vector<ObjectView> views_;
};

template <class T, MetricOn<T> Metric>
class PivotIndex {
 public:
  explicit PivotIndex(Metric metric = {}, PivotOptions options = {})
      : index_(object_metric_of<T>(std::move(metric)), options) {}
  static PivotIndex open(const std::string& path, Metric metric = {},
                         const OpenOptions& options = {})
    requires(!std::is_pointer_v<T>)
  {
    return PivotIndex(MetricIndex::open(path, object_metric_of<T>(std::move(metric)), options));
  }

  // For all that does not speak of objects: size, remove, stats and so on.
  MetricIndex& index() { return index_; }
  const MetricIndex& index() const { return index_; }

  std::int64_t add(std::span<const T> objects, const Context& context = {}) {
    return index_.add(PackedObjects<T>(objects).views(), context);
  }
  void add(std::span<const T> objects, std::span<const std::int64_t> ids,
           const Context& context = {}) {
    index_.add(PackedObjects<T>(objects).views(), ids, context);
  }
  Neighbors search(std::span<const T> queries, const MetricSearchOptions& options = {},
                   const Context& context = {}) const {
    return index_.search(PackedObjects<T>(queries).views(), options, context);
  }
  Ranges within(std::span<const T> queries, const MetricRangeOptions& options,
                const Context& context = {}) const {
    return index_.within(PackedObjects<T>(queries).views(), options, context);
  }
  Pairs pairs(const MetricPairsOptions& options, const Context& context = {}) const {
    return index_.pairs(options, context);
  }
  Pairs pairs(std::span<const T> others, const MetricPairsOptions& options,
              const Context& context = {}) const {
    return index_.pairs(PackedObjects<T>(others).views(), options, context);
  }
  void save(const std::string& path, const Context& context = {}) const
    requires(!std::is_pointer_v<T>)
  {
    index_.save(path, context);
  }

 private:
  explicit PivotIndex(MetricIndex index) : index_(std::move(index)) {}

  MetricIndex index_;
};

template <class T, MetricOn<T> Metric>
MetricReport check_metric(const Metric& metric, std::span<const T> objects,
                          std::int64_t triples = 10'000, const Context& context = {}) {
  return check_metric(*object_metric_of<T>(metric), PackedObjects<T>(objects).views(), triples,
                      context);
}

}  // namespace nearfield
