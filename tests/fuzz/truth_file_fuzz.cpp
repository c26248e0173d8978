// Any bytes as a ground-truth file: an Error, or what is written back as the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nearfield;
  static const fuzz::Folder folder;
  const std::string path = folder.put("truth", data, size);
  fuzz::allow_error([&] {
    const Truth truth = read_truth(path);
    const FileInfo info = file_info(path);
    if (info.content != FileInfo::Content::truth || info.rows != truth.rows) {
      std::abort();
    }
    const std::string copy = path + ".copy";
    write_truth(copy, truth.ids, truth.distances, truth.rows, truth.k);
    std::ifstream file(copy, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes != std::string(reinterpret_cast<const char*>(data), size)) {
      std::abort();
    }
  });
  return 0;
}
