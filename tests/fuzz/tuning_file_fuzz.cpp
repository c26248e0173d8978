// Any bytes as a tuning table: what is read is written and read again, and asked, or an Error says
// what is wrong.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "device/tuning_file.hpp"
#include "fuzz_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nearfield;
  static const fuzz::Folder folder;
  const std::string path = folder.put("tuning.json", data, size);
  fuzz::allow_error([&] {
    const TuningTable table = read_tuning_file(path);
    const std::string text = format_tuning(table);
    if (format_tuning(parse_tuning(path, text)) != text) std::abort();
    constexpr std::array<std::string_view, 2> kNames{"bits", "radix"};
    for (const auto* const points : {&table.selection, &table.search, &table.query_batch}) {
      fastest(*points, {32, 10'000, 16, 10}, kNames);
    }
  });
  return 0;
}
