#include "replaced_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "handle.hpp"

namespace nearfield::hdf5 {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_system(const std::string& path, std::string_view action,
                              const std::error_code& error) {
  fail(ErrorCode::io, "{}: cannot {}: {}", path, action, error.message());
}

std::error_code last_error() { return {errno, std::generic_category()}; }

bool sync(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = fd >= 0 && ::fsync(fd) == 0;
  if (fd >= 0) {
    ::close(fd);
  }
  return done;
}

}  // namespace

ReplacedFile::ReplacedFile(const std::string& path)
    : path_(path), target_(fs::weakly_canonical(fs::absolute(path))), is_new_(!fs::exists(path)) {
  if (::access(target_.parent_path().c_str(), W_OK) != 0) {
    fail_system(path_, "write in its folder", last_error());
  }
  if (!is_new_ && ::access(target_.c_str(), W_OK) != 0) {
    fail_system(path_, "replace the file", last_error());
  }
  static int counter = 0;
  copy_ = target_.parent_path() / fmt::format(".nearfield.{}.{}.hdf5.tmp", ::getpid(), counter++);
  std::error_code error;
  if (!is_new_ && !fs::copy_file(target_, copy_, fs::copy_options::overwrite_existing, error)) {
    std::error_code ignored;
    fs::remove(copy_, ignored);
    fail_system(path_, "copy it", error);
  }
}

ReplacedFile::~ReplacedFile() {
  std::error_code ignored;
  if (!copy_.empty()) {
    fs::remove(copy_, ignored);
  }
}

void ReplacedFile::commit() {
  std::error_code error;
  if (!sync(copy_)) {
    fail_system(path_, "flush to disk", last_error());
  }
  fs::rename(copy_, target_, error);
  if (error) {
    fail_system(path_, "rename its copy to it", error);
  }
  copy_.clear();
  if (!sync(target_.parent_path())) {
    fail_system(path_, "flush its folder to disk", last_error());
  }
}

}  // namespace nearfield::hdf5
