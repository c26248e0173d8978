#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace nearfield {

// Asks for large pages inside of it, where they are whole.
void prefer_large_pages(void* memory, std::size_t bytes);

// Memory that starts on a cache line and is not touched before it is written.
template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::int64_t size)
      : data_(static_cast<T*>(
            ::operator new(static_cast<std::size_t>(size) * sizeof(T), std::align_val_t{64}))) {
    prefer_large_pages(data_.get(), static_cast<std::size_t>(size) * sizeof(T));
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::int64_t i) { return data_.get()[i]; }
  const T& operator[](std::int64_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* data) const { ::operator delete(data, std::align_val_t{64}); }
  };
  std::unique_ptr<T, Free> data_;
};

}  // namespace nearfield
