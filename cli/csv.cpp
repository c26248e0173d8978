#include "csv.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nearfield/error.hpp>
#include <nearfield/output_file.hpp>

#include "interrupt.hpp"

namespace nearfield::cli {
namespace {

std::string_view query_header(const KeysOf& keys) {
  return keys ? "query,rank,id,distance,key\n" : "query,rank,id,distance\n";
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

// Text is long and slow to make: Ctrl-C stops it too.
class CsvFile {
 public:
  CsvFile(const std::string& path, std::string_view header) : path_(path), file_(path) {
    file_.write(header);
  }

  template <class... Args>
  void write(fmt::format_string<Args...> line, Args&&... args) {
    constexpr std::int64_t kLinesPerCheck = 1 << 14;
    if (++lines_ % kLinesPerCheck == 0 && interrupted()) {
      throw Error(ErrorCode::cancelled, fmt::format("{}: cancelled after {} lines", path_, lines_));
    }
    file_.write(fmt::format(line, std::forward<Args>(args)...));
  }

  void commit() { file_.commit(); }

 private:
  std::string path_;
  OutputFile file_;
  std::int64_t lines_ = 0;
};

void write_query(CsvFile& file, std::size_t query, std::span<const std::int64_t> ids,
                 std::span<const float> distances, const KeysOf& keys) {
  const std::vector<std::string> names = keys ? keys(ids) : std::vector<std::string>();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string key = keys ? "," + quoted(names[i]) : "";
    file.write("{},{},{},{}{}\n", query, i + 1, ids[i], distances[i], key);
  }
}

}  // namespace

void write_csv(const std::string& path, const Neighbors& found, const KeysOf& keys) {
  CsvFile file(path, query_header(keys));
  for (std::int64_t query = 0; query < found.queries; ++query) {
    const auto at = static_cast<std::size_t>(query);
    const auto count = static_cast<std::size_t>(found.counts[at]);
    write_query(file, at, found.ids_of(query).first(count), found.distances_of(query).first(count),
                keys);
  }
  file.commit();
}

void write_csv(const std::string& path, const Ranges& found, const KeysOf& keys) {
  CsvFile file(path, query_header(keys));
  for (std::size_t query = 0; query + 1 < found.offsets.size(); ++query) {
    const auto begin = static_cast<std::size_t>(found.offsets[query]);
    const auto count = static_cast<std::size_t>(found.offsets[query + 1]) - begin;
    write_query(file, query, std::span(found.ids).subspan(begin, count),
                std::span(found.distances).subspan(begin, count), keys);
  }
  file.commit();
}

void write_ids_csv(const std::string& path, const Ranges& found, const KeysOf& keys) {
  CsvFile file(path, "query,id,key\n");
  for (std::size_t query = 0; query + 1 < found.offsets.size(); ++query) {
    const auto begin = static_cast<std::size_t>(found.offsets[query]);
    const auto count = static_cast<std::size_t>(found.offsets[query + 1]) - begin;
    const auto ids = std::span(found.ids).subspan(begin, count);
    const std::vector<std::string> names = keys(ids);
    for (std::size_t i = 0; i < count; ++i) {
      file.write("{},{},{}\n", query, ids[i], quoted(names[i]));
    }
  }
  file.commit();
}

void write_csv(const std::string& path, const Selected& found, DType dtype) {
  CsvFile file(path, "row,rank,id,value\n");
  for (std::int64_t row = 0; row < found.rows; ++row) {
    const std::span<const std::int64_t> ids = found.ids_of(row);
    const auto count = static_cast<std::size_t>(found.counts[static_cast<std::size_t>(row)]);
    for (std::size_t i = 0; i < count; ++i) {
      const double value = found.values_of(row)[i];
      const std::string text = dtype == DType::f32 ? fmt::format("{}", static_cast<float>(value))
                                                   : fmt::format("{}", value);
      file.write("{},{},{},{}\n", row, i + 1, ids[i], text);
    }
  }
  file.commit();
}

void write_csv(const std::string& path, const DuplicateGroups& found, const KeysOf& keys) {
  CsvFile file(path, keys ? "group,row,distance,key\n" : "group,row,distance\n");
  for (std::size_t group = 0; group + 1 < found.offsets.size(); ++group) {
    const auto begin = static_cast<std::size_t>(found.offsets[group]);
    const auto end = static_cast<std::size_t>(found.offsets[group + 1]);
    const std::span rows = std::span(found.rows).subspan(begin, end - begin);
    const std::vector<std::string> names = keys ? keys(rows) : std::vector<std::string>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string key = keys ? "," + quoted(names[i]) : "";
      file.write("{},{},{}{}\n", group, rows[i], found.distances[begin + i], key);
    }
  }
  file.commit();
}

void write_csv(const std::string& path, const Pairs& found) {
  CsvFile file(path, "first,second,distance\n");
  for (std::size_t i = 0; i < found.first.size(); ++i) {
    file.write("{},{},{}\n", found.first[i], found.second[i], found.distances[i]);
  }
  file.commit();
}

}  // namespace nearfield::cli
