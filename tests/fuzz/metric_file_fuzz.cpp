// Files of indexes of objects: whatever is in them, an Error or an answer.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nearfield/metric_index.hpp>
#include <nearfield/object_metrics.hpp>

#include "fuzz_files.hpp"

namespace nearfield::fuzz {
namespace {

void use(MetricIndex index, const std::string& copy) {
  const std::string word = "near";
  const ObjectView query = ObjectBytes<std::string>::bytes(word);
  const std::span<const ObjectView> queries(&query, 1);
  const Context context{.threads = 1};
  allow_error([&] { index.search(queries, {.k = 3}, context); });
  allow_error([&] { index.within(queries, {.radius = 2}, context); });
  allow_error([&] { index.pairs({.radius = 1}, context); });
  allow_error([&] { index.add(queries, context); });
  allow_error([&] { index.remove(std::vector<std::int64_t>{0, 2}); });
  allow_error([&] { index.get(1); });
  allow_error([&] { index.save(copy, context); });
  allow_error([&] { index.rebuild(context); });
}

}  // namespace
}  // namespace nearfield::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nearfield;
  static const fuzz::Folder folder;
  const std::string path = folder.put("objects", data, size);
  fuzz::allow_error([&] { metric_file_info(path); });
  fuzz::allow_error([&] { verify_metric_index(path, object_metric("edit")); });
  fuzz::allow_error([&] { verify_metric_index(path); });
  fuzz::allow_error(
      [&] { fuzz::use(MetricIndex::open(path, object_metric("edit")), path + ".copy"); });
  return 0;
}
