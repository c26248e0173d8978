// Which rows may be returned, and the array that says so.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nearfield/knn.hpp>

namespace nearfield::python {

namespace nb = nanobind;

class Filter {
 public:
  template <class T>
  using List = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

  explicit Filter(List<std::uint64_t> words) : array_(std::move(words)) {}
  explicit Filter(List<std::int64_t> ids) : array_(std::move(ids)) {}

  RowFilter view() const {
    if (const auto* words = std::get_if<List<std::uint64_t>>(&array_)) {
      return RowFilter::bitset({words->data(), words->size()});
    }
    const auto& ids = std::get<List<std::int64_t>>(array_);
    return RowFilter::list({ids.data(), ids.size()});
  }

 private:
  std::variant<List<std::uint64_t>, List<std::int64_t>> array_;
};

}  // namespace nearfield::python
