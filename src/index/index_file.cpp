#include "index/index_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "io/tensor_file.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kFormat = "nearfield index";
constexpr std::int64_t kVersion = 1;

// Names in the metadata and of the tensors.
constexpr const char* kFormatName = "format";
constexpr const char* kVersionName = "format_version";
constexpr const char* kFeaturesName = "features";
constexpr const char* kFamilyName = "family";
constexpr const char* kMetricName = "metric";
constexpr const char* kDTypeName = "dtype";
constexpr const char* kColsName = "cols";
constexpr const char* kNextIdName = "next_id";
constexpr const char* kRows = "rows";
constexpr const char* kIds = "ids";
constexpr const char* kIdTable = "id_table";

TensorType tensor_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return TensorType::f64;
    case DType::f32:
      return TensorType::f32;
    case DType::f16:
      return TensorType::f16;
    case DType::bf16:
      return TensorType::bf16;
    case DType::i8:
      return TensorType::i8;
    case DType::u8:
    case DType::bits:
      return TensorType::u8;
  }
  fail(ErrorCode::invalid_argument, "no type of number");
}

// Of a row as a tensor has it: bits are bytes there.
std::int64_t tensor_cols(const IndexSpec& spec) {
  return spec.dtype == DType::bits ? row_bytes(spec.dtype, spec.cols) : spec.cols;
}

// ---- opening ----

class Opening {
 public:
  Opening(const std::string& path, const OpenOptions& options)
      : options_(options), file_(std::make_shared<TensorFile>(path, options.most_header_bytes)) {}

  OpenedIndex open() {
    check_format();
    IndexHead head{.spec = read_spec(), .next_id = number(kNextIdName)};
    const std::int64_t rows = read_rows();
    const auto ids = values<std::int64_t>(kIds, TensorType::i64, {rows});
    const auto values_of_rows =
        bytes(kRows, tensor_type(head.spec.dtype), {rows, tensor_cols(head.spec)});
    const auto table = values<std::uint32_t>(kIdTable, TensorType::u32, {read_slots(rows)});
    const MatrixView view(values_of_rows.data(), head.spec.dtype, rows, head.spec.cols);
    return {std::move(head), std::make_shared<Part>(file_, view, ids, table)};
  }

 private:
  template <class... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> what, Args&&... args) const {
    fail(ErrorCode::corrupt_file, "{}: {}", file_->path(),
         fmt::format(what, std::forward<Args>(args)...));
  }

  void check_format() const {
    const auto& metadata = file_->header().metadata;
    const auto format = metadata.find(kFormatName);
    if (format == metadata.end() || format->second != kFormat) {
      reject("is a safetensors file, but no index: its metadata does not say '{}: {}'", kFormatName,
             kFormat);
    }
    if (const std::int64_t version = number(kVersionName); version != kVersion) {
      fail(ErrorCode::unsupported,
           "{}: is of format version {}, and this is read up to {}: open it with a newer Nearfield",
           file_->path(), version, kVersion);
    }
    if (const std::string& features = file_->metadata(kFeaturesName); !features.empty()) {
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
    spec.family = file_->metadata(kFamilyName);
    spec.cols = number(kColsName);
    try {
      spec.dtype = parse_dtype(file_->metadata(kDTypeName));
      spec.metric = parse_metric(file_->metadata(kMetricName));
    } catch (const Error& error) {
      reject("{}", error.what());
    }
    if (spec.cols < 1 || spec.cols > std::min(options_.most_cols, kMaxCols)) {
      reject("has {} columns, and the limit is {}", spec.cols,
             std::min(options_.most_cols, kMaxCols));
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

  std::int64_t read_slots(std::int64_t rows) const {
    const TensorEntry& table = file_->tensor(kIdTable);
    const std::int64_t slots = table.shape.empty() ? 0 : table.shape[0];
    if (slots != id_table_size(rows)) {
      reject("has a table of {} slots for {} ids, not of {}", slots, rows, id_table_size(rows));
    }
    return slots;
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

// ---- writing ----

// Calls use(view, row, end) for each run of live rows.
template <class Use>
void for_each_run(std::span<const PartView> parts, const Use& use) {
  for (const PartView& view : parts) {
    if (view.live == nullptr) {
      use(view, std::int64_t{0}, view.count);
      continue;
    }
    for (std::int64_t row = 0; row < view.count;) {
      if (!view.lives(row)) {
        ++row;
        continue;
      }
      const std::int64_t begin = row;
      while (row < view.count && view.lives(row)) ++row;
      use(view, begin, row);
    }
  }
}

void give_rows(std::span<const PartView> parts, const TakeBytes& take) {
  for_each_run(parts, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
    const MatrixView rows = view.rows();
    take({rows.row(begin), static_cast<std::size_t>((end - begin) * rows.stride_bytes())});
  });
}

std::vector<std::int64_t> live_ids(std::span<const PartView> parts) {
  std::vector<std::int64_t> ids;
  for_each_run(parts, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
    const auto all = view.ids();
    ids.insert(ids.end(), all.begin() + begin, all.begin() + end);
  });
  return ids;
}

std::vector<std::uint32_t> table_of(std::span<const std::int64_t> ids) {
  std::vector<std::uint32_t> table(static_cast<std::size_t>(id_table_size(std::ssize(ids))));
  for (std::size_t row = 0; row < ids.size(); ++row) {
    table[id_slot(table, ids, ids[row])] = static_cast<std::uint32_t>(row + 1);
  }
  return table;
}

}  // namespace

bool begins_as_index(const std::string& path) {
  const InputFile file(path);
  std::array<std::byte, kTensorLengthBytes + 1> start{};
  if (file.size() < std::ssize(start)) return false;
  file.read_at(0, start);
  // A header has less than 2^32 bytes, so that the last four of its length are zero.
  return start.back() == std::byte{'{'} &&
         std::all_of(start.begin() + 4, start.end() - 1,
                     [](std::byte b) { return b == std::byte{0}; });
}

OpenedIndex open_index_file(const std::string& path, const OpenOptions& options) {
  return Opening(path, options).open();
}

void write_index_file(OutputFile& out, const IndexHead& head, std::span<const PartView> parts,
                      Monitor& monitor) {
  const std::vector<std::int64_t> ids = live_ids(parts);
  if (std::ssize(ids) > kMostPartRows) {
    fail(ErrorCode::unsupported,
         "a file holds at most {} vectors, and the index has {}: save parts", kMostPartRows,
         ids.size());
  }
  const std::vector<std::uint32_t> table = table_of(ids);
  const std::int64_t rows = std::ssize(ids);
  const IndexSpec& spec = head.spec;
  std::vector<TensorToWrite> tensors;
  tensors.push_back(
      {kRows, tensor_type(spec.dtype), {rows, tensor_cols(spec)}, [&](const TakeBytes& take) {
         give_rows(parts, take);
       }});
  tensors.push_back(tensor_in_memory(kIds, TensorType::i64, {rows}, std::as_bytes(std::span(ids))));
  tensors.push_back(tensor_in_memory(kIdTable, TensorType::u32, {std::ssize(table)},
                                     std::as_bytes(std::span(table))));
  write_tensors(out, std::move(tensors),
                {{kFormatName, std::string(kFormat)},
                 {kVersionName, fmt::format("{}", kVersion)},
                 {kFeaturesName, ""},
                 {kFamilyName, spec.family},
                 {kMetricName, to_string(spec.metric)},
                 {kDTypeName, std::string(to_string(spec.dtype))},
                 {kColsName, fmt::format("{}", spec.cols)},
                 {kNextIdName, fmt::format("{}", head.next_id)}},
                monitor);
}

}  // namespace nearfield
