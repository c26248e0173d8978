// The next neighbours of each query, as they are asked for.
#include <unistd.h>

#include <cstdint>

#include <nearfield/cursor.hpp>
#include <nearfield/error.hpp>

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
    const Step step(process_in_step_);
    return to_python(
        run_call(run, [&](const Context& context) { return cursor_.next(k, context); }));
  }

 private:
  // Begins and ends with the GIL. Who comes second is told so: waiting, it would hear neither
  // Ctrl-C nor its timeout.
  class Step {
   public:
    explicit Step(pid_t& process) : process_(process) {
      if (process_ == ::getpid()) {
        throw Error(ErrorCode::unsupported,
                    "another thread is in a step of this cursor, and steps follow each other: "
                    "hold a lock of yours around next, or make a cursor for each thread");
      }
      if (process_ != 0) {
        // Its thread is not in this process, and has left the cursor as it was at that moment.
        throw Error(ErrorCode::unsupported,
                    "this process was forked while another thread was in a step of this cursor: "
                    "make a new one");
      }
      process_ = ::getpid();
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() { process_ = 0; }

   private:
    pid_t& process_;
  };

  KnnCursor cursor_;
  pid_t process_in_step_ = 0;
};

}  // namespace

void bind_cursor(nb::module_& module) {
  nb::class_<Cursor>(module, "KnnCursor")
      .def(nb::init<const Rows&, const Rows&, const KnnOptions&>(), nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
      .def("next", &Cursor::next);
}

}  // namespace nearfield::python
