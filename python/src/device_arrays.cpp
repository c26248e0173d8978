// Arrays in the memory of a device, as other libraries hand them over.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <nearfield/device_array.hpp>

#include "bindings.hpp"

namespace nearfield::python {
namespace {

// Of any device. It has the tensor until it is destroyed, as DLPack wants it.
using Tensor = nb::ndarray<nb::ro>;

struct DLPackTensor {
  Tensor tensor;
};

// As numpy names it; numpy has no bfloat16.
std::string dtype_name(nb::dlpack::dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(dtype.code);
  const int bits = dtype.bits;
  if (dtype.lanes == 1) {
    if (code == Code::Float) return fmt::format("float{}", bits);
    if (code == Code::Bfloat) return fmt::format("bfloat{}", bits);
    if (code == Code::Int) return fmt::format("int{}", bits);
    if (code == Code::UInt) return fmt::format("uint{}", bits);
  }
  return fmt::format("{} of DLPack, {} times {} bits", static_cast<int>(dtype.code),
                     static_cast<int>(dtype.lanes), bits);
}

std::vector<std::int64_t> shape_of(const Tensor& tensor) {
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < tensor.ndim(); ++i) {
    shape.push_back(static_cast<std::int64_t>(tensor.shape(i)));
  }
  return shape;
}

// In bytes.
std::vector<std::int64_t> strides_of(const Tensor& tensor) {
  std::vector<std::int64_t> strides;
  for (std::size_t i = 0; i < tensor.ndim(); ++i) {
    strides.push_back(tensor.stride(i) * static_cast<std::int64_t>(tensor.itemsize()));
  }
  return strides;
}

}  // namespace

void bind_device_arrays(nb::module_& module) {
  nb::class_<DeviceArray>(module, "DeviceArray")
      .def("__init__",
           [](DeviceArray* self, std::uintptr_t address, std::string_view dtype, std::int64_t rows,
              std::int64_t cols, std::int64_t stride, std::uintptr_t stream) {
             new (self) DeviceArray{address, parse_dtype(dtype), rows, cols, stride, stream};
           });
  nb::class_<DLPackTensor>(module, "DLPackTensor")
      .def("__init__",
           [](DLPackTensor* self, Tensor tensor) { new (self) DLPackTensor{std::move(tensor)}; })
      .def_prop_ro("address",
                   [](const DLPackTensor& self) {
                     return reinterpret_cast<std::uintptr_t>(self.tensor.data());
                   })
      .def_prop_ro("dtype",
                   [](const DLPackTensor& self) { return dtype_name(self.tensor.dtype()); })
      .def_prop_ro("itemsize", [](const DLPackTensor& self) { return self.tensor.itemsize(); })
      .def_prop_ro("shape", [](const DLPackTensor& self) { return shape_of(self.tensor); })
      .def_prop_ro("strides", [](const DLPackTensor& self) { return strides_of(self.tensor); });
}

}  // namespace nearfield::python
