// GPUs and other devices that this machine has.
//
// The library itself needs none. What drives them are plugins, nearfield_cuda.so and
// nearfield_opencl.so, which are looked for beside the library (or the program it is linked into)
// and in the folders of the environment variable NEARFIELD_PLUGINS, separated by colons.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nearfield {

struct DeviceInfo {
  std::string id;           // for Context::device: "cpu", "opencl:0", "cuda:1"
  std::string name;         // empty where the system does not tell it
  std::string driver;       // with its version; of the CPU its best ISA: "avx2"
  std::int64_t memory = 0;  // bytes
  int units = 0;            // multiprocessors, or what comes closest; cores of a CPU
  bool is_cpu = false;      // OpenCL drives CPUs, too: what runs there is not faster for it
};

// A kind of device of which there is none, and why.
struct MissingDevice {
  std::string kind;  // "cuda"
  std::string reason;
};

struct DeviceList {
  std::vector<DeviceInfo> devices;  // the CPU first
  std::vector<MissingDevice> missing;
};

// Loads the plugins, if that has not been done.
DeviceList devices();

}  // namespace nearfield
