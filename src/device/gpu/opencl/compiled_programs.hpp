// Kernels as the driver compiled them, kept on disk for the next process. Intel's driver for CPUs
// takes 1 to 30 seconds for a module and keeps nothing itself.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield::gpu {

using CompiledProgram = std::vector<unsigned char>;

class CompiledPrograms {
 public:
  // The folder that NEARFIELD_KERNEL_CACHE names: nothing is kept where it is set and empty.
  // Without it, nearfield/kernels in the user's cache.
  CompiledPrograms();

  // None, too, where the file is damaged, or another user owns it or may write to it, who could
  // have put any code into it. `source` is all that the compiled program depends on.
  std::optional<CompiledProgram> find(std::string_view name, std::string_view source) const;

  // Throws io where it cannot, if the folder was named. A cache that nobody asked for may be
  // read-only or full.
  void keep(std::string_view name, std::string_view source, const CompiledProgram& program) const;

 private:
  std::filesystem::path file_of(std::string_view name, std::string_view source) const;

  std::filesystem::path folder_;  // empty: none
  bool is_named_ = false;
};

}  // namespace nearfield::gpu
