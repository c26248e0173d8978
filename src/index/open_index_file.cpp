#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "index/index_file.hpp"
#include "index/index_format.hpp"
#include "io/tensor_file.hpp"

namespace nearfield {
namespace {

using namespace index_format;

// Of a centre and of a step: above what is usual (is_usual_length), and no square of them
// overflows.
constexpr float kMostOfACentre = 2e15F;

class Opening {
 public:
  Opening(const std::string& path, const OpenOptions& options)
      : options_(options), file_(std::make_shared<TensorFile>(path, options.most_header_bytes)) {}

  OpenedIndex open() {
    check_format();
    IndexHead head{.spec = read_spec(), .next_id = number(kNextId)};
    const IndexSpec& spec = head.spec;
    const std::int64_t rows = is_numbered() ? read_row_count(head.next_id) : read_rows();
    Part::Stored stored;
    stored.file = file_;
    stored.count = rows;
    stored.rows = read_vectors(spec, rows);
    stored.vectors = !is_coded_alone();
    stored.numbered = is_numbered();
    if (!stored.numbered) {
      stored.ids = values<std::int64_t>(kIds, TensorType::i64, {rows});
      stored.table = values<std::uint32_t>(kIdTable, TensorType::u32, {read_slots(kIdTable, rows)});
    }
    if (has_not_finite(spec.dtype)) {
      stored.not_finite = values<std::uint64_t>(kNotFinite, TensorType::u64, {divide_up(rows, 64)});
    }
    if (spec.keys) stored.keys = read_keys(rows);
    stored.packed = read_packed(spec, rows);
    return {std::move(head), std::make_shared<Part>(std::move(stored))};
  }

 private:
  template <class... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> what, Args&&... args) const {
    fail(ErrorCode::corrupt_file, "{}: {}", file_->path(),
         fmt::format(what, std::forward<Args>(args)...));
  }

  void check_format() const {
    const auto& metadata = file_->header().metadata;
    const auto format = metadata.find(kFormat);
    if (format != metadata.end() && format->second == kObjectsName) {
      fail(ErrorCode::invalid_argument,
           "{}: is an index of objects, not of vectors: open it as MetricIndex, under its metric "
           "'{}'",
           file_->path(), file_->metadata(kMetric));
    }
    if (format == metadata.end() || format->second != kName) {
      reject("is a safetensors file, but no index: its metadata does not say '{}: {}'{}", kFormat,
             kName, format == metadata.end() ? "" : fmt::format(", but '{}'", format->second));
    }
    if (const std::int64_t version = number(kFormatVersion); version != kVersion) {
      fail(ErrorCode::unsupported,
           "{}: is of format version {}, and this is read up to {}: open it with a newer Nearfield",
           file_->path(), version, kVersion);
    }
    if (const std::int64_t version = number(kFamilyVersion); version != kVersion) {
      fail(ErrorCode::unsupported,
           "{}: its family is of version {}, and this is read up to {}: open it with a newer "
           "Nearfield",
           file_->path(), version, kVersion);
    }
    const std::string& features = file_->metadata(kFeatures);
    if (!features.empty() && features != kPackedRows && !is_coded_alone()) {
      fail(ErrorCode::unsupported,
           "{}: needs {}, which is not known here: open it with a newer "
           "Nearfield",
           file_->path(), features);
    }
    const std::int64_t bytes = file_->size();
    if (bytes > options_.most_bytes) {
      fail(ErrorCode::unsupported, "{}: has {} bytes, more than the limit of {}", file_->path(),
           bytes, options_.most_bytes);
    }
  }

  bool is_numbered() const { return file_->metadata(kFeatures) == kNumberedCodes; }
  bool is_coded_alone() const { return is_numbered() || file_->metadata(kFeatures) == kCodedRows; }

  std::int64_t number(const char* name) const {
    const std::string& text = file_->metadata(name);
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < 0) {
      reject("'{}' in its metadata is '{}', not a number", name, text);
    }
    return value;
  }

  IndexSpec read_spec() const {
    IndexSpec spec;
    spec.family = file_->metadata(kFamily);
    spec.cols = number(kCols);
    spec.keys = number(kKeys) != 0;
    try {
      spec.dtype = parse_dtype(file_->metadata(kDType));
      spec.metric = parse_metric(file_->metadata(kMetric));
    } catch (const Error& error) {
      reject("{}", error.what());
    }
    if (spec.cols < 1 || spec.cols > kMaxCols) {
      reject("has {} columns, and the limit is {}", spec.cols, kMaxCols);
    }
    if (spec.cols > options_.most_cols) {
      fail(ErrorCode::unsupported, "{}: has {} columns, more than the limit of {}", file_->path(),
           spec.cols, options_.most_cols);
    }
    return spec;
  }

  std::int64_t read_rows() const {
    const TensorEntry& ids = file_->tensor(kIds);
    const std::int64_t rows = ids.shape.empty() ? -1 : ids.shape[0];
    if (rows < 0 || rows > kMostPartRows) {
      reject("has {} ids, and the limit is {}", rows, kMostPartRows);
    }
    return rows;
  }

  // That there are so many is compared with the tensors that have something of each.
  std::int64_t read_row_count(std::int64_t next_id) const {
    reject_beside(kNumberedCodes, {kIds, kIdTable});
    const std::int64_t rows = number(kRowCount);
    if (rows > kMostPartRows) reject("has {} rows, and the limit is {}", rows, kMostPartRows);
    if (next_id < rows) {
      reject("has {} rows, whose ids are their numbers, and ids from {} on were never used", rows,
             next_id);
    }
    return rows;
  }

  void reject_beside(const char* feature, std::initializer_list<const char*> tensors) const {
    for (const char* const name : tensors) {
      if (file_->find(name) != nullptr) {
        reject("says '{}', and has '{}' all the same", feature, name);
      }
    }
  }

  // Empty where the packed values, or codes, are all there is.
  MatrixView read_vectors(const IndexSpec& spec, std::int64_t rows) const {
    if (is_coded_alone()) {
      reject_beside(kCodedRows, {kRows, kValues});
      return {nullptr, spec.dtype, 0, spec.cols};
    }
    if (file_->metadata(kFeatures).empty()) {
      const auto values = bytes(kRows, tensor_type(spec.dtype), {rows, tensor_cols(spec)});
      return {values.data(), spec.dtype, rows, spec.cols};
    }
    if (!keeps_tiles_alone(spec)) {
      reject("says '{}', and {} of {} has rows beside them", kPackedRows, to_string(spec.metric),
             to_string(spec.dtype));
    }
    file_->tensor(kValues);  // or it says what is not there
    return {};
  }

  std::int64_t read_slots(const char* name, std::int64_t rows) const {
    const TensorEntry& table = file_->tensor(name);
    const std::int64_t slots = table.shape.empty() ? 0 : table.shape[0];
    if (slots != id_table_size(rows)) {
      reject("'{}' has {} slots for {} rows, not {}", name, slots, rows, id_table_size(rows));
    }
    return slots;
  }

  KeyTensors read_keys(std::int64_t rows) const {
    const TensorEntry& all = file_->tensor(kKeyBytes);
    const std::int64_t size = all.shape.empty() ? 0 : all.shape[0];
    return {
        .offsets = values<std::uint64_t>(kKeyOffsets, TensorType::u64, {rows + 1}),
        .bytes = bytes(kKeyBytes, TensorType::u8, {size}),
        .table = values<std::uint32_t>(kKeyTable, TensorType::u32, {read_slots(kKeyTable, rows)})};
  }

  // Files of a metric without tiles have none, and those of other writers need not.
  std::optional<StoredPacked> read_packed(const IndexSpec& spec, std::int64_t rows) const {
    if (file_->find(kValues) == nullptr) return std::nullopt;
    auto rounding = choose_rounding(spec.metric, spec.dtype, spec.dtype, spec.cols, Isa::scalar);
    if (!rounding) {
      reject("has '{}', and there is no such thing for {} of {}", kValues, to_string(spec.metric),
             to_string(spec.dtype));
    }
    if (!rounding->lossless) read_fit(*rounding);
    const std::int64_t groups = divide_up(rows, kGroupRows);
    const auto terms = bytes(kTerms, TensorType::f32, {groups, 2});
    const RoundedTensors tensors{
        .values = bytes(kValues, TensorType::u8, {TileRows::all_bytes(rows, spec.cols)}),
        .bias = values<std::int32_t>(kBias, TensorType::i32, {groups * kGroupRows}),
        .terms = {reinterpret_cast<const GroupTerms*>(terms.data()),
                  static_cast<std::size_t>(groups)},
        .odd = values<std::uint32_t>(kOdd, TensorType::u32, {groups})};
    return StoredPacked{spec.metric, *std::move(rounding), tensors};
  }

  void read_fit(BaseRounding& rounding) const {
    const auto centre = values<float>(kCentre, TensorType::f32, {rounding.cols});
    for (const float value : centre) {
      if (!(std::abs(value) < kMostOfACentre)) reject("'{}' holds {}", kCentre, value);
    }
    rounding.centre_on({centre.begin(), centre.end()});
    const std::string& step = file_->metadata(kStep);
    const auto [stop, error] =
        std::from_chars(step.data(), step.data() + step.size(), rounding.step);
    if (error != std::errc() || stop != step.data() + step.size() ||
        !(rounding.step >= kLeastStep && rounding.step < kMostOfACentre)) {
      reject("'{}' in its metadata is '{}', not a step", kStep, step);
    }
    if (number(kRotated) != 0) rounding.rotation.emplace(rounding.cols);
  }

  std::span<const std::byte> bytes(const char* name, TensorType type,
                                   const std::vector<std::int64_t>& shape) const {
    const TensorEntry& tensor = file_->tensor(name);
    if (tensor.type != type || tensor.shape != shape) {
      reject("tensor '{}' is {} of [{}], not {} of [{}]", name, to_string(tensor.type),
             fmt::join(tensor.shape, ", "), to_string(type), fmt::join(shape, ", "));
    }
    const std::span<const std::byte> bytes = file_->bytes(tensor);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kTensorAlignment != 0) {
      reject("tensor '{}' does not begin at a multiple of {} bytes", name, kTensorAlignment);
    }
    return bytes;
  }

  template <class Value>
  std::span<const Value> values(const char* name, TensorType type,
                                const std::vector<std::int64_t>& shape) const {
    const std::span<const std::byte> all = bytes(name, type, shape);
    return {reinterpret_cast<const Value*>(all.data()), all.size() / sizeof(Value)};
  }

  const OpenOptions& options_;
  std::shared_ptr<const TensorFile> file_;
};

}  // namespace

bool begins_as_index(const std::string& path) {
  constexpr std::array kBegins{std::byte{'{'}, std::byte{'"'}};
  const InputFile file(path);
  std::array<std::byte, kTensorLengthBytes + kBegins.size()> start{};
  if (file.size() < std::ssize(start)) return false;
  file.read_at(0, start);
  std::uint64_t length = 0;
  std::memcpy(&length, start.data(), kTensorLengthBytes);
  // Vectors may begin so, but hardly end as a header does where theirs would.
  if (length >> 32 != 0 || !std::equal(kBegins.begin(), kBegins.end(), start.end() - 2)) {
    return false;
  }
  const auto end = static_cast<std::int64_t>(kTensorLengthBytes + length);
  if (end > file.size()) return true;  // cut off
  std::array<std::byte, 1> last{};
  file.read_at(end - 1, last);
  return last[0] == std::byte{'}'} || last[0] == std::byte{' '};
}

OpenedIndex open_index_file(const std::string& path, const OpenOptions& options) {
  return Opening(path, options).open();
}

}  // namespace nearfield
