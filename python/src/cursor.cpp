// The next neighbours of each query, as they are asked for.
#include <cstdint>
#include <mutex>

#include <nearfield/cursor.hpp>

#include "bindings.hpp"
#include "results.hpp"
#include "rows.hpp"
#include "run.hpp"

namespace nearfield::python {
namespace {

class Cursor {
 public:
  Cursor(const Rows& queries, const Rows& base, const KnnOptions& options)
      : cursor_(queries.source(), base.source(), options) {}

  nb::tuple next(std::int64_t k, const Run& run) {
    return to_python(run_search(run, [&](const Context& context) {
      // Two Python threads may ask at once. Here, where no thread waits with the GIL.
      const std::scoped_lock lock(mutex_);
      return cursor_.next(k, context);
    }));
  }

 private:
  KnnCursor cursor_;
  std::mutex mutex_;
};

}  // namespace

void bind_cursor(nb::module_& module) {
  nb::class_<Cursor>(module, "KnnCursor")
      .def(nb::init<const Rows&, const Rows&, const KnnOptions&>(), nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
      .def("next", &Cursor::next);
}

}  // namespace nearfield::python
