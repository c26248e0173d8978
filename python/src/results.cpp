#include "results.hpp"

#include <cstddef>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nearfield/isa.hpp>

namespace nearfield::python {
namespace {

nb::dlpack::dtype numpy_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return nb::dtype<double>();
    case DType::f32:
      return nb::dtype<float>();
    case DType::f16:
      return {static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
    case DType::bf16:
      return nb::dtype<std::uint16_t>();
    case DType::i8:
      return nb::dtype<std::int8_t>();
    case DType::u8:
    case DType::bits:
      break;
  }
  return nb::dtype<std::uint8_t>();
}

}  // namespace

nb::object take(Matrix&& matrix) {
  const nb::dlpack::dtype dtype = numpy_type(matrix.dtype());
  const std::int64_t cols =
      matrix.dtype() == DType::bits ? row_bytes(DType::bits, matrix.cols()) : matrix.cols();
  const std::size_t shape[] = {static_cast<std::size_t>(matrix.rows()),
                               static_cast<std::size_t>(cols)};
  auto* kept = new Matrix(std::move(matrix));
  const nb::capsule owner(kept, [](void* memory) noexcept { delete static_cast<Matrix*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy>(kept->row(0), 2, shape, owner, nullptr, dtype));
}

nb::dict to_python(const Plan& plan) {
  nb::dict fields;
  fields["device"] = plan.device;
  fields["isa"] = to_string(plan.isa);
  fields["filter"] = plan.filter;
  fields["kernel"] = plan.kernel;
  fields["selector"] = plan.selector;
  fields["threads"] = plan.threads;
  fields["query_batch"] = plan.query_batch;
  fields["base_chunk"] = plan.base_chunk;
  fields["passes"] = plan.passes;
  fields["query_tile"] = plan.query_tile;
  fields["row_tile"] = plan.row_tile;
  fields["row_parts"] = plan.row_parts;
  fields["pairs"] = plan.pairs;
  fields["result_bytes"] = plan.result_bytes;
  fields["working_bytes"] = plan.working_bytes;
  fields["filter_row_bytes"] = plan.filter_row_bytes;
  fields["expected_recall"] = plan.expected_recall;
  fields["note"] = plan.note;
  fields["text"] = to_string(plan);
  return fields;
}

nb::dict to_python(const Stats& stats) {
  nb::dict fields;
  fields["plan"] = to_python(stats.plan);
  fields["pairs_considered"] = stats.pairs_considered;
  fields["pairs_verified"] = stats.pairs_verified;
  fields["seconds"] = stats.seconds;
  return fields;
}

nb::tuple to_python(Neighbors&& found) {
  const auto shape = {found.queries, found.k};
  return nb::make_tuple(take(std::move(found.ids), shape), take(std::move(found.distances), shape),
                        take(std::move(found.keys), shape), take(std::move(found.counts)),
                        found.exact, to_python(found.stats));
}

nb::tuple to_python(Ranges&& found) {
  return nb::make_tuple(take(std::move(found.offsets)), take(std::move(found.ids)),
                        take(std::move(found.distances)), take(std::move(found.keys)), found.exact,
                        to_python(found.stats));
}

nb::tuple to_python(Pairs&& found) {
  return nb::make_tuple(take(std::move(found.first)), take(std::move(found.second)),
                        take(std::move(found.distances)), take(std::move(found.keys)), found.exact,
                        to_python(found.stats));
}

}  // namespace nearfield::python
