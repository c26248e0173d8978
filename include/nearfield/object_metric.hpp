// Distances between objects of any kind: what an index of them asks, and how a type and a function
// of yours become that.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/isa.hpp>

namespace nearfield {

// An object as an index keeps it.
using ObjectView = std::span<const std::byte>;

// Lower bounds that a metric has of its own, from a few bytes that an index keeps of each object.
class ObjectSignatures {
 public:
  virtual ~ObjectSignatures() = default;

  virtual std::int64_t bytes() const = 0;  // of one
  virtual void make(ObjectView object, std::byte* out) const = 0;

  // Raises levels[i] to the lower bound of the distance to the object of the i-th of `count`
  // signatures, in units, rounded down, at most 255. A unit is 1 where distances are whole numbers.
  virtual void raise_levels(const std::byte* query, const std::byte* signatures, std::int64_t count,
                            double unit, Isa isa, std::uint8_t* levels) const = 0;

  // What ObjectMetric::signatures makes the same of.
  virtual std::vector<std::byte> state() const { return {}; }
};

// A metric: 0 of an object and itself, never negative, the same both ways, and no way is longer
// than one by a third object. check_metric looks for what breaks that; a search relies on it.
class ObjectMetric {
 public:
  virtual ~ObjectMetric() = default;

  // Written into files, and compared when one is opened.
  virtual std::string name() const = 0;

  // out[i] is the distance to to[i], or if that is above the limit, any value above it. The same on
  // every ISA.
  virtual void distances(ObjectView from, std::span<const ObjectView> to, double limit, Isa isa,
                         std::span<double> out) const = 0;

  // Whole numbers need no rounding of bounds.
  virtual bool whole_numbers() const { return false; }

  // The part of itself by which rounding may make a distance larger or smaller, 0 or more, and
  // finite. The three sides of a triangle may break the inequality by this part of their sum, and
  // bounds are widened by that. Whole numbers have none.
  virtual double slack() const { return whole_numbers() ? 0 : 0x1p-40; }

  // False: an index does not call it from two threads at once, also where several search. Another
  // index of the same metric does not know of it.
  virtual bool any_thread() const { return true; }

  // Objects begin at a multiple of this.
  virtual std::int64_t alignment() const { return 1; }

  // Whether these bytes can be an object: asked of what comes from a file.
  virtual bool valid(ObjectView /*object*/) const { return true; }

  // The same for devices, in OpenCL C; empty: distances stay on the CPU. It has the function
  //   double nearfield_distance(__global const uchar* a, uint a_bytes,
  //                             __global const uchar* b, uint b_bytes)
  // of two objects as bytes, which says the same bits as `distances` for any two: some are
  // compared, and one that differs is an error. A pair of which it says -1 is the CPU's. For
  // any_thread only.
  virtual std::string device_source() const { return {}; }

  // Null where it has none. Of some objects of an index, or of the state of others.
  virtual std::shared_ptr<const ObjectSignatures> fit_signatures(
      std::span<const ObjectView> /*sample*/) const {
    return nullptr;
  }
  virtual std::shared_ptr<const ObjectSignatures> signatures(
      std::span<const std::byte> /*state*/) const {
    return nullptr;
  }
};

// How a type becomes bytes, and what a metric is given of them. As it stands: for what may be
// copied byte by byte, pointers among them. Specialise it for other types: `bytes` may also return
// a std::vector<std::byte>, and `view` an object that is made anew. `valid`, which may be left out,
// says what of a file `view` can take.
template <class T>
struct ObjectBytes {
  static_assert(std::is_trivially_copyable_v<T>,
                "specialise nearfield::ObjectBytes for this type: how it becomes bytes");
  static constexpr std::int64_t alignment = alignof(T);
  static ObjectView bytes(const T& object) { return std::as_bytes(std::span(&object, 1)); }
  static const T& view(ObjectView bytes) { return *reinterpret_cast<const T*>(bytes.data()); }
  static bool valid(ObjectView bytes) { return bytes.size() == sizeof(T); }
};

template <>
struct ObjectBytes<std::string> {
  static constexpr std::int64_t alignment = 1;
  static ObjectView bytes(std::string_view object) { return std::as_bytes(std::span(object)); }
  static std::string_view view(ObjectView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

template <class Value>
struct ObjectBytes<std::vector<Value>> {
  static_assert(std::is_trivially_copyable_v<Value>);
  static constexpr std::int64_t alignment = alignof(Value);
  static ObjectView bytes(std::span<const Value> object) { return std::as_bytes(object); }
  static std::span<const Value> view(ObjectView bytes) {
    return {reinterpret_cast<const Value*>(bytes.data()), bytes.size() / sizeof(Value)};
  }
  static bool valid(ObjectView bytes) { return bytes.size() % sizeof(Value) == 0; }
};

template <class T>
using ObjectViewOf = decltype(ObjectBytes<T>::view(ObjectView()));

// Called with two views: of std::string two std::string_view, of std::vector two std::span. It may
// also have, as static members or not:
//   name           for files, with all that the distance depends on, as "lp:3": without one a file
//                  is opened under any other without, if that says the same of its first objects
//   slack          as that of ObjectMetric, where 2^-40 is too little: 1e-5 of sums in float
//   whole_numbers  true
//   within(a, b, limit)      the distance, or if that is above the limit, any value above it
//   signature(a), bound(signature, signature)   a std::array of bytes, and a lower bound by two:
//                  one that is negative or NaN says nothing
//   device_source  as that of ObjectMetric: the same for devices
template <class Metric, class T>
concept MetricOn = requires(const Metric& metric, ObjectViewOf<T> a, ObjectViewOf<T> b) {
  { metric(a, b) } -> std::convertible_to<double>;
};

// The signatures of a metric that has some. A bound is lower by `slack`: rounding may have made the
// distance so much smaller.
template <class T, class Metric>
class TypedSignatures final : public ObjectSignatures {
 public:
  using Signature =
      decltype(std::declval<const Metric&>().signature(std::declval<ObjectViewOf<T>>()));

  TypedSignatures(Metric metric, double slack) : metric_(std::move(metric)), sure_(1 - slack) {}

  std::int64_t bytes() const override { return sizeof(Signature); }
  void make(ObjectView object, std::byte* out) const override {
    const Signature signature = metric_.signature(ObjectBytes<T>::view(object));
    const auto bytes = std::as_bytes(std::span(signature));
    std::copy(bytes.begin(), bytes.end(), out);
  }
  void raise_levels(const std::byte* query, const std::byte* signatures, std::int64_t count,
                    double unit, Isa /*isa*/, std::uint8_t* levels) const override {
    const Signature from = read(query);
    for (std::int64_t i = 0; i < count; ++i) {
      const double bound = metric_.bound(from, read(signatures + i * bytes())) * sure_ / unit;
      const auto level = static_cast<std::uint8_t>(bound > 0 ? std::min(bound, 255.0) : 0);
      levels[i] = std::max(levels[i], level);
    }
  }

 private:
  static Signature read(const std::byte* bytes) {
    Signature signature;
    std::copy_n(bytes, sizeof signature, std::as_writable_bytes(std::span(signature)).begin());
    return signature;
  }

  Metric metric_;
  double sure_;  // of a bound, the part that rounding leaves
};

template <class T, MetricOn<T> Metric>
class TypedMetric final : public ObjectMetric {
 public:
  explicit TypedMetric(Metric metric) : metric_(std::move(metric)) {}

  std::string name() const override {
    if constexpr (requires { metric_.name; }) {
      return std::string(metric_.name);
    } else {
      return "of the caller";
    }
  }
  void distances(ObjectView from, std::span<const ObjectView> to, double limit, Isa /*isa*/,
                 std::span<double> out) const override {
    decltype(auto) a = ObjectBytes<T>::view(from);
    for (std::size_t i = 0; i < to.size(); ++i) {
      decltype(auto) b = ObjectBytes<T>::view(to[i]);
      if constexpr (requires { metric_.within(a, b, limit); }) {
        out[i] = metric_.within(a, b, limit);
      } else {
        out[i] = metric_(a, b);
      }
    }
  }
  bool whole_numbers() const override {
    if constexpr (requires { metric_.whole_numbers; }) {
      return metric_.whole_numbers;
    } else {
      return false;
    }
  }
  double slack() const override {
    if constexpr (requires { metric_.slack; }) {
      return metric_.slack;
    } else {
      return ObjectMetric::slack();
    }
  }
  std::int64_t alignment() const override { return ObjectBytes<T>::alignment; }
  bool valid(ObjectView object) const override {
    if constexpr (requires { ObjectBytes<T>::valid(object); }) {
      return ObjectBytes<T>::valid(object);
    } else {
      return true;
    }
  }
  std::string device_source() const override {
    if constexpr (requires { metric_.device_source; }) {
      return std::string(metric_.device_source);
    } else {
      return {};
    }
  }
  std::shared_ptr<const ObjectSignatures> fit_signatures(
      std::span<const ObjectView> /*sample*/) const override {
    return signatures({});
  }
  std::shared_ptr<const ObjectSignatures> signatures(
      std::span<const std::byte> /*state*/) const override {
    if constexpr (requires(ObjectViewOf<T> a) { metric_.signature(a); }) {
      return std::make_shared<TypedSignatures<T, Metric>>(metric_, whole_numbers() ? 0 : slack());
    } else {
      return nullptr;
    }
  }

 private:
  Metric metric_;
};

// What check_metric found in the triples of objects it looked at, and where it was worst: of the
// objects their numbers.
struct MetricReport {
  struct Violation {
    double by = 0;  // 0: none was found
    std::array<std::int64_t, 3> objects{-1, -1, -1};
  };
  std::int64_t triples = 0;
  std::int64_t distances = 0;
  Violation not_a_distance;  // NaN, infinite or negative: by is infinite, or how negative
  Violation identity;        // the distance from an object to itself
  Violation symmetry;        // |d(a, b) - d(b, a)|, beyond what slack allows
  Violation triangle;        // d(a, c) - d(a, b) - d(b, c), likewise
  // Of what the metric says of itself:
  Violation whole_numbers;  // what a distance is above a whole number, where all are to be whole
  Violation bound;          // by so much or more the bound by signatures is above the distance
  Violation limit;          // how far a distance asked for with a limit is from what it may be

  bool holds() const;
};

// "a metric on 1,000 triples", or what is wrong, with numbers and what to do.
std::string to_string(const MetricReport& report);

// Takes triples of the objects at random. That nothing is found proves nothing. On one thread, with
// no more memory for more triples, and not on devices.
MetricReport check_metric(const ObjectMetric& metric, std::span<const ObjectView> objects,
                          std::int64_t triples = 10'000, const Context& context = {});

}  // namespace nearfield
