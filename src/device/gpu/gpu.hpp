// A device that runs kernels, whoever made it. CUDA and OpenCL implement this in plugins, which see
// nothing else of the library; host code of the stages is written against it once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <nearfield/error.hpp>

namespace nearfield::gpu {

// The device has no memory for what was asked of it; less may fit.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(ErrorCode::memory_limit, message) {}
};

struct Facts {
  std::string name;
  std::string driver;
  std::int64_t memory = 0;          // bytes
  std::int64_t largest_buffer = 0;  // bytes
  std::int64_t block_memory = 0;    // bytes a block may share
  int units = 0;                    // multiprocessors, or what comes closest
  int warp = 0;                     // threads that run together
  bool has_float64 = false;
  bool is_cpu = false;  // OpenCL has such: their times are not those of a GPU
};

// Memory of a device.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::int64_t bytes() const = 0;
};

// Memory of the caller's, which kernels read where it is.
class Memory {
 public:
  virtual ~Memory() = default;
  // Bytes [first, first + bytes). Looks at this, and is not written to.
  virtual std::unique_ptr<Buffer> part(std::int64_t first, std::int64_t bytes) const = 0;
};

// An entry of a module; both were named when they were built (cmake/kernels.cmake).
struct Kernel {
  std::string_view module;
  std::string_view entry;
};

// Blocks.
struct Grid {
  static constexpr std::int64_t kMostY = 65535;  // CUDA's limit, held on every device

  std::int64_t x = 1;
  std::int64_t y = 1;
};

// A number, or a place in a buffer.
class Argument {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  Argument(T value) : bytes_(sizeof(T)) {  // NOLINT(google-explicit-constructor)
    std::memcpy(value_.data(), &value, sizeof(T));
  }
  Argument(const Buffer& buffer) : buffer_(&buffer) {}  // NOLINT(google-explicit-constructor)

  const Buffer* buffer() const { return buffer_; }
  std::span<const std::byte> value() const { return std::span(value_).first(bytes_); }

 private:
  const Buffer* buffer_ = nullptr;
  std::array<std::byte, 8> value_{};
  std::size_t bytes_ = 0;
};

// Rows that are copied; strides are bytes from one to the next, at least those of a row.
struct CopiedRows {
  std::int64_t count;
  std::int64_t bytes;
  std::int64_t from_stride;
  std::int64_t to_stride;

  // One piece of memory on both sides.
  bool are_close() const { return count == 1 || (from_stride == bytes && to_stride == bytes); }
};

// found = left x right, transposed: halves to float32, or bytes to int32. All row-major and close
// to each other; of left and right a row has a multiple of 64 bytes.
struct Product {
  enum class Values : std::uint8_t { f16, i8 };

  Values values;
  const Buffer& left;
  std::int64_t lefts;
  const Buffer& right;
  std::int64_t rights;
  std::int64_t width;  // values of a row
  const Buffer& found;
};

// Work that is done in order. What is queued may run later: memory of the host that is read or
// written must stay until wait() returns. One thread at a time.
class Queue {
 public:
  virtual ~Queue() = default;

  // The buffer from its beginning on.
  virtual void write(Buffer& to, const void* from, const CopiedRows& rows) = 0;
  virtual void read(const Buffer& from, void* to, const CopiedRows& rows) = 0;
  virtual void copy(Buffer& to, const Buffer& from, const CopiedRows& rows) = 0;
  virtual void fill(Buffer& to, std::uint8_t byte) = 0;
  // Of a block of a module's kernels.
  virtual int threads(std::string_view module) const = 0;
  virtual void run(const Kernel& kernel, const Grid& grid, std::span<const Argument> arguments) = 0;
  virtual void wait() = 0;
  // What is queued from here on runs after the work that is now in a stream of the caller's, a
  // cudaStream_t as a number.
  virtual void wait_for(std::uintptr_t stream) = 0;

  // By a library of the device's maker. False where there is none, or it does not take the shape:
  // nothing is queued then.
  virtual bool multiply(const Product& /*product*/) { return false; }

  void write(Buffer& to, const void* from) {
    write(to, from, {1, to.bytes(), to.bytes(), to.bytes()});
  }
  void read(const Buffer& from, void* to) {
    read(from, to, {1, from.bytes(), from.bytes(), from.bytes()});
  }
  void run(const Kernel& kernel, const Grid& grid, std::initializer_list<Argument> arguments) {
    run(kernel, grid, std::span(arguments.begin(), arguments.size()));
  }
};

// Waits for what is queued where a scope ends, also by an error: memory of the host that it reads
// or writes, declared before, is still there.
class WaitAtEnd {
 public:
  explicit WaitAtEnd(Queue& queue) : queue_(queue) {}
  ~WaitAtEnd() {
    try {
      queue_.wait();
    } catch (...) {
      // Nothing runs on a device that fails to say so.
    }
  }
  WaitAtEnd(const WaitAtEnd&) = delete;
  WaitAtEnd& operator=(const WaitAtEnd&) = delete;

 private:
  Queue& queue_;
};

// A module of kernels, and whether any of them has been run.
struct ModuleUse {
  std::string name;
  bool used;
};

// Opened once a process and never closed. Any thread. Holds no memory but the code of its kernels.
class Device {
 public:
  virtual ~Device() = default;

  virtual const Facts& facts() const = 0;
  // Throws OutOfMemory.
  virtual std::unique_ptr<Buffer> allocate(std::int64_t bytes) = 0;
  // Memory of this device that the caller allocated, by its address. Throws invalid_argument for
  // that of another or of the host, unsupported where memory has no address.
  virtual std::unique_ptr<Memory> wrap(std::uintptr_t address, std::int64_t bytes) = 0;
  // Memory of the host, to be read from there. Null where the device does not take it.
  virtual std::unique_ptr<Memory> map(const void* from, std::int64_t bytes) = 0;
  // stream: the caller's, a cudaStream_t as a number; 0: one of its own.
  virtual std::unique_ptr<Queue> make_queue(std::uintptr_t stream) = 0;
  // A module whose kernels call a function that they lack, with that function, in the C of the
  // device's own compiler: what the kernels are asked for by. Throws invalid_argument, which says
  // what the compiler does, and unsupported where there is none.
  virtual std::string link(std::string_view /*module*/, std::string_view /*function*/) {
    throw Error(ErrorCode::unsupported,
                facts().name +
                    " has no compiler for a metric's device_source: leave that out, and "
                    "the CPU computes distances, or take a device of OpenCL");
  }
  // All that the device could load.
  virtual std::vector<ModuleUse> module_uses() const = 0;
};

// All devices of one kind.
class Plugin {
 public:
  virtual ~Plugin() = default;

  // At least one. Throws unsupported, which says what is missing.
  virtual std::vector<Facts> list() const = 0;
  virtual std::unique_ptr<Device> open(int index) const = 0;
};

// What the shared library exports, with the version of Nearfield it was built for: the interface
// above is C++ and fits no other.
struct PluginEntry {
  const char* version;
  const Plugin& (*plugin)();
};
inline constexpr const char* kPluginSymbol = "nearfield_device_plugin";

}  // namespace nearfield::gpu
