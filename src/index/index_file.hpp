// An index as a file: tensors of vectors and ids, and what it is in the metadata.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include <nearfield/index.hpp>
#include <nearfield/output_file.hpp>

#include "index/family.hpp"
#include "index/part.hpp"

namespace nearfield {

// Of a file that is written: a buffer of 4 MiB, and the header.
inline constexpr std::int64_t kBytesOfAFile = 5 << 20;

// What an index has beside its parts.
struct IndexHead {
  IndexSpec spec;
  std::int64_t next_id = 0;
};

struct OpenedIndex {
  IndexHead head;
  std::shared_ptr<Part> part;
};

// Checks all that can be checked without reading a tensor.
OpenedIndex open_index_file(const std::string& path, const OpenOptions& options);

// Throws if writing them would take more than the memory limit, or if they are too many.
void check_writing(const IndexSpec& spec, const Family& family, std::span<const PartView> parts,
                   const Context& context);

// What a file says of itself. features: as index_format.hpp has them.
std::map<std::string, std::string> index_metadata(const IndexHead& head,
                                                  const std::string& features);
// Of one of codes alone that has no ids: they are the numbers of its rows.
std::map<std::string, std::string> numbered_metadata(const IndexHead& head, std::int64_t rows);

// The live rows of the parts, which were checked. Does not commit.
void write_index_file(OutputFile& out, const IndexHead& head, const Family& family,
                      std::span<const PartView> parts, const Context& context);

}  // namespace nearfield
