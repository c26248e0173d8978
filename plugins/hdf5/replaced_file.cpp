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

fs::path follow_links(const std::string& path) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error);
  if (!error) {
    whole = fs::weakly_canonical(whole, error);
  }
  if (error) {
    fail_system(path, "find the file", error);
  }
  return whole;
}

// Empty where there is no file.
std::optional<struct stat> look_at(const fs::path& file, const std::string& path) {
  struct stat found {};
  if (::stat(file.c_str(), &found) == 0) {
    return found;
  }
  if (errno != ENOENT) {
    fail_system(path, "look at the file", last_error());
  }
  return std::nullopt;
}

bool same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

ReplacedFile::ReplacedFile(const std::string& path)
    : path_(path), target_(follow_links(path)), before_(look_at(target_, path)) {
  if (before_ && !S_ISREG(before_->st_mode)) {
    fail(ErrorCode::io, "{}: is {}", path_,
         S_ISDIR(before_->st_mode) ? "a folder, not a file" : "not a regular file");
  }
  if (::access(target_.parent_path().c_str(), W_OK) != 0) {
    fail_system(path_, "write in its folder", last_error());
  }
  if (before_ && ::access(target_.c_str(), W_OK) != 0) {
    fail_system(path_, "replace the file", last_error());
  }
  static int counter = 0;
  copy_ = target_.parent_path() / fmt::format(".nearfield.{}.{}.hdf5.tmp", ::getpid(), counter++);
  if (before_) {
    copy_file();
  }
}

void ReplacedFile::copy_file() {
  std::error_code error;
  if (!fs::copy_file(target_, copy_, fs::copy_options::overwrite_existing, error)) {
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

void ReplacedFile::check_unchanged() const {
  const auto now = look_at(target_, path_);
  if (before_ && !(now && same(*before_, *now))) {
    fail(ErrorCode::io,
         "{}: has changed since it was copied to add a dataset: it had {} bytes and {}; left as it "
         "is, run the command again",
         path_, before_->st_size, now ? fmt::format("has {} now", now->st_size) : "is gone");
  }
  if (!before_ && now) {
    fail(ErrorCode::io,
         "{}: has appeared, with {} bytes, since the command began to make it; left as it is, run "
         "the command again",
         path_, now->st_size);
  }
}

void ReplacedFile::commit() {
  if (!sync(copy_)) {
    fail_system(path_, "flush to disk", last_error());
  }
  check_unchanged();  // as late as can be
  std::error_code error;
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
