// nearfield::Error as the Python exception of its code.
#include <exception>
#include <string_view>

#include <nearfield/error.hpp>

#include "bindings.hpp"

namespace nearfield::python {
namespace {

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const nb::object types = nb::module_::import_("nearfield._errors").attr("BY_CODE");
    const std::string_view code = to_string(error.code());
    const nb::object type = types[nb::str(code.data(), code.size())];
    // A message may name a file, whose name may be any bytes.
    const std::string_view text = error.what();
    const nb::object message = nb::steal(PyUnicode_DecodeUTF8(
        text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
    PyErr_SetObject(type.ptr(), message.ptr());
  }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace nearfield::python
