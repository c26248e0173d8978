#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/tasks.hpp"
#include "index/index_file.hpp"
#include "index/index_format.hpp"
#include "index/packing.hpp"
#include "io/tensor_file.hpp"

namespace nearfield {
namespace {

using namespace index_format;

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

RowBits not_finite_of(std::span<const PartView> parts, std::int64_t rows) {
  RowBits bits(words_of_rows(rows));
  std::int64_t to = 0;
  for_each_run(parts, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row, ++to) {
      const std::uint64_t word =
          view.part->not_finite(static_cast<std::size_t>(row / 64), view.count);
      bits[static_cast<std::size_t>(to / 64)] |= (word >> (row % 64) & 1) << (to % 64);
    }
  });
  return bits;
}

std::vector<std::uint32_t> table_of(std::span<const std::int64_t> ids, const Monitor& monitor) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(ids.size());
  for (const std::int64_t id : ids) hashes.push_back(id_hash(id));
  return table_of_hashes(hashes, monitor);
}

// Keys of all rows.
class KeysToWrite {
 public:
  KeysToWrite(std::span<const PartView> parts, const Monitor& monitor)
      : parts_(parts), offsets_{0} {
    std::vector<std::uint64_t> hashes;
    for_each_key([&](std::string_view key) {
      offsets_.push_back(offsets_.back() + key.size());
      hashes.push_back(key_hash(key));
    });
    table_ = table_of_hashes(hashes, monitor);
  }

  // It must outlive them.
  void add_to(std::vector<TensorToWrite>& tensors) const {
    tensors.push_back(tensor_in_memory(kKeyOffsets, TensorType::u64, {std::ssize(offsets_)},
                                       std::as_bytes(std::span(offsets_))));
    tensors.push_back({kKeyBytes,
                       TensorType::u8,
                       {static_cast<std::int64_t>(offsets_.back())},
                       [this](const TakeBytes& take) {
                         for_each_key(
                             [&](std::string_view key) { take(std::as_bytes(std::span(key))); });
                       }});
    tensors.push_back(tensor_in_memory(kKeyTable, TensorType::u32, {std::ssize(table_)},
                                       std::as_bytes(std::span(table_))));
  }

 private:
  template <class Use>
  void for_each_key(const Use& use) const {
    for_each_run(parts_, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) use(view.part->key(row));
    });
  }

  std::span<const PartView> parts_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint32_t> table_;
};

}  // namespace

void write_index_file(OutputFile& out, const IndexHead& head, std::span<const PartView> parts,
                      const Context& context) {
  Monitor preparing(context, 1);
  const std::vector<std::int64_t> ids = live_ids(parts);
  if (std::ssize(ids) > kMostPartRows) {
    fail(ErrorCode::unsupported,
         "a file holds at most {} vectors, and the index has {}: save parts", kMostPartRows,
         ids.size());
  }
  const std::vector<std::uint32_t> table = table_of(ids, preparing);
  const auto packing = Packing::of(head.spec, parts, resolve_threads(context.threads), preparing);
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
  RowBits not_finite;
  if (has_not_finite(spec.dtype)) {
    not_finite = not_finite_of(parts, rows);
    tensors.push_back(tensor_in_memory(kNotFinite, TensorType::u64, {std::ssize(not_finite)},
                                       std::as_bytes(std::span(not_finite))));
  }
  std::optional<KeysToWrite> keys;
  if (spec.keys) keys.emplace(parts, preparing).add_to(tensors);
  std::map<std::string, std::string> metadata{{kFormat, std::string(kName)},
                                              {kFormatVersion, fmt::format("{}", kVersion)},
                                              {kFeatures, ""},
                                              {kFamily, spec.family},
                                              {kFamilyVersion, fmt::format("{}", kVersion)},
                                              {kMetric, to_string(spec.metric)},
                                              {kDType, std::string(to_string(spec.dtype))},
                                              {kCols, fmt::format("{}", spec.cols)},
                                              {kKeys, spec.keys ? "1" : "0"},
                                              {kNextId, fmt::format("{}", head.next_id)}};
  if (packing) packing->add_to(tensors, metadata);
  std::int64_t bytes = 0;
  for (const TensorToWrite& tensor : tensors) bytes += bytes_of(tensor.type, tensor.shape);
  Monitor monitor(context, bytes);
  write_tensors(out, std::move(tensors), std::move(metadata), monitor);
  monitor.finish();
}

}  // namespace nearfield
