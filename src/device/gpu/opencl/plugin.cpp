// Devices of OpenCL 3 that take SPIR-V and have sub-groups, which are the warps of the kernels.
#define CL_HPP_TARGET_OPENCL_VERSION 300
#define CL_HPP_MINIMUM_OPENCL_VERSION 300
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "device/gpu/gpu.hpp"
#include "device/gpu/modules.hpp"
#include "device/gpu/opencl/compiled_programs.hpp"

namespace nearfield::gpu {
namespace {

// An error of OpenCL is one of ours, with its number and what was asked.
template <class Run>
auto with_errors(const std::string& what, const Run& run) {
  try {
    return run();
  } catch (const cl::Error& error) {
    const std::string message =
        fmt::format("OpenCL refused {}: {} says {}", what, error.what(), error.err());
    switch (error.err()) {
      case CL_MEM_OBJECT_ALLOCATION_FAILURE:
      case CL_OUT_OF_RESOURCES:
      case CL_OUT_OF_HOST_MEMORY:
      case CL_INVALID_BUFFER_SIZE:
        throw OutOfMemory(message);
      default:
        throw Error(ErrorCode::unsupported, message);
    }
  }
}

class OpenClBuffer final : public Buffer {
 public:
  OpenClBuffer(cl::Buffer memory, std::int64_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}

  std::int64_t bytes() const override { return bytes_; }
  const cl::Buffer& memory() const { return memory_; }

 private:
  cl::Buffer memory_;
  std::int64_t bytes_;
};

// Of the host. A part is an object of its own, for it may begin at any byte, and parts of objects
// may not.
class HostMemory final : public Memory {
 public:
  HostMemory(cl::Context context, const void* from)
      : context_(std::move(context)), from_(static_cast<const std::byte*>(from)) {}

  std::unique_ptr<Buffer> part(std::int64_t first, std::int64_t bytes) const override {
    return with_errors(fmt::format("to map {} bytes of the host", bytes), [&] {
      // Not written to, by its flags.
      void* const begin = const_cast<std::byte*>(from_ + first);
      cl::Buffer memory(context_, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR,
                        static_cast<std::size_t>(bytes), begin);
      return std::make_unique<OpenClBuffer>(std::move(memory), bytes);
    });
  }

 private:
  cl::Context context_;
  const std::byte* from_;
};

const cl::Buffer& memory_of(const Buffer& buffer) {
  return static_cast<const OpenClBuffer&>(buffer).memory();
}

// Of two virtual machines whose CPUs have one name, one may lack what the other has.
std::string instructions_of_cpu() {
  std::ifstream cpus("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpus, line)) {
    if (line.starts_with("flags") || line.starts_with("Features")) break;
  }
  return line;
}

// Kernels by name, each module compiled by the driver when the first of its kernels is asked for,
// or as an earlier process had it compiled.
class Kernels {
 public:
  Kernels(cl::Context context, const cl::Device& device, const Facts& facts)
      : context_(std::move(context)), device_(device), facts_(facts), warp_(facts.warp) {}

  // With a function of a caller's or without.
  bool has(std::string_view module) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(programs_.begin(), programs_.end(),
                       [&](const auto& one) { return module_of(one.first) == module; });
  }

  std::vector<ModuleUse> uses() const {
    std::vector<ModuleUse> all;
    for (const Module& module : modules()) {
      if (module.warp == warp_) all.push_back({std::string(module.name), has(module.name)});
    }
    return all;
  }

  int threads(std::string_view name) const { return find_module(module_of(name), warp_).threads; }

  // One of the caller's own: arguments are a kernel's state.
  cl::Kernel make(const Kernel& kernel) {
    const std::lock_guard lock(mutex_);
    auto found = programs_.find(kernel.module);
    if (found == programs_.end()) {
      found = programs_.emplace(kernel.module, build(kernel.module)).first;
    }
    return {found->second, std::string(kernel.entry).c_str()};
  }

  // "module:3", of the third function.
  std::string link(std::string_view module, std::string_view function) {
    const std::lock_guard lock(mutex_);
    const std::pair key{std::string(module), std::string(function)};
    const auto known = linked_.find(key);
    if (known != linked_.end()) return known->second;
    const std::string name = fmt::format("{}:{}", module, linked_.size() + 1);
    programs_.emplace(name, build(module, function));
    linked_.emplace(key, name);
    return name;
  }

 private:
  static std::string_view module_of(std::string_view name) {
    return name.substr(0, name.find(':'));
  }

  cl::Program build(std::string_view name, std::string_view function = {}) const {
    const Module& module = find_module(name, warp_);
    const std::string kept_name = fmt::format("{}_{}", name, warp_);
    const std::string source = source_of(module) + std::string(function);
    if (const auto compiled = compiled_.find(kept_name, source)) {
      if (auto program = load(*compiled)) return *program;
    }
    const std::vector<char> code(module.code.begin(), module.code.end());
    cl::Program program(context_, code);
    try {
      if (function.empty()) {
        program.build();
      } else {
        program.compile();
        program = linked(program, compiled_function(function));
      }
    } catch (const cl::BuildError& error) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("OpenCL cannot compile the kernels of {}: {}", name, log_of(error)));
    }
    keep(kept_name, source, program);
    return program;
  }

  static std::string log_of(const cl::BuildError& error) {
    std::string log;
    for (const auto& [device, text] : error.getBuildLog()) log += text;
    return log;
  }

  // With contraction off, as kernels have it, and with float32 as a CPU divides it.
  cl::Program compiled_function(std::string_view function) const {
    const bool rounds =
        (device_.getInfo<CL_DEVICE_SINGLE_FP_CONFIG>() & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    cl::Program program(context_,
                        fmt::format("#pragma OPENCL FP_CONTRACT OFF\n#line 1\n{}", function));
    try {
      program.compile(rounds ? "-cl-fp32-correctly-rounded-divide-sqrt" : "");
    } catch (const cl::BuildError& error) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} cannot compile a metric's device_source: {}", facts_.name,
                              log_of(error)));
    }
    return program;
  }

  cl::Program linked(const cl::Program& kernels, const cl::Program& function) const {
    const std::array<cl_program, 2> both{kernels(), function()};
    cl_int error = CL_SUCCESS;
    const cl::Program program(::clLinkProgram(context_(), 0, nullptr, "", both.size(), both.data(),
                                              nullptr, nullptr, &error));
    if (error == CL_SUCCESS) return program;
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "{} cannot link a metric's device_source ({}): does it have the "
            "function double nearfield_distance(__global const uchar*, uint, "
            "__global const uchar*, uint)? {}",
            facts_.name, error,
            program() == nullptr ? "" : program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_)));
  }

  // A driver need not give away what it made.
  void keep(const std::string& name, const std::string& source, const cl::Program& program) const {
    std::vector<CompiledProgram> made;
    try {
      made = program.getInfo<CL_PROGRAM_BINARIES>();
    } catch (const cl::Error&) {
      return;
    }
    if (!made.empty()) compiled_.keep(name, source, made.front());
  }

  // What the compiled module depends on, but for settings of a driver's own in the environment.
  std::string source_of(const Module& module) const {
    const cl::Platform platform(device_.getInfo<CL_DEVICE_PLATFORM>());
    return fmt::format("{}\n{}\n{}\n{}\n{}", platform.getInfo<CL_PLATFORM_VERSION>(), facts_.name,
                       facts_.driver, facts_.is_cpu ? instructions_of_cpu() : "", module.code);
  }

  // None where the driver does not take it any more.
  std::optional<cl::Program> load(const CompiledProgram& compiled) const {
    try {
      cl::Program program(context_, {device_}, {compiled});
      program.build();
      return program;
    } catch (const cl::Error&) {
      return {};
    }
  }

  cl::Context context_;
  cl::Device device_;
  const Facts& facts_;  // of the device that these kernels are part of
  int warp_;
  CompiledPrograms compiled_;
  mutable std::mutex mutex_;
  std::map<std::string, cl::Program, std::less<>> programs_;  // by module, or as link names them
  std::map<std::pair<std::string, std::string>, std::string> linked_;
};

[[noreturn]] void refuse_stream() {
  throw Error(ErrorCode::invalid_argument,
              "a stream is CUDA's, and this device is OpenCL's: leave it out");
}

class OpenClQueue final : public Queue {
 public:
  OpenClQueue(const cl::Context& context, const cl::Device& device, Kernels& kernels)
      : queue_(context, device), kernels_(kernels) {}
  // What is queued reads and writes memory of the caller's.
  ~OpenClQueue() override { ::clFinish(queue_()); }

  void write(Buffer& to, const void* from, const CopiedRows& rows) override {
    if (rows.count == 0 || rows.bytes == 0) return;
    with_errors(fmt::format("to copy {} rows of {} bytes to the device", rows.count, rows.bytes),
                [&] { write_rows(to, from, rows); });
  }

  void read(const Buffer& from, void* to, const CopiedRows& rows) override {
    if (rows.count == 0 || rows.bytes == 0) return;
    with_errors(fmt::format("to copy {} rows of {} bytes from the device", rows.count, rows.bytes),
                [&] { read_rows(from, to, rows); });
  }

  void copy(Buffer& to, const Buffer& from, const CopiedRows& rows) override {
    if (rows.count == 0 || rows.bytes == 0) return;
    with_errors(fmt::format("to copy {} rows of {} bytes on the device", rows.count, rows.bytes),
                [&] { copy_rows(to, from, rows); });
  }

  void fill(Buffer& to, std::uint8_t byte) override {
    if (to.bytes() == 0) return;
    with_errors(fmt::format("to fill {} bytes", to.bytes()), [&] {
      queue_.enqueueFillBuffer(memory_of(to), byte, 0, static_cast<std::size_t>(to.bytes()));
    });
  }

  int threads(std::string_view module) const override { return kernels_.threads(module); }

  void run(const Kernel& kernel, const Grid& grid, std::span<const Argument> arguments) override {
    with_errors(fmt::format("to run {} of {} on {} x {} blocks of {}", kernel.entry, kernel.module,
                            grid.x, grid.y, threads(kernel.module)),
                [&] { enqueue(kernel, grid, arguments); });
  }

  void wait() override {
    with_errors("what was queued", [&] { queue_.finish(); });
  }

  void wait_for(std::uintptr_t /*stream*/) override { refuse_stream(); }

 private:
  void write_rows(Buffer& to, const void* from, const CopiedRows& rows) {
    const auto bytes = static_cast<std::size_t>(rows.bytes);
    const auto count = static_cast<std::size_t>(rows.count);
    if (rows.are_close()) {
      queue_.enqueueWriteBuffer(memory_of(to), CL_FALSE, 0, bytes * count, from);
      return;
    }
    queue_.enqueueWriteBufferRect(memory_of(to), CL_FALSE, {0, 0, 0}, {0, 0, 0}, {bytes, count, 1},
                                  static_cast<std::size_t>(rows.to_stride), 0,
                                  static_cast<std::size_t>(rows.from_stride), 0, from);
  }

  void read_rows(const Buffer& from, void* to, const CopiedRows& rows) {
    const auto bytes = static_cast<std::size_t>(rows.bytes);
    const auto count = static_cast<std::size_t>(rows.count);
    if (rows.are_close()) {
      queue_.enqueueReadBuffer(memory_of(from), CL_FALSE, 0, bytes * count, to);
      return;
    }
    queue_.enqueueReadBufferRect(memory_of(from), CL_FALSE, {0, 0, 0}, {0, 0, 0}, {bytes, count, 1},
                                 static_cast<std::size_t>(rows.from_stride), 0,
                                 static_cast<std::size_t>(rows.to_stride), 0, to);
  }

  void copy_rows(Buffer& to, const Buffer& from, const CopiedRows& rows) {
    const auto bytes = static_cast<std::size_t>(rows.bytes);
    const auto count = static_cast<std::size_t>(rows.count);
    queue_.enqueueCopyBufferRect(memory_of(from), memory_of(to), {0, 0, 0}, {0, 0, 0},
                                 {bytes, count, 1}, static_cast<std::size_t>(rows.from_stride), 0,
                                 static_cast<std::size_t>(rows.to_stride), 0);
  }

  void enqueue(const Kernel& kernel, const Grid& grid, std::span<const Argument> arguments) {
    if (grid.y > Grid::kMostY) throw cl::Error(CL_INVALID_GLOBAL_WORK_SIZE, "Grid::kMostY");
    cl::Kernel call = kernels_.make(kernel);
    cl_uint i = 0;
    for (const Argument& argument : arguments) {
      if (argument.buffer() != nullptr) {
        call.setArg(i++, memory_of(*argument.buffer()));
      } else {
        call.setArg(i++, argument.value().size(), argument.value().data());
      }
    }
    const auto width = static_cast<std::size_t>(threads(kernel.module));
    queue_.enqueueNDRangeKernel(
        call, cl::NullRange,
        cl::NDRange(static_cast<std::size_t>(grid.x) * width, static_cast<std::size_t>(grid.y)),
        cl::NDRange(width, 1));
  }

  cl::CommandQueue queue_;
  Kernels& kernels_;
};

// Deprecated, and in no other way to be learnt.
bool shares_memory_with_host(const cl::Device& device) {
  cl_bool shares = CL_FALSE;
  ::clGetDeviceInfo(device(), CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(shares), &shares, nullptr);
  return shares == CL_TRUE;
}

std::vector<int> warps_of(const cl::Device& device) {
  constexpr cl_device_info kSubGroupSizesIntel = 0x4108;
  std::size_t bytes = 0;
  if (::clGetDeviceInfo(device(), kSubGroupSizesIntel, 0, nullptr, &bytes) != CL_SUCCESS) return {};
  std::vector<std::size_t> sizes(bytes / sizeof(std::size_t));
  ::clGetDeviceInfo(device(), kSubGroupSizesIntel, bytes, sizes.data(), nullptr);
  return {sizes.begin(), sizes.end()};
}

// Of the environment; 0 if it is not set.
int number_in(const char* variable, std::string_view wanted) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return 0;
  int number = 0;
  const char* const end = text + std::strlen(text);
  if (std::from_chars(text, end, number).ptr != end || number <= 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is {}, got '{}'", variable, wanted, text));
  }
  return number;
}

// The widest warp that both the device and the modules have, or the one that is asked for; 0 if
// there is none.
int warp_of(const cl::Device& device) {
  const int asked = number_in("NEARFIELD_OPENCL_WARP", "8, 16 or 32");
  const std::vector<int> warps = warps_of(device);
  int widest = 0;
  for (const Module& module : modules()) {
    const bool has = std::find(warps.begin(), warps.end(), module.warp) != warps.end();
    if (has && (asked == 0 || asked == module.warp)) widest = std::max(widest, module.warp);
  }
  return widest;
}

Facts facts_of(const cl::Device& device) {
  return {
      .name = device.getInfo<CL_DEVICE_NAME>(),
      .driver = fmt::format("{}, driver {}", device.getInfo<CL_DEVICE_VERSION>(),
                            device.getInfo<CL_DRIVER_VERSION>()),
      .memory = static_cast<std::int64_t>(device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>()),
      .largest_buffer = static_cast<std::int64_t>(device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>()),
      .block_memory = static_cast<std::int64_t>(device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>()),
      .units = static_cast<int>(device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>()),
      .warp = warp_of(device),
      .has_float64 = device.getInfo<CL_DEVICE_DOUBLE_FP_CONFIG>() != 0,
      .is_cpu = (device.getInfo<CL_DEVICE_TYPE>() & CL_DEVICE_TYPE_CPU) != 0};
}

class OpenClDevice final : public Device {
 public:
  explicit OpenClDevice(const cl::Device& device)
      : device_(device),
        facts_(facts_of(device)),
        context_(device),
        kernels_(context_, device, facts_) {}

  const Facts& facts() const override { return facts_; }

  std::unique_ptr<Buffer> allocate(std::int64_t bytes) override {
    const std::string what = fmt::format("{} bytes on {}", bytes, facts_.name);
    if (bytes > facts_.largest_buffer) {
      throw OutOfMemory(
          fmt::format("OpenCL refused {}: a buffer has at most {}", what, facts_.largest_buffer));
    }
    return with_errors(what, [&] {
      // OpenCL has no empty buffers.
      cl::Buffer memory(context_, CL_MEM_READ_WRITE,
                        static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
      return std::make_unique<OpenClBuffer>(std::move(memory), bytes);
    });
  }

  std::unique_ptr<Memory> wrap(std::uintptr_t address, std::int64_t bytes) override {
    throw Error(ErrorCode::unsupported,
                fmt::format("the {} bytes at {:#x} cannot be read on {}: memory of OpenCL has no "
                            "addresses. Pass an array of the host",
                            bytes, address, facts_.name));
  }

  // A device with memory of its own may copy what it maps there, and no limit would count it.
  std::unique_ptr<Memory> map(const void* from, std::int64_t /*bytes*/) override {
    if (!shares_memory_with_host(device_)) return nullptr;
    return std::make_unique<HostMemory>(context_, from);
  }

  std::unique_ptr<Queue> make_queue(std::uintptr_t stream) override {
    if (stream != 0) refuse_stream();
    return with_errors("a queue",
                       [&] { return std::make_unique<OpenClQueue>(context_, device_, kernels_); });
  }

  std::string link(std::string_view module, std::string_view function) override {
    return with_errors("to compile a metric's device_source",
                       [&] { return kernels_.link(module, function); });
  }

  std::vector<ModuleUse> module_uses() const override { return kernels_.uses(); }

 private:
  cl::Device device_;
  Facts facts_;
  cl::Context context_;
  Kernels kernels_;
};

std::string name_of(const cl::Device& device) {
  std::string name;
  return device.getInfo(CL_DEVICE_NAME, &name) == CL_SUCCESS ? name : "a device";
}

// Why a device cannot run the kernels; empty if it can.
std::string missing_of(const cl::Device& device) {
  if (device.getInfo<CL_DEVICE_VERSION>().starts_with("OpenCL 1")) return "is older than OpenCL 2";
  if (device.getInfo<CL_DEVICE_IL_VERSION>().find("SPIR-V") == std::string::npos) {
    return "takes no SPIR-V";
  }
  const std::string extensions = device.getInfo<CL_DEVICE_EXTENSIONS>();
  if (extensions.find("cl_khr_fp16") == std::string::npos) return "has no halves";
  if ((device.getInfo<CL_DEVICE_SINGLE_FP_CONFIG>() & CL_FP_DENORM) == 0) {
    return "takes the smallest float32 for zero";
  }
  if (warp_of(device) == 0) {
    return std::getenv("NEARFIELD_OPENCL_WARP") == nullptr
               ? "has no sub-groups of 8, 16 or 32"
               : "has no sub-groups as NEARFIELD_OPENCL_WARP asks for";
  }
  return {};
}

// The same of a driver that refuses to be asked.
std::string missing_or_refused(const cl::Device& device) {
  try {
    return missing_of(device);
  } catch (const cl::Error& error) {
    return fmt::format("does not say what it has ({} says {})", error.what(), error.err());
  }
}

// Each device, or so many equal parts of each, as several devices: for tests, and to leave cores of
// a CPU to others.
std::vector<cl::Device> in_parts(const std::vector<cl::Device>& devices) {
  const int parts = number_in("NEARFIELD_OPENCL_PARTS", "a number of parts");
  if (parts <= 1) return devices;
  std::vector<cl::Device> all;
  for (cl::Device device : devices) {
    const auto units = device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>();
    const cl_device_partition_property each[] = {
        CL_DEVICE_PARTITION_EQUALLY,
        static_cast<cl_device_partition_property>(units / static_cast<cl_uint>(parts)), 0};
    std::vector<cl::Device> own;
    with_errors(fmt::format("to part {} units in {}", units, parts),
                [&] { device.createSubDevices(each, &own); });
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

class OpenClPlugin final : public Plugin {
 public:
  std::vector<Facts> list() const override {
    std::vector<Facts> all;
    for (const cl::Device& device : usable()) {
      all.push_back(with_errors("to name a device", [&] { return facts_of(device); }));
    }
    return all;
  }

  std::unique_ptr<Device> open(int index) const override {
    const std::vector<cl::Device> all = usable();
    return with_errors("to open a device", [&] {
      return std::make_unique<OpenClDevice>(all.at(static_cast<std::size_t>(index)));
    });
  }

 private:
  static std::vector<cl::Device> usable() {
    std::vector<cl::Platform> platforms;
    try {
      cl::Platform::get(&platforms);
    } catch (const cl::Error&) {
      // That there is none is said below.
    }
    std::vector<cl::Device> found;
    std::string unusable;
    for (const cl::Platform& platform : platforms) {
      std::vector<cl::Device> devices;
      try {
        platform.getDevices(CL_DEVICE_TYPE_ALL, &devices);
      } catch (const cl::Error&) {
        continue;
      }
      for (const cl::Device& device : in_parts(devices)) {
        const std::string missing = missing_or_refused(device);
        if (missing.empty()) {
          found.push_back(device);
        } else {
          unusable += fmt::format("; {} {}", name_of(device), missing);
        }
      }
    }
    if (found.empty()) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("no OpenCL device with SPIR-V and sub-groups was found among {} "
                              "platforms: install the driver of one{}",
                              platforms.size(), unusable));
    }
    return found;
  }
};

const Plugin& plugin() {
  static const OpenClPlugin opencl;
  return opencl;
}

}  // namespace
}  // namespace nearfield::gpu

extern "C" const nearfield::gpu::PluginEntry nearfield_device_plugin;
extern "C" const nearfield::gpu::PluginEntry nearfield_device_plugin = {NEARFIELD_VERSION,
                                                                        &nearfield::gpu::plugin};
