#include "io/tensor_file.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/checked.hpp"
#include "core/fail.hpp"

namespace nearfield {
namespace {

// Read or written between two looks at the cancel token: a few milliseconds.
constexpr std::size_t kBytesPerCheck = std::size_t{4} << 20;

constexpr std::string_view kSumPrefix = "xxh3.";
constexpr std::string_view kPadPrefix = "_pad.";

// Of the header without this sum itself.
constexpr const char* kHeaderSum = "xxh3";

std::string sum_name(std::string_view tensor) { return fmt::format("{}{}", kSumPrefix, tensor); }

class Sum {
 public:
  Sum() { XXH3_64bits_reset(&state_); }
  void add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(&state_, bytes.data(), bytes.size());
  }
  std::string text() const { return fmt::format("{:016x}", XXH3_64bits_digest(&state_)); }

 private:
  XXH3_state_t state_;
};

std::string sum_of_header(TensorHeader header) {
  header.metadata.erase(kHeaderSum);
  // As a reader has them: of those that are empty, the order in the file is not to be seen.
  std::ranges::sort(header.tensors, {}, [](const TensorEntry& tensor) {
    return std::tuple(tensor.begin, tensor.end, tensor.name);
  });
  const std::string text = format_tensor_header(header);
  Sum sum;
  sum.add(std::as_bytes(std::span(text)));
  return sum.text();
}

// In pieces, so that a cancelled one need not wait for the whole.
void in_pieces(std::span<const std::byte> bytes, const Monitor& monitor, const TakeBytes& take) {
  while (!bytes.empty()) {
    monitor.check();
    const auto piece = bytes.first(std::min(bytes.size(), kBytesPerCheck));
    take(piece);
    bytes = bytes.subspan(piece.size());
  }
}

std::int64_t read_length(const InputFile& file, std::int64_t most) {
  if (file.size() < kTensorLengthBytes) {
    fail(ErrorCode::corrupt_file,
         "{}: has {} bytes, fewer than the {} a safetensors file begins with", file.path(),
         file.size(), kTensorLengthBytes);
  }
  std::array<std::byte, kTensorLengthBytes> bytes{};
  file.read_at(0, bytes);
  std::uint64_t length = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    length = length << 8 | static_cast<std::uint64_t>(bytes[i]);
  }
  if (length > static_cast<std::uint64_t>(file.size() - kTensorLengthBytes)) {
    fail(ErrorCode::corrupt_file,
         "{}: says that its header has {} bytes, and has {} in all: it is cut off, or no "
         "safetensors "
         "file",
         file.path(), length, file.size());
  }
  if (length > static_cast<std::uint64_t>(most)) {
    fail(ErrorCode::unsupported, "{}: its header has {} bytes, more than the limit of {}: raise it",
         file.path(), length, most);
  }
  return static_cast<std::int64_t>(length);
}

// Padding, so that what follows is aligned: a tensor of its own, since the format knows no gaps.
TensorToWrite padding(std::int64_t bytes, int number) {
  static constexpr std::array<std::byte, kTensorAlignment> kZeros{};
  return tensor_in_memory(fmt::format("{}{}", kPadPrefix, number), TensorType::u8, {bytes},
                          std::span(kZeros).first(static_cast<std::size_t>(bytes)));
}

std::vector<TensorToWrite> with_padding(std::vector<TensorToWrite> tensors) {
  std::vector<TensorToWrite> padded;
  std::int64_t end = 0;
  int pads = 0;
  for (TensorToWrite& tensor : tensors) {
    if (const std::int64_t gap = round_up(end, kTensorAlignment) - end; gap > 0) {
      padded.push_back(padding(gap, pads++));
      end += gap;
    }
    end = checked_add(end, bytes_of(tensor.type, tensor.shape), "bytes of the file");
    padded.push_back(std::move(tensor));
  }
  return padded;
}

// Calls give and checks that it gave what the shape says.
void give_all(const TensorToWrite& tensor, const Monitor& monitor, const TakeBytes& take) {
  std::int64_t given = 0;
  tensor.give([&](std::span<const std::byte> bytes) {
    given += std::ssize(bytes);
    in_pieces(bytes, monitor, take);
  });
  const std::int64_t expected = bytes_of(tensor.type, tensor.shape);
  if (given != expected) {
    fail(ErrorCode::invalid_argument, "tensor '{}' was given {} bytes, and its shape has {}",
         tensor.name, given, expected);
  }
}

// As long as that with the sums, whose places it has.
TensorHeader header_without_sums(const std::vector<TensorToWrite>& tensors,
                                 std::map<std::string, std::string> metadata) {
  const std::string place(Sum().text().size(), '0');
  TensorHeader header{.tensors = {}, .metadata = std::move(metadata)};
  std::int64_t end = 0;
  for (const TensorToWrite& tensor : tensors) {
    const std::int64_t begin = end;
    end += bytes_of(tensor.type, tensor.shape);
    header.tensors.push_back({tensor.name, tensor.type, tensor.shape, begin, end});
    header.metadata[sum_name(tensor.name)] = place;
  }
  header.metadata[kHeaderSum] = place;
  return header;
}

}  // namespace

TensorFile::TensorFile(const std::string& path, std::int64_t most_header_bytes)
    : file_(path), mapping_(nullptr, 0) {
  const std::int64_t length = read_length(file_, most_header_bytes);
  data_ = kTensorLengthBytes + length;
  std::string json(static_cast<std::size_t>(length), '\0');
  file_.read_at(kTensorLengthBytes, std::as_writable_bytes(std::span(json)));
  header_ = parse_tensor_header(path, json, file_.size() - data_);
  mapping_ = file_.map();
}

const TensorEntry* TensorFile::find(std::string_view name) const {
  const auto found = std::ranges::find(header_.tensors, name, &TensorEntry::name);
  return found == header_.tensors.end() ? nullptr : &*found;
}

const TensorEntry& TensorFile::tensor(std::string_view name) const {
  const TensorEntry* const found = find(name);
  if (found == nullptr) {
    fail(ErrorCode::corrupt_file, "{}: has no tensor '{}'", path(), name);
  }
  return *found;
}

const std::string& TensorFile::metadata(const std::string& name) const {
  const auto found = header_.metadata.find(name);
  if (found == header_.metadata.end()) {
    fail(ErrorCode::corrupt_file, "{}: has no '{}' in its metadata", path(), name);
  }
  return found->second;
}

void TensorFile::verify(Monitor& monitor) const {
  if (const std::string sum = sum_of_header(header_); sum != metadata(kHeaderSum)) {
    fail(ErrorCode::corrupt_file,
         "{}: its header has the sum {}, and {} when it was written: copy or build it again",
         path(), sum, metadata(kHeaderSum));
  }
  for (const TensorEntry& entry : header_.tensors) {
    Sum sum;
    in_pieces(bytes(entry), monitor, [&](std::span<const std::byte> piece) {
      sum.add(piece);
      monitor.advance(std::ssize(piece));
    });
    const std::string& expected = metadata(sum_name(entry.name));
    if (sum.text() != expected) {
      fail(ErrorCode::corrupt_file,
           "{}: the bytes of tensor '{}' have the sum {}, and {} when they were written: copy or "
           "build it again",
           path(), entry.name, sum.text(), expected);
    }
  }
}

TensorToWrite tensor_in_memory(std::string name, TensorType type, std::vector<std::int64_t> shape,
                               std::span<const std::byte> bytes) {
  return {std::move(name), type, std::move(shape), [bytes](const TakeBytes& take) { take(bytes); }};
}

std::int64_t bytes_of_all(std::span<const TensorToWrite> tensors) {
  std::int64_t bytes = 0;
  for (const TensorToWrite& tensor : tensors) bytes += bytes_of(tensor.type, tensor.shape);
  return bytes;
}

void write_tensors(OutputFile& out, std::vector<TensorToWrite> tensors,
                   std::map<std::string, std::string> metadata, Monitor& monitor) {
  tensors = with_padding(std::move(tensors));
  TensorHeader header = header_without_sums(tensors, std::move(metadata));
  const auto give_sum = [&](const TensorToWrite& tensor, const TakeBytes& take) {
    Sum sum;
    give_all(tensor, monitor, [&](std::span<const std::byte> bytes) {
      sum.add(bytes);
      take(bytes);
    });
    header.metadata[sum_name(tensor.name)] = sum.text();
  };
  const auto write = [&](const TensorToWrite& tensor, std::span<const std::byte> bytes) {
    out.write(bytes);
    if (!tensor.name.starts_with(kPadPrefix)) monitor.advance(std::ssize(bytes));
  };
  // To make them a second time would take as long again: of tables, nearly all there is to do.
  if (out.has_start()) {
    out.write(format_tensor_header(header));
    for (const TensorToWrite& tensor : tensors) {
      give_sum(tensor, [&](std::span<const std::byte> bytes) { write(tensor, bytes); });
    }
    header.metadata[kHeaderSum] = sum_of_header(header);
    out.rewrite_start(format_tensor_header(header));
    return;
  }
  for (const TensorToWrite& tensor : tensors) give_sum(tensor, [](std::span<const std::byte>) {});
  header.metadata[kHeaderSum] = sum_of_header(header);
  out.write(format_tensor_header(header));
  for (const TensorToWrite& tensor : tensors) {
    give_all(tensor, monitor, [&](std::span<const std::byte> bytes) { write(tensor, bytes); });
  }
}

}  // namespace nearfield
