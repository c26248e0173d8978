// HDF5's handles, closed when they go out of scope, and its errors as ours.
#pragma once

#include <hdf5.h>

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nearfield/error.hpp>

namespace nearfield::hdf5 {

class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() { close(); }

  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }

  // False if what was written could not be brought to the file.
  bool close() { return !valid() || close_(std::exchange(id_, H5I_INVALID_HID)) >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// Throws "PATH: cannot ACTION: what HDF5 says about it".
[[noreturn]] void fail_hdf5(ErrorCode code, const std::string& path, std::string_view action);

}  // namespace nearfield::hdf5
