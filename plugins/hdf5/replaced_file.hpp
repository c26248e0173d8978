// A file that is changed as a whole: HDF5 writes in place and leaves a broken file where it is
// interrupted, so that it gets a copy, which then takes the place of the file.
#pragma once

#include <filesystem>
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
  bool is_new() const { return is_new_; }

  // The copy, closed by now, is on disk under the name of the file when it returns.
  void commit();

 private:
  std::string path_;              // as the caller wrote it, for messages
  std::filesystem::path target_;  // symbolic links followed
  bool is_new_;
  std::string copy_;
};

}  // namespace nearfield::hdf5
