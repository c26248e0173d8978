// Results as numpy arrays that own the library's memory: nothing is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nearfield/matrix.hpp>
#include <nearfield/results.hpp>
#include <nearfield/stats.hpp>

namespace nearfield::python {

namespace nb = nanobind;

template <class T>
nb::object take(std::vector<T>&& values, std::initializer_list<std::int64_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(
      kept, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
  const std::vector<std::size_t> sizes(shape.begin(), shape.end());
  nb::object array =
      nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), sizes.size(), sizes.data(), owner));
  if constexpr (std::is_same_v<T, std::int64_t>) {
    // Numpy has two types of this size, and the buffer protocol gives the one not called int64.
    return array.attr("view")("int64");
  }
  return array;
}

template <class T>
nb::object take(std::vector<T>&& values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return take(std::move(values), {size});
}

// Rows x columns. bf16 comes as uint16, bits as the uint8 they are packed in.
nb::object take(Matrix&& matrix);

// The fields of nearfield.Plan and nearfield.Stats, by name.
nb::dict to_python(const Plan& plan);
nb::dict to_python(const Stats& stats);

// The fields of the class of the same name in nearfield, in order.
nb::tuple to_python(Neighbors&& found);
nb::tuple to_python(Ranges&& found);
nb::tuple to_python(Pairs&& found);

}  // namespace nearfield::python
