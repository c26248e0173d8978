#include "device/gpu/opencl/compiled_programs.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include <nearfield/error.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nearfield::gpu {
namespace {

namespace fs = std::filesystem;

constexpr auto kMonth = std::chrono::hours(24 * 30);

// What a file begins with: of the bytes behind it.
struct Header {
  XXH64_hash_t sum;
  std::uint64_t bytes;
};

fs::path cache_of_user() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && fs::path(cache).is_absolute()) return fs::path(cache);
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? fs::path() : fs::path(home) / ".cache";
}

bool is_own(const fs::path& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

// Programs of drivers and versions that are gone: those of this name that have not been used for a
// month.
void remove_old(const fs::path& folder, std::string_view name) {
  const auto oldest = fs::file_time_type::clock::now() - kMonth;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(std::string(name) + "-")) continue;
    const auto used = entry.last_write_time(ignored);
    if (!ignored && used < oldest) fs::remove(entry.path(), ignored);
  }
}

// Under another name first: a process that reads meanwhile sees the old file, or the whole new one.
std::error_code write_whole(const fs::path& file, const CompiledProgram& program) {
  const fs::path unfinished = fmt::format("{}.{}", file.string(), ::getpid());
  const Header header = {XXH3_64bits(program.data(), program.size()), program.size()};
  std::ofstream out(unfinished, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&header), sizeof(header));
  out.write(reinterpret_cast<const char*>(program.data()),
            static_cast<std::streamsize>(program.size()));
  out.close();
  std::error_code error;
  if (out) {
    fs::rename(unfinished, file, error);
  } else {
    error = std::error_code(errno, std::generic_category());
  }
  std::error_code ignored;
  if (error) fs::remove(unfinished, ignored);
  return error;
}

}  // namespace

CompiledPrograms::CompiledPrograms() {
  const char* const named = std::getenv("NEARFIELD_KERNEL_CACHE");
  if (named != nullptr) {
    folder_ = named;
    is_named_ = true;
  } else if (const fs::path cache = cache_of_user(); !cache.empty()) {
    folder_ = cache / "nearfield" / "kernels";
  }
}

fs::path CompiledPrograms::file_of(std::string_view name, std::string_view source) const {
  const XXH128_hash_t sum = XXH3_128bits(source.data(), source.size());
  return folder_ / fmt::format("{}-{:016x}{:016x}", name, sum.high64, sum.low64);
}

std::optional<CompiledProgram> CompiledPrograms::find(std::string_view name,
                                                      std::string_view source) const {
  if (folder_.empty()) return {};
  const fs::path file = file_of(name, source);
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (error || !is_own(file)) return {};
  std::ifstream in(file, std::ios::binary);
  Header header{};
  in.read(reinterpret_cast<char*>(&header), sizeof(header));
  if (!in || header.bytes == 0 || header.bytes != bytes - sizeof(header)) return {};
  CompiledProgram program(header.bytes);
  in.read(reinterpret_cast<char*>(program.data()), static_cast<std::streamsize>(program.size()));
  if (!in || XXH3_64bits(program.data(), program.size()) != header.sum) return {};
  fs::last_write_time(file, fs::file_time_type::clock::now(), error);  // used: see remove_old
  return program;
}

void CompiledPrograms::keep(std::string_view name, std::string_view source,
                            const CompiledProgram& program) const {
  if (folder_.empty() || program.empty()) return;
  std::error_code error;
  if (fs::create_directories(folder_, error)) {
    fs::permissions(folder_, fs::perms::owner_all, error);
  }
  if (!error) error = write_whole(file_of(name, source), program);
  if (error && is_named_) {
    throw Error(ErrorCode::io,
                fmt::format("cannot keep the {} bytes of compiled kernels {} in '{}', the folder "
                            "that NEARFIELD_KERNEL_CACHE names: {}. Name one that can be written, "
                            "or set it to nothing, and each process compiles its kernels",
                            program.size(), name, folder_.string(), error.message()));
  }
  remove_old(folder_, name);
}

}  // namespace nearfield::gpu
