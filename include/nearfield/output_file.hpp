// A file that is written whole or not at all.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nearfield/context.hpp>

namespace nearfield {

class FileDescriptor;

// True for what is written as it comes and never replaced: a device, a pipe, or the name of a
// descriptor that is already open (/dev/stdout, whatever it was redirected to).
bool is_stream(const std::string& path);

// Writes beside the target; `commit` puts the whole file in its place, and a reader sees the old
// one or the new one. Without `commit` the target stays as it was. A stream is written directly.
// Every error names the path.
class OutputFile {
 public:
  // The token is looked at between pieces of some megabytes, and ends the writing with
  // ErrorCode::cancelled.
  explicit OutputFile(std::string path, CancelToken cancel = {});
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Buffered: small pieces cost no system call each.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  // Of all but a stream: puts these in place of the first bytes that were written, as many.
  bool has_start() const { return !temporary_.empty(); }
  void rewrite_start(std::string_view text);

  // When it returns, the file is on disk under its name.
  void commit();

 private:
  void open_temporary();
  void flush();
  void write_through(std::span<const std::byte> bytes);

  CancelToken cancel_;
  std::string path_;       // as the caller wrote it, for messages
  std::string target_;     // symbolic links followed
  std::string temporary_;  // empty for a stream, and after commit
  std::unique_ptr<FileDescriptor> fd_;
  std::vector<std::byte> buffer_;
};

}  // namespace nearfield
