// A file that is changed as a whole: HDF5 writes in place and leaves a broken file where it is
// interrupted, so that it gets a copy, which then takes the place of the file.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

namespace nearfield::hdf5 {

class ReplacedFile {
 public:
  explicit ReplacedFile(const std::string& path);
  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;
  ~ReplacedFile();

  // The copy; if `is_new`, there was no file and there is no copy.
  const std::string& copy() const { return copy_; }
  bool is_new() const { return !before_; }

  // The copy, closed by now, is on disk under the name of the file when it returns. Throws if the
  // file is no longer what was copied: what another program added is not in the copy, and would be
  // lost.
  void commit();

 private:
  void copy_file();
  void check_unchanged() const;

  std::string path_;                   // as the caller wrote it, for messages
  std::filesystem::path target_;       // symbolic links followed
  std::optional<struct stat> before_;  // of the file when it was copied; none: there was no file
  std::string copy_;
};

}  // namespace nearfield::hdf5
