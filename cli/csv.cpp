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

constexpr std::string_view kQueryHeader = "query,rank,id,distance\n";

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
                 std::span<const float> distances) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    file.write("{},{},{},{}\n", query, i + 1, ids[i], distances[i]);
  }
}

}  // namespace

void write_csv(const std::string& path, const Neighbors& found) {
  CsvFile file(path, kQueryHeader);
  for (std::int64_t query = 0; query < found.queries; ++query) {
    const auto at = static_cast<std::size_t>(query);
    const auto count = static_cast<std::size_t>(found.counts[at]);
    write_query(file, at, found.ids_of(query).first(count), found.distances_of(query).first(count));
  }
  file.commit();
}

void write_csv(const std::string& path, const Ranges& found) {
  CsvFile file(path, kQueryHeader);
  for (std::size_t query = 0; query + 1 < found.offsets.size(); ++query) {
    const auto begin = static_cast<std::size_t>(found.offsets[query]);
    const auto count = static_cast<std::size_t>(found.offsets[query + 1]) - begin;
    write_query(file, query, std::span(found.ids).subspan(begin, count),
                std::span(found.distances).subspan(begin, count));
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
