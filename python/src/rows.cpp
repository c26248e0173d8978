#include "rows.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/string_view.h>
#include <nearfield/error.hpp>
#include <nearfield/files.hpp>

#include "bindings.hpp"
#include "run.hpp"

namespace nearfield::python {
namespace {

class PlannedRows final : public RowSource {
 public:
  PlannedRows(DType dtype, std::int64_t rows, std::int64_t cols)
      : no_rows_(nullptr, dtype, 0, cols), rows_(rows) {}

  DType dtype() const override { return no_rows_.dtype(); }
  std::int64_t rows() const override { return rows_; }
  std::int64_t cols() const override { return no_rows_.cols(); }
  std::optional<MatrixView> in_memory() const override { return no_rows_; }
  void read(std::int64_t, std::int64_t, Matrix&, std::int64_t) const override {}  // in memory

 private:
  MatrixView no_rows_;
  std::int64_t rows_;
};

// The bits of an array of bfloat16, which numpy has no type for; None for anything else.
// Python has seen that it is in memory of the host, which may be pinned for a device.
nb::object bfloat16_bits(const nb::object& given) {
  using HostArray = nb::ndarray<nb::ro>;
  HostArray array;
  if (!nb::try_cast(given, array) ||
      array.dtype() !=
          nb::dlpack::dtype{static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1}) {
    return nb::none();
  }
  const nb::capsule owner(new HostArray(array),
                          [](void* kept) noexcept { delete static_cast<HostArray*>(kept); });
  std::vector<std::size_t> shape(array.ndim());
  std::vector<std::int64_t> strides(array.ndim());
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    shape[axis] = array.shape(axis);
    strides[axis] = array.stride(axis);
  }
  return nb::cast(nb::ndarray<nb::numpy, const std::uint16_t>(array.data(), array.ndim(),
                                                              shape.data(), owner, strides.data()));
}

// The Python files hand over nothing else; numpy lets an array change its shape after they looked.
MatrixView checked_view(const Array& array, DType dtype, std::int64_t cols) {
  const std::int64_t needed = row_bytes(dtype, cols);
  // Numpy gives an array of one value or none any stride.
  const bool side_by_side =
      array.ndim() == 2 && (array.shape(1) <= 1 || array.size() == 0 || array.stride(1) == 1);
  const std::int64_t present =
      side_by_side ? static_cast<std::int64_t>(array.shape(1) * array.itemsize()) : 0;
  if (!side_by_side || present < needed) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("an array with {} bytes a row, side by side, cannot hold rows of {} "
                            "columns of {}, {} bytes",
                            present, cols, to_string(dtype), needed));
  }
  return {array.data(), dtype, static_cast<std::int64_t>(array.shape(0)), cols, row_stride(array)};
}

}  // namespace

Rows::Rows(Array array, DType dtype, std::int64_t cols)
    : array_(std::move(array)),
      source_(std::make_shared<MatrixRows>(checked_view(array_, dtype, cols))) {}

Rows::Rows(const std::string& path, std::int64_t bits) : source_(open_rows(path, {.bits = bits})) {}

Rows::Rows(DType dtype, std::int64_t rows, std::int64_t cols)
    : source_(std::make_shared<PlannedRows>(dtype, rows, cols)) {}

Rows::Rows(const Rows& origin, PreparedRows prepared)
    : array_(origin.array_),
      origin_(origin.source_),
      source_(std::make_shared<PreparedRows>(std::move(prepared))) {}

Rows* prepare(const Rows& rows, std::string_view metric, const Run& run) {
  const std::optional<MatrixView> view = rows.source().in_memory();
  if (!view) {
    throw Error(ErrorCode::invalid_argument,
                "rows are prepared in memory: read the file with nearfield.read");
  }
  const MetricSpec spec = parse_metric(metric);
  return new Rows(rows, run_call(run, [&](const Context& context) {
                    return PreparedRows(*view, spec, context);
                  }));
}

void bind_rows(nb::module_& module) {
  nb::class_<Rows>(module, "Rows")
      .def("__init__",
           [](Rows* self, Array array, std::string_view dtype, std::int64_t cols) {
             new (self) Rows(std::move(array), parse_dtype(dtype), cols);
           })
      .def_prop_ro("rows", [](const Rows& self) { return self.source().rows(); })
      .def_prop_ro("cols", [](const Rows& self) { return self.source().cols(); })
      .def_prop_ro("dtype", [](const Rows& self) { return to_string(self.source().dtype()); });
  module.def("open_rows", [](const nb::bytes& path, std::int64_t bits) {
    return new Rows(std::string(path.c_str(), path.size()), bits);
  });
  module.def("planned_rows", [](std::string_view dtype, std::int64_t rows, std::int64_t cols) {
    return new Rows(parse_dtype(dtype), rows, cols);
  });
  module.def("bfloat16_bits", bfloat16_bits);
  module.def("prepare", prepare);
  module.def("prepared_nbytes", [](const Rows& rows) {
    return dynamic_cast<const PreparedRows&>(rows.source()).bytes();
  });
}

}  // namespace nearfield::python
