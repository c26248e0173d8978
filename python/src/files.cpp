// Files read whole, and written. Paths are bytes, as the system has them.
#include <nearfield/files.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nearfield/error.hpp>

#include "bindings.hpp"
#include "results.hpp"
#include "rows.hpp"
#include "run.hpp"

namespace nearfield::python {
namespace {

using Ids = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Distances = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Files know the cancel token alone: the deadline is kept here.
template <class Call>
auto run_file_call(const Run& run, const Call& call) {
  bool late = false;
  try {
    return run_call(
        run, [&](const Context& context) { return call(context.cancel); },
        [&](const Context& context) {
          if (context.deadline && std::chrono::steady_clock::now() >= *context.deadline) {
            late = true;
            context.cancel.cancel();
          }
        });
  } catch (const Error& error) {
    if (!late || error.code() != ErrorCode::cancelled) throw;
    throw Error(ErrorCode::deadline_exceeded, fmt::format("the deadline passed: {}", error.what()));
  }
}

struct Written {};

nb::object read(const nb::bytes& path, const Run& run) {
  const std::string name = text(path);
  Matrix matrix =
      run_file_call(run, [&](const CancelToken& cancel) { return read_matrix(name, {}, cancel); });
  return take(std::move(matrix));
}

void write(const nb::bytes& path, const Rows& rows, const Run& run) {
  const std::string name = text(path);
  const MatrixView view = rows.source().in_memory().value();
  run_file_call(run, [&](const CancelToken& cancel) {
    write_matrix(name, view, cancel);
    return Written();
  });
}

nb::object read_id_table(const nb::bytes& path, const Run& run) {
  const std::string name = text(path);
  IdTable table =
      run_file_call(run, [&](const CancelToken& cancel) { return read_ids(name, cancel); });
  return take(std::move(table.ids), {table.rows, table.cols});
}

void write_id_table(const nb::bytes& path, const Ids& ids, const Run& run) {
  const std::string name = text(path);
  run_file_call(run, [&](const CancelToken& cancel) {
    write_ids(name, {ids.data(), ids.size()}, static_cast<std::int64_t>(ids.shape(0)),
              static_cast<std::int64_t>(ids.shape(1)), cancel);
    return Written();
  });
}

nb::tuple read_both(const nb::bytes& path, const Run& run) {
  const std::string name = text(path);
  Truth truth =
      run_file_call(run, [&](const CancelToken& cancel) { return read_truth(name, cancel); });
  const auto shape = {truth.rows, truth.k};
  return nb::make_tuple(take(std::move(truth.ids), shape), take(std::move(truth.distances), shape));
}

void write_both(const nb::bytes& path, const Ids& ids, const Distances& distances, const Run& run) {
  const std::string name = text(path);
  run_file_call(run, [&](const CancelToken& cancel) {
    write_truth(name, {ids.data(), ids.size()}, {distances.data(), distances.size()},
                static_cast<std::int64_t>(ids.shape(0)), static_cast<std::int64_t>(ids.shape(1)),
                cancel);
    return Written();
  });
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
