#include "csv.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include <fmt/format.h>

#include "text_file.hpp"

namespace nearfield::cli {
namespace {

constexpr std::string_view kQueryHeader = "query,rank,id,distance\n";

void write_query(TextFile& file, std::size_t query, std::span<const std::int64_t> ids,
                 std::span<const float> distances) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    file.write(fmt::format("{},{},{},{}\n", query, i + 1, ids[i], distances[i]));
  }
}

}  // namespace

void write_csv(const std::string& path, const Neighbors& found) {
  TextFile file(path);
  file.write(kQueryHeader);
  for (std::int64_t query = 0; query < found.queries; ++query) {
    const auto at = static_cast<std::size_t>(query);
    const auto count = static_cast<std::size_t>(found.counts[at]);
    write_query(file, at, found.ids_of(query).first(count), found.distances_of(query).first(count));
  }
  file.commit();
}

void write_csv(const std::string& path, const Ranges& found) {
  TextFile file(path);
  file.write(kQueryHeader);
  for (std::size_t query = 0; query + 1 < found.offsets.size(); ++query) {
    const auto begin = static_cast<std::size_t>(found.offsets[query]);
    const auto count = static_cast<std::size_t>(found.offsets[query + 1]) - begin;
    write_query(file, query, std::span(found.ids).subspan(begin, count),
                std::span(found.distances).subspan(begin, count));
  }
  file.commit();
}

void write_csv(const std::string& path, const Pairs& found) {
  TextFile file(path);
  file.write("first,second,distance\n");
  for (std::size_t i = 0; i < found.first.size(); ++i) {
    file.write(fmt::format("{},{},{}\n", found.first[i], found.second[i], found.distances[i]));
  }
  file.commit();
}

}  // namespace nearfield::cli
