#include "handle.hpp"

namespace nearfield::hdf5 {
namespace {

// HDF5 walks from where it happened to where it was called; the first is the reason.
herr_t take_first(unsigned number, const H5E_error2_t* error, void* text) {
  if (number == 0 && error->desc != nullptr) {
    *static_cast<std::string*>(text) = error->desc;
  }
  return 0;
}

}  // namespace

void fail_hdf5(ErrorCode code, const std::string& path, std::string_view action) {
  std::string reason = "HDF5 gives no reason";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &reason);
  fail(code, "{}: cannot {}: {}", path, action, reason);
}

}  // namespace nearfield::hdf5
