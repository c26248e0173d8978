// COLMAP's lists of pairs of images, by their names.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <nearfield/colmap.hpp>

#include "core/fail.hpp"
#include "core/memory_errors.hpp"
#include "io/file.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string read_text(const std::string& path) {
  const InputFile file(path);
  std::string text;
  with_memory_errors(fmt::format("the {} bytes of {}", file.size(), path),
                     [&] { text.resize(static_cast<std::size_t>(file.size())); });
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

// Takes the first word off the line; empty where there is none.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

class ImagePairList {
 public:
  ImagePairList(const std::string& path, const ColmapDatabase& database)
      : path_(path), database_(database) {
    for (std::int64_t image = 0; image < database.images(); ++image) {
      if (!images_.emplace(database.name(image), image).second) {
        fail(ErrorCode::corrupt_file, "two images of the database have the name {}",
             database.name(image));
      }
    }
  }

  void add_line(std::string_view line) {
    ++line_number_;
    const std::string_view first = take_word(line);
    if (first.empty() || first.starts_with('#')) return;
    const std::string_view second = take_word(line);
    if (second.empty() || !take_word(line).empty()) {
      fail(ErrorCode::corrupt_file,
           "{}:{}: is not two names of images with a blank between them, which have none inside",
           path_, line_number_);
    }
    const ImagePair pair{number_of(first), number_of(second)};
    if (pair.first == pair.second) {
      fail(ErrorCode::corrupt_file, "{}:{}: pairs the image {} with itself", path_, line_number_,
           first);
    }
    const auto [smaller, larger] = std::minmax(pair.first, pair.second);
    if (seen_.insert(smaller * database_.images() + larger).second) pairs_.push_back(pair);
  }

  std::vector<ImagePair> take() { return std::move(pairs_); }

 private:
  std::int64_t number_of(std::string_view name) const {
    const auto found = images_.find(name);
    if (found == images_.end()) {
      fail(ErrorCode::corrupt_file, "{}:{}: the database has no image {} among its {}", path_,
           line_number_, name, database_.images());
    }
    return found->second;
  }

  const std::string& path_;
  const ColmapDatabase& database_;
  std::unordered_map<std::string_view, std::int64_t> images_;
  std::unordered_set<std::int64_t> seen_;
  std::vector<ImagePair> pairs_;
  std::int64_t line_number_ = 0;
};

}  // namespace

std::vector<ImagePair> read_image_pairs(const std::string& path, const ColmapDatabase& database) {
  const std::string text = read_text(path);
  ImagePairList list(path, database);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    list.add_line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return list.take();
}

}  // namespace nearfield
