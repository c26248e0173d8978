// Files read whole, and written. Paths are bytes, as the system has them.
#include <nearfield/files.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "bindings.hpp"
#include "results.hpp"
#include "rows.hpp"

namespace nearfield::python {
namespace {

using Ids = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Distances = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::string text(const nb::bytes& path) { return {path.c_str(), path.size()}; }

nb::dlpack::dtype numpy_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return nb::dtype<double>();
    case DType::f32:
      return nb::dtype<float>();
    case DType::f16:
      return {static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
    case DType::i8:
      return nb::dtype<std::int8_t>();
    case DType::u8:
    case DType::bf16:  // has no file format
    case DType::bits:  // only where a reader is told so
      break;
  }
  return nb::dtype<std::uint8_t>();
}

nb::object read(const nb::bytes& path) {
  const std::string name = text(path);
  Matrix matrix;
  {
    const nb::gil_scoped_release released;
    matrix = read_matrix(name);
  }
  const nb::dlpack::dtype dtype = numpy_type(matrix.dtype());
  const std::size_t shape[] = {static_cast<std::size_t>(matrix.rows()),
                               static_cast<std::size_t>(matrix.cols())};
  auto* kept = new Matrix(std::move(matrix));
  const nb::capsule owner(kept, [](void* memory) noexcept { delete static_cast<Matrix*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy>(kept->row(0), 2, shape, owner, nullptr, dtype));
}

void write(const nb::bytes& path, const Rows& rows) {
  const std::string name = text(path);
  const MatrixView view = rows.source().in_memory().value();
  const nb::gil_scoped_release released;
  write_matrix(name, view);
}

nb::object read_id_table(const nb::bytes& path) {
  const std::string name = text(path);
  IdTable table;
  {
    const nb::gil_scoped_release released;
    table = read_ids(name);
  }
  return take(std::move(table.ids), {table.rows, table.cols});
}

void write_id_table(const nb::bytes& path, const Ids& ids) {
  const std::string name = text(path);
  const nb::gil_scoped_release released;
  write_ids(name, {ids.data(), ids.size()}, static_cast<std::int64_t>(ids.shape(0)),
            static_cast<std::int64_t>(ids.shape(1)));
}

nb::tuple read_both(const nb::bytes& path) {
  const std::string name = text(path);
  Truth truth;
  {
    const nb::gil_scoped_release released;
    truth = read_truth(name);
  }
  const auto shape = {truth.rows, truth.k};
  return nb::make_tuple(take(std::move(truth.ids), shape), take(std::move(truth.distances), shape));
}

void write_both(const nb::bytes& path, const Ids& ids, const Distances& distances) {
  const std::string name = text(path);
  const nb::gil_scoped_release released;
  write_truth(name, {ids.data(), ids.size()}, {distances.data(), distances.size()},
              static_cast<std::int64_t>(ids.shape(0)), static_cast<std::int64_t>(ids.shape(1)));
}

}  // namespace

void bind_files(nb::module_& module) {
  module.def("read", read);
  module.def("write", write);
  module.def("read_ids", read_id_table);
  module.def("write_ids", write_id_table);
  module.def("read_truth", read_both);
  module.def("write_truth", write_both);
}

}  // namespace nearfield::python
