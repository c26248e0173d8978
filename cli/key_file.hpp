// Keys of vectors in a text file: a line for each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield::cli {

bool is_standard_input(const std::string& path);

// Stays where it is: a short text that was moved would leave the keys behind.
class KeyFile {
 public:
  // Lines end with a newline, the last perhaps without; a line is not empty and does not end with a
  // carriage return, which would be part of its key.
  explicit KeyFile(const std::string& path);
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;

  std::span<const std::string_view> keys() const { return keys_; }
  // Throws if a key is there twice.
  void check_each_once() const;

 private:
  std::string path_;
  std::string text_;
  std::vector<std::string_view> keys_;
};

}  // namespace nearfield::cli
