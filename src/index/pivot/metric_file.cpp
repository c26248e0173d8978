// The file of a MetricIndex: a safetensors file, as those of other indexes (docs/metric.md).
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nearfield/object_metrics.hpp>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/float_environment.hpp"
#include "core/infinity.hpp"
#include "device/device_name.hpp"
#include "index/id_table.hpp"
#include "index/index_format.hpp"
#include "index/pivot/metric_state.hpp"
#include "io/tensor_file.hpp"

namespace nearfield {
namespace metric_format {
namespace {

constexpr std::string_view kName = index_format::kObjectsName;
constexpr std::int64_t kVersion = 1;

// In the metadata.
constexpr const char* kFormat = "format";
constexpr const char* kFormatVersion = "format_version";
constexpr const char* kMetric = "metric";
constexpr const char* kDistances = "metric.distances";  // first_distances, if there are any
constexpr const char* kNextId = "next_id";
constexpr const char* kChosenFrom = "pivots.chosen_from";
constexpr const char* kPool = "pivots.pool";  // of the options: "" for the usual
constexpr const char* kKept = "pivots.kept";
constexpr const char* kBits = "pivots.bits";
constexpr const char* kChoice = "pivots.choice";
constexpr const char* kChoiceBudget = "pivots.choice_budget";
constexpr const char* kUseSignatures = "signatures.use";  // "1" or "0"
constexpr const char* kUnit = "scale.unit";
constexpr const char* kWhole = "scale.whole";
constexpr const char* kSlots = "pivots.slots";  // kept of each object; 0 without a table

// Tensors.
constexpr const char* kIds = "ids";
constexpr const char* kIdTable = "id_table";
constexpr const char* kObjectOffsets = "objects.offsets";
constexpr const char* kObjectBytes = "objects.bytes";
constexpr const char* kPivotOffsets = "pivots.offsets";
constexpr const char* kPivotBytes = "pivots.bytes";
constexpr const char* kTable = "pivots.table";
constexpr const char* kSignatureState = "signatures.state";
constexpr const char* kSignatures = "signatures";

constexpr std::size_t kSampledObjects = 4;

bool is_of_library(std::string_view metric) {
  const auto word = [](std::string_view name) { return name.substr(0, name.find(':')); };
  const auto& known = object_metrics();
  return std::any_of(known.begin(), known.end(),
                     [&](const ObjectMetricInfo& info) { return word(info.name) == word(metric); });
}

// From the first object to those behind it. Two metrics may have one name, above all where nobody
// gave them any: what they say of these tells them apart. None of the library's, whose names say
// all; of large objects, of which a distance may take long; or where one is no distance.
std::vector<double> first_distances(const ObjectMetric& metric, const ObjectList& objects,
                                    std::span<const std::int64_t> rows) {
  constexpr std::size_t kMostBytes = 1 << 14;
  if (is_of_library(metric.name())) return {};
  std::vector<ObjectView> views;
  for (const std::int64_t row : rows.first(std::min(kSampledObjects, rows.size()))) {
    views.push_back(objects.view(row));
    if (views.back().size() > kMostBytes) return {};
  }
  if (views.size() < 2) return {};
  std::vector<double> distances(views.size() - 1);
  const DefaultFloats floats;
  metric.distances(views.front(), std::span(views).subspan(1), kInfinity, default_isa(), distances);
  if (!std::all_of(distances.begin(), distances.end(), [](double d) { return std::isfinite(d); })) {
    return {};
  }
  return distances;
}

// Whether they are of one metric. Other machines and compilers may round otherwise, and a
// difference of sums keeps few digits of small distances: not the bits are compared.
bool same_distances(std::span<const double> a, std::span<const double> b, double slack) {
  constexpr double kRounding = 1e-6;
  double largest = 0;
  for (const double distance : a) largest = std::max(largest, std::abs(distance));
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](double x, double y) {
    return std::abs(x - y) <= std::max(kRounding, slack) * largest;
  });
}

// The bytes of a list, and where each object begins.
struct ListToWrite {
  explicit ListToWrite(const ObjectList& list, std::span<const std::int64_t> rows)
      : objects(list), picked(rows) {
    offsets.reserve(rows.size() + 1);
    offsets.push_back(0);
    for (const std::int64_t row : rows) offsets.push_back(offsets.back() + list.view(row).size());
  }
  ListToWrite(const ListToWrite&) = delete;
  ListToWrite& operator=(const ListToWrite&) = delete;

  void add_to(std::vector<TensorToWrite>& tensors, const char* offsets_name,
              const char* bytes_name) const {
    tensors.push_back(tensor_in_memory(offsets_name, TensorType::u64, {std::ssize(offsets)},
                                       std::as_bytes(std::span(offsets))));
    tensors.push_back({bytes_name,
                       TensorType::u8,
                       {static_cast<std::int64_t>(offsets.back())},
                       [this](const TakeBytes& take) {
                         for (const std::int64_t row : picked) take(objects.view(row));
                       }});
  }

  const ObjectList& objects;
  std::span<const std::int64_t> picked;
  std::vector<std::uint64_t> offsets;
};

TensorToWrite blocks_to_write(const char* name, const RowBlocks& blocks) {
  return {name, TensorType::u8, {blocks.bytes()}, [&blocks](const TakeBytes& take) {
            blocks.for_each_run({0, blocks.rows()}, [&](const std::uint8_t* first,
                                                        std::int64_t count, std::int64_t) {
              take(std::as_bytes(
                  std::span(first, static_cast<std::size_t>(count * blocks.block_bytes()))));
            });
          }};
}

// rows: those that are written.
std::map<std::string, std::string> metadata_of(const MetricState& state,
                                               std::span<const std::int64_t> rows) {
  const PivotOptions& options = state.options;
  const PivotScale& scale = state.filter.scale();
  const auto& table = state.filter.table();
  std::map<std::string, std::string> metadata = {
      {kFormat, std::string(kName)},
      {kFormatVersion, fmt::format("{}", kVersion)},
      {kMetric, state.metric->name()},
      {kNextId, fmt::format("{}", state.ids.next())},
      {kChosenFrom, fmt::format("{}", state.chosen_from)},
      {kPool, options.pool ? fmt::format("{}", *options.pool) : ""},
      {kKept, fmt::format("{}", options.kept)},
      {kBits, fmt::format("{}", options.bits)},
      {kChoice, fmt::format("{}", static_cast<int>(options.choice))},
      {kChoiceBudget, fmt::format("{}", options.choice_budget)},
      {kUseSignatures, options.signatures ? "1" : "0"},
      {kUnit, fmt::format("{}", scale.unit)},
      {kWhole, scale.whole ? "1" : "0"},
      {kSlots, fmt::format("{}", table ? table->kept() : 0)}};
  const std::vector<double> sampled = first_distances(*state.metric, state.objects, rows);
  if (!sampled.empty()) metadata[kDistances] = fmt::format("{}", fmt::join(sampled, " "));
  return metadata;
}

// Reads a file and trusts nothing in it: sizes are checked here, what is in the tensors as it is
// used.
class MetricFile {
 public:
  MetricFile(const std::string& path, const OpenOptions& options)
      : file_(std::make_shared<TensorFile>(path, options.most_header_bytes)) {
    const auto& metadata = file_->header().metadata;
    const auto format = metadata.find(kFormat);
    if (format != metadata.end() && format->second == index_format::kName) {
      fail(ErrorCode::invalid_argument,
           "{}: is an index of vectors, not of objects: open it as Index", path);
    }
    if (format == metadata.end() || format->second != kName) {
      reject("is a safetensors file, but no index of objects: its metadata does not say '{}: {}'",
             kFormat, kName);
    }
    if (const std::int64_t version = number(kFormatVersion, 1, 1 << 30); version != kVersion) {
      fail(ErrorCode::unsupported, "{}: has version {} of the format, and this library reads {}",
           path, version, kVersion);
    }
    if (file_->size() > options.most_bytes) {
      fail(ErrorCode::unsupported, "{}: has {} bytes, more than the limit of {}", path,
           file_->size(), options.most_bytes);
    }
  }

  const TensorFile& file() const { return *file_; }
  const std::string& metric_name() const { return file_->metadata(kMetric); }

  MetricFileInfo info() const {
    MetricFileInfo info;
    info.metric = metric_name();
    info.objects = objects_in(kObjectOffsets);
    info.kept = number(kSlots, 0, kMostPivotPool);
    info.pivots = info.kept > 0 ? objects_in(kPivotOffsets) : 0;
    info.bits = read_options().bits;
    info.signatures = file_->find(kSignatures) != nullptr;
    info.bytes = file_->size();
    return info;
  }

  // By its name.
  std::shared_ptr<const ObjectMetric> metric_of_library() const {
    try {
      return object_metric(metric_name());
    } catch (const Error&) {
      fail(
          ErrorCode::unsupported,
          "{}: is under the metric '{}', which is none of the library's: verify it under yours, by "
          "verify_metric_index in C++ or MetricIndex.verify in Python",
          file_->path(), metric_name());
    }
  }

  MetricState read(const std::shared_ptr<const ObjectMetric>& metric) const {
    if (metric->name() != metric_name()) {
      fail(ErrorCode::invalid_argument, "{}: is an index under the metric '{}', not '{}'",
           file_->path(), metric_name(), metric->name());
    }
    MetricState state(metric, read_options());
    constexpr std::int64_t kMost = std::int64_t{1} << 62;
    state.file = file_;
    state.objects = ObjectList(*metric, stored(kObjectOffsets, kObjectBytes));
    check_distances(*metric, state.objects);
    const std::int64_t rows = state.objects.size();
    const auto ids = values<std::int64_t>(kIds, TensorType::i64, rows);
    const auto table = values<std::uint32_t>(kIdTable, TensorType::u32, id_table_size(rows));
    state.ids = ObjectIds(ids, table,
                          number(kNextId, std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max()));
    state.chosen_from = number(kChosenFrom, 0, kMost);
    state.filter = read_filter(*metric, state.options, rows);
    return state;
  }

 private:
  template <class... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> what, Args&&... args) const {
    fail(ErrorCode::corrupt_file, "{}: {}", file_->path(),
         fmt::format(what, std::forward<Args>(args)...));
  }

  void check_distances(const ObjectMetric& metric, const ObjectList& objects) const {
    const auto& metadata = file_->header().metadata;
    const auto text = metadata.find(kDistances);
    if (text == metadata.end()) return;
    std::vector<double> in_file;
    std::istringstream words(text->second);
    for (std::string word; words >> word;) in_file.push_back(parsed<double>(kDistances, word));
    std::vector<std::int64_t> rows(
        std::min(kSampledObjects, static_cast<std::size_t>(objects.size())));
    std::iota(rows.begin(), rows.end(), 0);
    const std::vector<double> said = first_distances(metric, objects, rows);
    if (same_distances(in_file, said, metric.slack())) return;
    fail(ErrorCode::invalid_argument,
         "{}: is an index under another metric of the name '{}': from its first object to the next "
         "it says [{}], and this one [{}]; open it under the one it was made with",
         file_->path(), metric.name(), fmt::join(in_file, ", "), fmt::join(said, ", "));
  }

  template <class Number>
  Number parsed(const char* name) const {
    return parsed<Number>(name, file_->metadata(name));
  }

  template <class Number>
  Number parsed(const char* name, const std::string& text) const {
    Number value{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) {
      reject("'{}' in its metadata is '{}', not a number", name, text);
    }
    return value;
  }

  std::int64_t number(const char* name, std::int64_t least, std::int64_t most) const {
    const auto value = parsed<std::int64_t>(name);
    if (value < least || value > most) {
      reject("'{}' in its metadata is {}, not {} to {}", name, value, least, most);
    }
    return value;
  }

  PivotOptions read_options() const {
    PivotOptions options;
    if (!file_->metadata(kPool).empty()) options.pool = number(kPool, 0, kMostPivotPool);
    options.kept = number(kKept, 0, kMostPivotPool);
    options.bits = static_cast<int>(number(kBits, 1, 8));
    options.choice = static_cast<PivotChoice>(number(kChoice, 0, 2));
    options.choice_budget = number(kChoiceBudget, 0, std::int64_t{1} << 62);
    options.signatures = number(kUseSignatures, 0, 1) != 0;
    return options;
  }

  ObjectFilter read_filter(const ObjectMetric& metric, const PivotOptions& options,
                           std::int64_t rows) const {
    PivotScale scale;
    scale.most = (1 << options.bits) - 1;
    scale.slack = metric.slack();
    scale.whole = number(kWhole, 0, 1) != 0;
    scale.unit = parsed<double>(kUnit);
    if (!(scale.unit > 0 && std::isfinite(scale.unit))) {
      reject("'{}' in its metadata is {}, not a positive number", kUnit, scale.unit);
    }
    if (scale.whole && (scale.unit != 1 || !metric.whole_numbers())) {
      reject("says '{}', which is not so of the metric '{}' in units of {}", kWhole, metric.name(),
             scale.unit);
    }
    std::optional<PivotTable> pivots;
    if (const std::int64_t slots = number(kSlots, 0, kMostPivotPool); slots > 0) {
      ObjectList list(metric, stored(kPivotOffsets, kPivotBytes));
      if (list.size() > kMostPivotPool || slots > list.size()) {
        reject("has {} pivots, of which an object keeps {}, and the limit is {}", list.size(),
               slots, kMostPivotPool);
      }
      const std::int64_t bytes =
          RowBlocks::bytes_for(PivotTable::block_bytes(list.size(), slots), rows);
      const auto table = values<std::uint8_t>(kTable, TensorType::u8, bytes);
      pivots.emplace(metric, std::move(list), slots, scale, table, rows);
    }
    std::shared_ptr<const ObjectSignatures> signatures;
    RowBlocks signature_rows(0);
    if (file_->find(kSignatures) != nullptr) {
      signatures = metric.signatures(tensor_bytes(kSignatureState));
      if (signatures == nullptr) {
        reject("has '{}', which are none of the metric '{}'", kSignatures, metric.name());
      }
      const std::int64_t block = kBoundBlock * signatures->bytes();
      signature_rows = RowBlocks(
          block,
          values<std::uint8_t>(kSignatures, TensorType::u8, RowBlocks::bytes_for(block, rows)),
          rows);
    }
    if (!pivots && signatures == nullptr) signature_rows = RowBlocks(0, {}, rows);
    return {metric, scale, std::move(pivots), std::move(signatures), std::move(signature_rows)};
  }

  // Of which these are where each begins, and where the last one ends.
  std::int64_t objects_in(const char* offsets_name) const {
    const TensorEntry& offsets = file_->tensor(offsets_name);
    const std::int64_t objects = (offsets.shape.empty() ? 0 : offsets.shape[0]) - 1;
    if (objects < 0 || objects > kMostPartRows) {
      reject("has {} objects, and the limit is {}", objects, kMostPartRows);
    }
    return objects;
  }

  ObjectList::Stored stored(const char* offsets_name, const char* bytes_name) const {
    const std::int64_t offsets = objects_in(offsets_name) + 1;
    return {values<std::uint64_t>(offsets_name, TensorType::u64, offsets), tensor_bytes(bytes_name),
            file_};
  }

  std::span<const std::byte> tensor_bytes(const char* name) const {
    const TensorEntry& tensor = file_->tensor(name);
    const std::int64_t size = tensor.shape.empty() ? 0 : tensor.shape[0];
    return std::as_bytes(values<std::uint8_t>(name, TensorType::u8, size));
  }

  template <class Value>
  std::span<const Value> values(const char* name, TensorType type, std::int64_t count) const {
    const TensorEntry& tensor = file_->tensor(name);
    if (tensor.type != type || tensor.shape != std::vector{count}) {
      reject("tensor '{}' is {} of [{}], not {} of [{}]", name, to_string(tensor.type),
             fmt::join(tensor.shape, ", "), to_string(type), count);
    }
    const std::span<const std::byte> bytes = file_->bytes(tensor);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kTensorAlignment != 0) {
      reject("tensor '{}' does not begin at a multiple of {} bytes", name, kTensorAlignment);
    }
    return {reinterpret_cast<const Value*>(bytes.data()), bytes.size() / sizeof(Value)};
  }

  std::shared_ptr<const TensorFile> file_;
};

// metric: null for the one that the file names, which is looked up once the sums say that this is
// its name.
void verify(const MetricFile& file, std::shared_ptr<const ObjectMetric> metric,
            const Context& context) {
  check_on_cpu(context, "an index of objects");
  Monitor monitor(context, file.file().size());
  file.file().verify(monitor);
  if (metric == nullptr) metric = file.metric_of_library();
  const MetricState state = file.read(metric);
  for (std::int64_t row = 0; row < state.objects.size(); ++row) {
    state.objects.view(row);
    const std::int64_t id = state.ids.ids()[static_cast<std::size_t>(row)];
    if (state.ids.find(id) != row) {
      fail(ErrorCode::corrupt_file, "{}: id {}, of object {}, is not found there",
           file.file().path(), id, row);
    }
    if (row % kBoundBlock == 0) monitor.check();
  }
  monitor.finish();
}

}  // namespace
}  // namespace metric_format

using namespace metric_format;

void write_metric_file(const MetricState& state, const std::string& path, const Context& context) {
  const std::vector<std::int64_t> rows = state.ids.live_rows();
  const bool all = state.ids.removed() == 0;
  const std::int64_t needed =
      (std::ssize(rows) + 1) * 16 +
      (all ? 0 : ObjectIds::bytes_for(std::ssize(rows)) + state.filter.bytes_for(std::ssize(rows)));
  if (context.memory_limit && needed > *context.memory_limit) {
    fail(ErrorCode::memory_limit,
         "saving {} objects takes {} bytes beside them but the memory limit is {}: raise it",
         rows.size(), needed, *context.memory_limit);
  }
  const ObjectIds packed_ids = all ? ObjectIds() : state.ids.compacted();
  const ObjectIds& ids = all ? state.ids : packed_ids;
  std::optional<ObjectFilter> packed_filter;
  if (!all) packed_filter = state.filter.picked(rows);
  const ObjectFilter& filter = all ? state.filter : *packed_filter;

  // A table of exactly the size that a reader expects.
  std::vector<std::uint64_t> hashes;
  for (const std::int64_t id : ids.ids()) hashes.push_back(id_hash(id));
  const std::vector<std::uint32_t> table = table_of_hashes(hashes, Monitor(context, 1));

  std::vector<TensorToWrite> tensors;
  const ListToWrite objects(state.objects, rows);
  tensors.push_back(
      tensor_in_memory(kIds, TensorType::i64, {ids.rows()}, std::as_bytes(ids.ids())));
  tensors.push_back(tensor_in_memory(kIdTable, TensorType::u32, {std::ssize(table)},
                                     std::as_bytes(std::span(table))));
  objects.add_to(tensors, kObjectOffsets, kObjectBytes);
  std::vector<std::int64_t> pivot_rows(static_cast<std::size_t>(filter.pivots()));
  std::iota(pivot_rows.begin(), pivot_rows.end(), 0);
  std::optional<ListToWrite> pivots;
  if (filter.table()) {
    pivots.emplace(filter.table()->pivots(), pivot_rows);
    pivots->add_to(tensors, kPivotOffsets, kPivotBytes);
    tensors.push_back(blocks_to_write(kTable, filter.table()->blocks()));
  }
  std::vector<std::byte> signature_state;
  if (filter.signatures() != nullptr) {
    signature_state = filter.signatures()->state();
    tensors.push_back(tensor_in_memory(kSignatureState, TensorType::u8,
                                       {std::ssize(signature_state)}, signature_state));
    tensors.push_back(blocks_to_write(kSignatures, filter.signature_rows()));
  }
  Monitor monitor(context, bytes_of_all(tensors));
  OutputFile out(path, context.cancel);
  write_tensors(out, std::move(tensors), metadata_of(state, rows), monitor);
  out.commit();
  monitor.finish();
}

MetricState open_metric_file(const std::string& path,
                             const std::shared_ptr<const ObjectMetric>& metric,
                             const OpenOptions& options) {
  return MetricFile(path, options).read(metric);
}

std::optional<MetricFileInfo> metric_file_info(const std::string& path,
                                               const OpenOptions& options) {
  const TensorFile file(path, options.most_header_bytes);
  const auto& metadata = file.header().metadata;
  const auto format = metadata.find(kFormat);
  if (format == metadata.end() || format->second != kName) return std::nullopt;
  return MetricFile(path, options).info();
}

void verify_metric_index(const std::string& path, const std::shared_ptr<const ObjectMetric>& metric,
                         const OpenOptions& options, const Context& context) {
  check_given(metric.get());
  verify(MetricFile(path, options), metric, context);
}

void verify_metric_index(const std::string& path, const OpenOptions& options,
                         const Context& context) {
  verify(MetricFile(path, options), nullptr, context);
}

}  // namespace nearfield
