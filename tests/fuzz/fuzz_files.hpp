// What the fuzz targets of readers share: bytes become a file, and only an Error may come out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

#include <nearfield/error.hpp>
#include <nearfield/files.hpp>

namespace nearfield::fuzz {

// In memory where there is such a folder; the same few names throughout, since a name is read by
// its ending.
class Folder {
 public:
  Folder() {
    const bool in_memory = std::filesystem::is_directory("/dev/shm");
    std::string pattern = in_memory ? "/dev/shm/nearfield.XXXXXX" : "/tmp/nearfield.XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
      std::abort();
    }
    folder_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string put(const std::string& name, const std::uint8_t* data, std::size_t size) const {
    const std::string path = folder_ / name;
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    if (file == nullptr || std::fwrite(data, 1, size, file) != size || std::fclose(file) != 0) {
      std::abort();
    }
    return path;
  }

 private:
  std::filesystem::path folder_;
};

inline void expect_rows_equal(MatrixView a, MatrixView b) {
  const auto bytes = static_cast<std::size_t>(row_bytes(a.dtype(), a.cols()));
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    if (std::memcmp(a.row(i), b.row(i), bytes) != 0) {
      std::abort();
    }
  }
}

// Whole, in pieces, and mapped if it is: the same rows.
inline void read_vectors(const std::string& path, const FileOptions& options) {
  const auto source = open_rows(path, options);
  const Matrix whole = read_matrix(path, options);
  if (const auto all = source->in_memory()) {
    expect_rows_equal(*all, whole);
  }
  for (const auto layout : {Matrix::Layout::dense, Matrix::Layout::aligned_rows}) {
    Matrix buffer(source->dtype(), 3, source->cols(), layout);
    for (std::int64_t first = 0; first < source->rows(); first += buffer.rows()) {
      const std::int64_t count = std::min(buffer.rows(), source->rows() - first);
      source->read(first, count, buffer, 0);
      expect_rows_equal(buffer.view().slice(0, count), whole.view().slice(first, count));
    }
  }
}

template <class Call>
void allow_error(Call call) {
  try {
    call();
  } catch (const Error&) {
  }
}

// The first byte of the input chooses ending and bits, the rest is the file.
inline int read_as(std::span<const char* const> endings, std::span<const std::int64_t> bits,
                   const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  if (size == 0) {
    return 0;
  }
  const std::size_t choice = data[0];
  const std::string name = std::string("a") + endings[choice % endings.size()];
  const FileOptions options{bits[choice / endings.size() % bits.size()]};
  const std::string path = folder.put(name, data + 1, size - 1);
  allow_error([&] { read_vectors(path, options); });
  allow_error([&] { read_ids(path); });
  allow_error([&] { file_info(path); });
  return 0;
}

}  // namespace nearfield::fuzz
