#include "device/gpu/opencl/compiled_programs.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
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

// Closed at its end.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  bool is_open() const { return descriptor_ >= 0; }

  // Its size, if it is a file that this user owns and nobody else may write.
  std::optional<std::uint64_t> bytes_if_own() const {
    struct stat status {};
    const bool own = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) &&
                     status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    return own ? std::optional(static_cast<std::uint64_t>(status.st_size)) : std::nullopt;
  }

  bool read(void* to, std::size_t bytes) const {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      const ssize_t got = ::read(descriptor_, at, bytes);
      if (got <= 0) return false;
      at += got;
      bytes -= static_cast<std::size_t>(got);
    }
    return true;
  }

  bool write(const void* from, std::size_t bytes) const {
    const auto* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const ssize_t put = ::write(descriptor_, at, bytes);
      if (put <= 0) return false;
      at += put;
      bytes -= static_cast<std::size_t>(put);
    }
    return true;
  }

 private:
  int descriptor_;
};

std::error_code last_error() { return {errno != 0 ? errno : EIO, std::generic_category()}; }

// Programs of drivers and versions that are gone: those of this name that have not been used for a
// month.
void remove_old(const fs::path& folder, std::string_view name) {
  const auto oldest = fs::file_time_type::clock::now() - kMonth;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with(std::string(name) + "-")) continue;
    std::error_code gone;
    const auto used = at->last_write_time(gone);
    if (!gone && used < oldest) fs::remove(at->path(), gone);
  }
}

// Under a name of its own first: whoever reads or writes the same meanwhile sees whole files.
std::error_code write_whole(const fs::path& file, const CompiledProgram& program) {
  std::string unfinished = file.string() + ".XXXXXX";
  const Header header = {XXH3_64bits(program.data(), program.size()), program.size()};
  std::error_code error;
  {
    errno = 0;
    const File out(::mkostemp(unfinished.data(), O_CLOEXEC));  // of mode 0600, and new
    if (!out.is_open()) return last_error();
    const bool written =
        out.write(&header, sizeof(header)) && out.write(program.data(), program.size());
    if (!written) error = last_error();
  }
  if (!error) fs::rename(unfinished, file, error);
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
  const fs::path path = file_of(name, source);
  const File file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const auto bytes = file.bytes_if_own();
  Header header{};
  if (!bytes || !file.read(&header, sizeof(header))) return {};
  if (header.bytes == 0 || header.bytes != *bytes - sizeof(header)) return {};
  CompiledProgram program(header.bytes);
  if (!file.read(program.data(), program.size())) return {};
  if (XXH3_64bits(program.data(), program.size()) != header.sum) return {};
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);  // used: see remove_old
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
