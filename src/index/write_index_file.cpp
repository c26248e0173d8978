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

// Whether there are codes alone, whose ids are the numbers that their rows get: none are written.
// With vectors they are: ranges of tiles and runs of tables are searched with their piece of them.
bool are_numbered_codes(std::span<const PartView> parts) {
  bool numbered = !parts.empty();
  std::int64_t next = 0;
  for_each_run(parts, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
    numbered = numbered && !view.part->has_vectors();
    for (std::int64_t row = begin; numbered && row < end; ++row) {
      numbered = view.part->id(row) == next++;
    }
  });
  return numbered;
}

// Ids of all rows.
class IdsToWrite {
 public:
  IdsToWrite(std::span<const PartView> parts, std::int64_t rows, const Monitor& monitor) {
    std::vector<std::uint64_t> hashes;
    ids_.reserve(static_cast<std::size_t>(rows));
    hashes.reserve(static_cast<std::size_t>(rows));
    for_each_run(parts, [&](const PartView& view, std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        ids_.push_back(view.part->id(row));
        hashes.push_back(id_hash(ids_.back()));
      }
    });
    table_ = table_of_hashes(hashes, monitor);
  }

  // It must outlive them.
  void add_to(std::vector<TensorToWrite>& tensors) const {
    tensors.push_back(tensor_in_memory(kIds, TensorType::i64, {std::ssize(ids_)},
                                       std::as_bytes(std::span(ids_))));
    tensors.push_back(tensor_in_memory(kIdTable, TensorType::u32, {std::ssize(table_)},
                                       std::as_bytes(std::span(table_))));
  }

 private:
  std::vector<std::int64_t> ids_;
  std::vector<std::uint32_t> table_;
};

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

// Keys of all rows.
class KeysToWrite {
 public:
  KeysToWrite(std::span<const PartView> parts, std::int64_t rows, const Monitor& monitor)
      : parts_(parts) {
    std::vector<std::uint64_t> hashes;
    hashes.reserve(static_cast<std::size_t>(rows));
    offsets_.reserve(static_cast<std::size_t>(rows + 1));
    offsets_.push_back(0);
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

// Beside the index: the tables of ids and keys, what is packed but its values, which are made in
// pieces, and one of those; and a copy of the bits of rows that live.
std::int64_t bytes_to_write(const IndexSpec& spec, std::span<const PartView> parts,
                            std::int64_t rows, int threads) {
  constexpr std::int64_t kOfAnId = 8 + 8;  // itself and its hash
  constexpr std::int64_t kOfAKey = 8 + 8;  // where it begins, and its hash
  const std::int64_t table = 4 * id_table_size(rows);
  std::int64_t bytes =
      kBytesOfAFile + 8 * divide_up(rows, 64) + Packing::bytes_for(spec, rows, threads);
  if (!are_numbered_codes(parts)) bytes += rows * kOfAnId + table;
  if (spec.keys) bytes += rows * kOfAKey + table;
  for (const PartView& view : parts) {
    if (view.live != nullptr) bytes += 8 * std::ssize(*view.live);
  }
  return bytes;
}

}  // namespace

void check_writing(const IndexSpec& spec, const Family& family, std::span<const PartView> parts,
                   const Context& context) {
  const std::int64_t rows = live_rows(parts);
  if (rows > kMostPartRows) {
    fail(ErrorCode::unsupported,
         "a file holds at most {} vectors, and the index has {}: save parts", kMostPartRows, rows);
  }
  const int threads = resolve_threads(context.threads);
  const std::int64_t needed =
      bytes_to_write(spec, parts, rows, threads) + family.bytes_to_write(parts, threads);
  if (context.memory_limit && needed > *context.memory_limit) {
    fail(ErrorCode::memory_limit,
         "saving {} vectors takes {} bytes beside them but the memory limit is {}: raise it", rows,
         needed, *context.memory_limit);
  }
}

std::map<std::string, std::string> index_metadata(const IndexHead& head,
                                                  const std::string& features) {
  const IndexSpec& spec = head.spec;
  return {{kFormat, std::string(kName)},
          {kFormatVersion, fmt::format("{}", kVersion)},
          {kFeatures, features},
          {kFamily, spec.family},
          {kFamilyVersion, fmt::format("{}", kVersion)},
          {kMetric, to_string(spec.metric)},
          {kDType, std::string(to_string(spec.dtype))},
          {kCols, fmt::format("{}", spec.cols)},
          {kKeys, spec.keys ? "1" : "0"},
          {kNextId, fmt::format("{}", head.next_id)}};
}

std::map<std::string, std::string> numbered_metadata(const IndexHead& head, std::int64_t rows) {
  auto metadata = index_metadata(head, kNumberedCodes);
  metadata[kRowCount] = fmt::format("{}", rows);
  return metadata;
}

void write_index_file(OutputFile& out, const IndexHead& head, const Family& family,
                      std::span<const PartView> parts, const Context& context) {
  Monitor preparing(context, 1);
  const std::int64_t rows = live_rows(parts);
  const bool numbered = are_numbered_codes(parts);
  std::optional<IdsToWrite> ids;
  if (!numbered) ids.emplace(parts, rows, preparing);
  const auto packing = Packing::of(head.spec, parts, resolve_threads(context.threads), preparing);
  const IndexSpec& spec = head.spec;
  std::vector<TensorToWrite> tensors;
  const bool packed_alone = keeps_tiles_alone(spec);
  const Context making{
      .threads = context.threads, .deadline = context.deadline, .cancel = context.cancel};
  const auto of_family = family.tensors(parts, making, preparing);
  const bool coded_alone = of_family != nullptr && !family.keeps_vectors(rows);
  if (!packed_alone && !coded_alone) {
    tensors.push_back(
        {kRows, tensor_type(spec.dtype), {rows, tensor_cols(spec)}, [&](const TakeBytes& take) {
           give_rows(parts, take);
         }});
  }
  if (ids) ids->add_to(tensors);
  RowBits not_finite;
  if (has_not_finite(spec.dtype)) {
    not_finite = not_finite_of(parts, rows);
    tensors.push_back(tensor_in_memory(kNotFinite, TensorType::u64, {std::ssize(not_finite)},
                                       std::as_bytes(std::span(not_finite))));
  }
  std::optional<KeysToWrite> keys;
  if (spec.keys) keys.emplace(parts, rows, preparing).add_to(tensors);
  const char* const features = packed_alone ? kPackedRows : coded_alone ? kCodedRows : "";
  auto metadata = numbered ? numbered_metadata(head, rows) : index_metadata(head, features);
  if (packing) packing->add_to(tensors, metadata);
  if (of_family != nullptr) of_family->add_to(tensors);
  Monitor monitor(context, bytes_of_all(tensors));
  write_tensors(out, std::move(tensors), std::move(metadata), monitor);
  monitor.finish();
}

}  // namespace nearfield
