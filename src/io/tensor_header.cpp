#include "io/tensor_header.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/checked.hpp"
#include "core/fail.hpp"

namespace nearfield {
namespace {

struct TypeInfo {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<TypeInfo, 12> kTypes{{{"U8", 1},
                                           {"I8", 1},
                                           {"U16", 2},
                                           {"I16", 2},
                                           {"U32", 4},
                                           {"I32", 4},
                                           {"U64", 8},
                                           {"I64", 8},
                                           {"F16", 2},
                                           {"BF16", 2},
                                           {"F32", 4},
                                           {"F64", 8}}};

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kMostDimensions = 8;

// Takes the JSON as it is read: an object of objects, in which nothing may be missing, doubled or
// unknown. A tree of it would forget what stood there twice.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& path) : path_(path) {}

  TensorHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    if (depth_ == 2 || in_array_) reject("has an object within '{}'", name_);
    if (depth_ == 1 && name_ != kMetadata) header_.tensors.emplace_back().name = name_;
    ++depth_;
    fields_.clear();
    return true;
  }
  bool key(std::string& text) override {
    if (depth_ == 1) {
      name_ = text;
      if (name_.empty()) reject("has a tensor without a name");
      if (!names_.insert(name_).second) reject("has '{}' twice", name_);
    } else {
      field_ = text;
      if (!fields_.insert(field_).second) reject("has '{}' of '{}' twice", field_, name_);
    }
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1 && name_ != kMetadata && fields_.size() != 3) {
      reject("has {} of the 3 fields dtype, shape and data_offsets of '{}'", fields_.size(), name_);
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != 2 || name_ == kMetadata || in_array_ ||
        (field_ != "shape" && field_ != "data_offsets")) {
      unexpected();
    }
    in_array_ = true;
    return true;
  }
  bool end_array() override {
    in_array_ = false;
    if (field_ == "data_offsets" && offsets_.size() != 2) {
      reject("has {} data_offsets of '{}', not 2", offsets_.size(), name_);
    }
    if (field_ == "data_offsets") {
      header_.tensors.back().begin = offsets_[0];
      header_.tensors.back().end = offsets_[1];
      offsets_.clear();
    }
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (!in_array_) unexpected();
    std::vector<std::int64_t>& numbers =
        field_ == "shape" ? header_.tensors.back().shape : offsets_;
    if (value > std::uint64_t{INT64_MAX}) reject("has {} in '{}', above 2^63", value, name_);
    if (numbers.size() == kMostDimensions) {
      reject("has more than {} numbers in {} of '{}'", kMostDimensions, field_, name_);
    }
    numbers.push_back(static_cast<std::int64_t>(value));
    return true;
  }
  bool string(std::string& text) override {
    if (depth_ != 2 || in_array_) unexpected();
    if (name_ == kMetadata) {
      header_.metadata.emplace(field_, text);
    } else if (field_ == "dtype") {
      header_.tensors.back().type = type_of(text);
    } else {
      unexpected();
    }
    return true;
  }

  bool null() override { unexpected(); }
  bool boolean(bool) override { unexpected(); }
  bool number_integer(std::int64_t) override { unexpected(); }
  bool number_float(double, const std::string&) override { unexpected(); }
  bool binary(binary_t&) override { unexpected(); }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    reject("is no JSON at byte {}", at);
  }

 private:
  template <class... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> what, Args&&... args) const {
    fail(ErrorCode::corrupt_file, "{}: the header {}", path_,
         fmt::format(what, std::forward<Args>(args)...));
  }
  [[noreturn]] void unexpected() const {
    reject("has a value where none is expected, in '{}'", name_);
  }

  TensorType type_of(const std::string& name) const {
    const auto* const found = std::ranges::find(kTypes, name, &TypeInfo::name);
    if (found == kTypes.end()) {
      fail(ErrorCode::unsupported, "{}: tensor '{}' has values of type {}, which is not read",
           path_, name_, name);
    }
    return static_cast<TensorType>(found - kTypes.begin());
  }

  const std::string& path_;
  TensorHeader header_;
  int depth_ = 0;
  bool in_array_ = false;
  std::string name_;   // of the tensor, or kMetadata
  std::string field_;  // of it
  std::set<std::string> names_;
  std::set<std::string> fields_;
  std::vector<std::int64_t> offsets_;
};

// Whether the tensors are all of the data, and each is as large as its shape.
void check_places(const std::string& path, const std::vector<TensorEntry>& tensors,
                  std::int64_t data_bytes) {
  std::int64_t end = 0;
  for (const TensorEntry& tensor : tensors) {
    if (tensor.begin != end || tensor.end < tensor.begin || tensor.end > data_bytes) {
      fail(ErrorCode::corrupt_file,
           "{}: tensor '{}' is at bytes {} to {} of {}, but the one before it ends at {}: the file "
           "is cut off or damaged",
           path, tensor.name, tensor.begin, tensor.end, data_bytes, end);
    }
    end = tensor.end;
    std::int64_t bytes = 0;
    try {
      bytes = bytes_of(tensor.type, tensor.shape);
    } catch (const Error& error) {
      fail(ErrorCode::corrupt_file, "{}: tensor '{}': {}", path, tensor.name, error.what());
    }
    if (bytes != end - tensor.begin) {
      fail(ErrorCode::corrupt_file,
           "{}: tensor '{}' of shape [{}] and type {} takes {} bytes, not {}", path, tensor.name,
           fmt::join(tensor.shape, ", "), to_string(tensor.type), bytes, end - tensor.begin);
    }
  }
  if (end != data_bytes) {
    fail(ErrorCode::corrupt_file, "{}: {} bytes follow the header, and its tensors are {} of them",
         path, data_bytes, end);
  }
}

}  // namespace

std::string_view to_string(TensorType type) { return kTypes[static_cast<std::size_t>(type)].name; }

std::int64_t bytes_of(TensorType type) { return kTypes[static_cast<std::size_t>(type)].bytes; }

std::int64_t bytes_of(TensorType type, const std::vector<std::int64_t>& shape) {
  // Where one side is 0 the others may be anything: 0 comes first, so that nothing overflows.
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::int64_t bytes = bytes_of(type);
  for (const std::int64_t side : shape) bytes = checked_mul(bytes, side, "bytes of a tensor");
  return bytes;
}

TensorHeader parse_tensor_header(const std::string& path, std::string_view json,
                                 std::int64_t data_bytes) {
  HeaderReader reader(path);
  nlohmann::json::sax_parse(json, &reader);
  TensorHeader header = reader.take();
  // By name where places are equal, as those of empty tensors are.
  std::ranges::sort(header.tensors, [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_places(path, header.tensors, data_bytes);
  return header;
}

std::string format_tensor_header(const TensorHeader& header) {
  nlohmann::ordered_json json;
  if (!header.metadata.empty()) json[kMetadata] = header.metadata;
  for (const TensorEntry& tensor : header.tensors) {
    json[tensor.name] = {{"dtype", to_string(tensor.type)},
                         {"shape", tensor.shape},
                         {"data_offsets", {tensor.begin, tensor.end}}};
  }
  std::string text = json.dump();
  const auto size = kTensorLengthBytes + std::ssize(text);
  text.append(static_cast<std::size_t>(round_up(size, kTensorAlignment) - size), ' ');
  std::string out;
  for (std::int64_t i = 0; i < kTensorLengthBytes; ++i) {
    out += static_cast<char>(text.size() >> (8 * i) & 0xFF);
  }
  return out + text;
}

}  // namespace nearfield
