#include <limits>

#include <nearfield/index.hpp>
#include <nearfield/metric_index.hpp>

#include "core/fail.hpp"
#include "core/monitor.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "index/index_file.hpp"
#include "index/key_column.hpp"
#include "index/opened_family.hpp"
#include "io/tensor_file.hpp"

namespace nearfield {
namespace {

// That each id leads to its row, and that the next ones are not in use.
void verify_ids(const OpenedIndex& opened, const std::string& path, Monitor& monitor) {
  constexpr std::int64_t kIdsPerCheck = 64;  // a table made to harm costs all slots for each
  for (std::int64_t row = 0; row < opened.part->capacity(); ++row) {
    if (row % kIdsPerCheck == 0) monitor.check();
    const std::int64_t id = opened.part->id(row);
    const auto found = opened.part->find(id);
    if (found != row) {
      fail(ErrorCode::corrupt_file, "{}: row {} has the id {}, which leads to {}: build it again",
           path, row, id, found ? fmt::format("row {}", *found) : "none");
    }
    const bool unused = id >= opened.head.next_id && id != std::numeric_limits<std::int64_t>::max();
    if (id == kNoId || unused) {
      fail(ErrorCode::corrupt_file, "{}: row {} has the id {}, and ids from {} on were never used",
           path, row, id, opened.head.next_id);
    }
    if (!opened.head.spec.keys) continue;
    const std::string_view key = opened.part->key(row);
    if (opened.part->find(key) != row) {
      fail(ErrorCode::corrupt_file,
           "{}: the key '{}' of row {} does not lead to it: build it again", path, quotable(key),
           row);
    }
  }
}

}  // namespace

void verify_index(const std::string& path, const OpenOptions& options, const Context& context) {
  check_on_cpu(context, "an index");
  resolve_threads(context.threads);
  if (metric_file_info(path, options)) return verify_metric_index(path, options, context);
  const OpenedIndex opened = open_index_file(path, options);
  const std::shared_ptr<const Family> family = check_opened(opened.head.spec, path);
  const TensorFile& file = opened.part->file();
  const std::int64_t rows = opened.part->capacity();
  const SharedFamilyData data = open_family(*family, *opened.part, path);
  Monitor monitor(context, file.size());
  file.verify(monitor);
  verify_ids(opened, path, monitor);
  if (data != nullptr && opened.part->has_vectors()) {
    family->verify(*data, opened.part->rows(rows), path, monitor, context);
  }
  monitor.finish();
}

}  // namespace nearfield
