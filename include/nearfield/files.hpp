// Vector files. The ending of the name says the format; everything is little-endian.
//
//   .fbin (f32), .f16bin,      uint32 rows, uint32 columns, then the rows (big-ann, cuVS).
//   .u8bin, .i8bin             .ibin is the same with int32, and holds ids.
//   .fvecs (f32), .bvecs (u8)  For each row an int32, its number of values, then the values. All
//                              rows must have the same number; a file of 0 rows does not know it,
//                              and has 0 columns. .ivecs is the same with int32, and holds ids.
//   .npy                       numpy's arrays of two dimensions, in C order: f64, f32, f16, u8, i8,
//                              or ids, int32 or int64, of one dimension or two.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

struct FileOptions {
  // If not 0, the bytes of a file of u8 are packed bits, this many a row.
  std::int64_t bits = 0;
};

// Opens a file for reading in pieces: no more of it is in memory than is asked for. What it says it
// holds is checked against its size before anything is allocated; the number of values before each
// row of a .fvecs or .bvecs is checked when the row is read. Several threads may read it at once.
//
// A .npy is mapped, and `in_memory()` is the file itself. A mapped file that another program cuts
// short while it is searched ends the process with SIGBUS: replace such files whole, by renaming.
std::unique_ptr<RowSource> open_rows(const std::string& path, const FileOptions& options = {});

// All of it. Nothing is mapped. The token ends the reading with ErrorCode::cancelled, here and
// below.
Matrix read_matrix(const std::string& path, const FileOptions& options = {},
                   const CancelToken& cancel = {});

struct IdTable {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::int64_t> ids;  // rows x cols; -1 where a row had fewer
};

// Ids of one dimension are one column.
IdTable read_ids(const std::string& path, const CancelToken& cancel = {});

// Everything here that writes does so beside the target and renames, so that a reader sees the old
// file or the new one. The ending of the name must be that of a format that holds the type: f64 is
// written only as .npy, bf16 not at all. A device or a pipe (/dev/null, /dev/stdout) has no ending
// and is written directly, in the first format above that holds the type.
//
// The token ends the writing with ErrorCode::cancelled, and what was there stays.
void write_matrix(const std::string& path, MatrixView matrix, const CancelToken& cancel = {});

// As int64 in a .npy, else as int32.
void write_ids(const std::string& path, std::span<const std::int64_t> ids, std::int64_t rows,
               std::int64_t cols, const CancelToken& cancel = {});

// A file that is written in pieces.
class RowWriter {
 public:
  virtual ~RowWriter() = default;

  // The next rows, of the type and width that were announced, and no more of them.
  virtual void append(MatrixView rows) = 0;

  // Once, after all rows that were announced: puts the file in its place. Without it the target
  // stays as it was.
  virtual void commit() = 0;
};

std::unique_ptr<RowWriter> create_rows(const std::string& path, DType dtype, std::int64_t rows,
                                       std::int64_t cols, const CancelToken& cancel = {});

// big-ann's ground truth, in one file: uint32 rows, uint32 k, all ids (uint32), then all distances
// (float32). Such files have no ending of their own, so that none is looked at.
struct Truth {
  std::int64_t rows = 0;
  std::int64_t k = 0;
  // rows x k; where a row had fewer: -1, in the file the largest uint32.
  std::vector<std::int64_t> ids;
  std::vector<float> distances;  // rows x k
};

// All of it.
Truth read_truth(const std::string& path, const CancelToken& cancel = {});
void write_truth(const std::string& path, std::span<const std::int64_t> ids,
                 std::span<const float> distances, std::int64_t rows, std::int64_t k,
                 const CancelToken& cancel = {});

// What a file holds, from its header and its size (and the first rows of an .ibin).
struct FileInfo {
  enum class Content { vectors, ids, truth };

  std::string format;  // its ending: ".fbin"; "truth"
  Content content = Content::vectors;
  std::string type;  // of a value: "f32", "int64 ids"
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t bytes = 0;  // of the whole file
};

// A file without a known ending must be ground truth. One that is called .ibin, as big-ann does, is
// ground truth too if it has the size of that and its first rows look like it.
FileInfo file_info(const std::string& path);

// Whether the name has an ending of the formats above: then it is never ground truth, but for
// .ibin.
bool has_known_ending(const std::string& path);

// What a file is that was found wrong, where that can be told, and what to do about it: "is a
// git-lfs pointer, ...: run git lfs pull". Ask only then: a valid file may begin with the same
// bytes.
std::optional<std::string> recognise_file(const std::string& path);

}  // namespace nearfield
