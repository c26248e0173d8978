// Text written whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace nearfield::cli {

// Writes beside the target; `commit` puts it in place, so that a reader sees the old file or the
// new one. A device or a pipe is written directly. Throws an Error that names the path; Ctrl-C is
// one too.
class TextFile {
 public:
  explicit TextFile(std::string path);
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile();  // without a commit, nothing remains

  void write(std::string_view text);
  void commit();

 private:
  void open_temporary();
  void flush();
  [[noreturn]] void fail(std::string_view action) const;

  std::string path_;
  std::string target_;     // where links lead; empty for a stream
  std::string temporary_;  // empty if there is none to remove
  std::string buffer_;
  int fd_ = -1;
};

}  // namespace nearfield::cli
