// Any bytes as a COLMAP database: what opens is read and written to, or an Error says what is
// wrong.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <nearfield/colmap.hpp>

#include "fuzz_files.hpp"

namespace nearfield::fuzz {
namespace {

void use(ColmapDatabase& database) {
  const std::int64_t images = std::min<std::int64_t>(database.images(), 8);
  for (std::int64_t image = 0; image < images; ++image) {
    allow_error([&] {
      const Matrix descriptors = database.read(image);
      if (descriptors.rows() != database.rows(image)) std::abort();
    });
  }
  const std::vector<ImagePair> pairs = exhaustive_pairs(images);
  const std::vector<ImagePair> left = database.without_matched(pairs);
  database.begin();
  for (const ImagePair& pair : left) {
    Pairs matches;
    if (database.rows(pair.first) > 0 && database.rows(pair.second) > 0) {
      matches.first = {0};
      matches.second = {0};
    }
    database.write(pair, matches);
    if (!database.matched(pair)) std::abort();
  }
  database.clear_matches(pairs);
  database.commit();
}

}  // namespace
}  // namespace nearfield::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nearfield;
  static const fuzz::Folder folder;
  const std::string path = folder.put("database.db", data, size);
  for (const char* beside : {"-journal", "-wal", "-shm"}) std::filesystem::remove(path + beside);
  fuzz::allow_error([&] {
    ColmapDatabase database(path);
    fuzz::use(database);
  });
  return 0;
}
