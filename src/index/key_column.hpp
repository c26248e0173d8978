// A key for each row of a part: any bytes, and the way back from them to the row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nearfield {

// Of a key, which may have any length, what a message shows.
inline std::string_view quotable(std::string_view key) {
  constexpr std::size_t kMost = 100;
  return key.substr(0, kMost);
}

// Where a key is looked for first. Part of the file format: XXH3 of its bytes, 64 bits.
std::uint64_t key_hash(std::string_view key);

// As it lies in a file.
struct KeyTensors {
  std::span<const std::uint64_t> offsets;  // of each row, and of the end
  std::span<const std::byte> bytes;
  std::span<const std::uint32_t> table;  // as that of ids: 0, or a row + 1
};

class KeyColumn {
 public:
  // In memory, for so many rows.
  explicit KeyColumn(std::int64_t capacity);
  // What that takes, beside what a key has in memory of its own.
  static std::int64_t bytes_for(std::int64_t capacity);
  static std::int64_t bytes_of_its_own(std::string_view key);
  // Looks at what a file holds, which is not to be trusted: offsets are checked as they are used.
  explicit KeyColumn(const KeyTensors& file) : file_(file) {}

  std::int64_t bytes() const;

  std::string_view key(std::int64_t row) const;

  // In memory. It is found only after `enter`, which is not called while others look for keys.
  void put(std::int64_t row, std::string_view key) { own_[static_cast<std::size_t>(row)] = key; }
  void enter(std::int64_t row);

  std::optional<std::int64_t> find(std::string_view key) const;

 private:
  std::span<const std::uint32_t> table() const;
  std::int64_t rows() const;
  std::size_t slot(std::string_view key) const;

  std::vector<std::string> own_;
  std::vector<std::uint32_t> own_table_;
  std::optional<KeyTensors> file_;
};

}  // namespace nearfield
