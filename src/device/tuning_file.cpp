#include "device/tuning_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/fail.hpp"
#include "io/file.hpp"

namespace nearfield {
namespace {

struct TextField {
  std::string_view name;
  std::string TuningTable::*value;
};
constexpr std::array<TextField, 4> kTexts{{{"device", &TuningTable::device},
                                           {"driver", &TuningTable::driver},
                                           {"nearfield", &TuningTable::version},
                                           {"date", &TuningTable::date}}};

struct ListField {
  std::string_view name;
  std::vector<TuningPoint> TuningTable::*value;
};
constexpr std::array<ListField, 3> kLists{{{"selection", &TuningTable::selection},
                                           {"search", &TuningTable::search},
                                           {"query_batch", &TuningTable::query_batch}}};

struct CountField {
  std::string_view name;
  std::int64_t TuningShape::*value;
};
constexpr std::array<CountField, 4> kCounts{{{"queries", &TuningShape::queries},
                                             {"rows", &TuningShape::rows},
                                             {"cols", &TuningShape::cols},
                                             {"k", &TuningShape::k}}};
constexpr std::string_view kSeconds = "seconds";

template <class Field, std::size_t N>
const Field* find(const std::array<Field, N>& fields, std::string_view name) {
  const auto* const found = std::ranges::find(fields, name, &Field::name);
  return found == fields.end() ? nullptr : found;
}

// Takes the JSON as it is read, and knows at each place what may stand there. A tree of it would
// forget what stood there twice.
class TableReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TableReader(const std::string& path) : path_(path) {}

  TuningTable take() { return std::move(table_); }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::table;
    } else if (place_ == Place::points) {
      if (points_->size() == kMostTuningPoints) {
        reject("has more than {} points in '{}'", kMostTuningPoints, list_);
      }
      points_->emplace_back();
      point_fields_.clear();
      place_ = Place::point;
    } else if (place_ == Place::point && field_ == kSeconds) {
      place_ = Place::seconds;
    } else {
      unexpected();
    }
    return true;
  }
  bool key(std::string& text) override {
    if (place_ == Place::seconds) {
      add_candidate(text);
      return true;
    }
    const bool of_table = place_ == Place::table;
    const bool known = of_table ? find(kTexts, text) != nullptr || find(kLists, text) != nullptr
                                : find(kCounts, text) != nullptr || text == kSeconds;
    if (!known) reject("has '{}', which is not known", text.substr(0, kMostTuningText));
    if (!(of_table ? table_fields_ : point_fields_).insert(text).second) {
      reject("has '{}' twice", text);
    }
    field_ = text;
    return true;
  }
  bool end_object() override {
    if (place_ == Place::seconds) {
      if (point().timings.empty()) reject("has a point without seconds in '{}'", list_);
      place_ = Place::point;
    } else if (place_ == Place::point) {
      check_complete(point_fields_, kCounts.size() + 1, "a point");
      place_ = Place::points;
    } else {
      check_complete(table_fields_, kTexts.size() + kLists.size(), "the table");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    const ListField* const list = place_ == Place::table ? find(kLists, field_) : nullptr;
    if (list != nullptr) {
      list_ = field_;
      points_ = &(table_.*list->value);
      place_ = Place::points;
    } else if (place_ == Place::seconds) {
      place_ = Place::rounds;
    } else {
      unexpected();
    }
    return true;
  }
  bool end_array() override {
    if (place_ == Place::rounds) {
      if (rounds().empty()) reject("has a candidate without seconds in '{}'", list_);
      place_ = Place::seconds;
    } else {
      place_ = Place::table;
    }
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ == Place::rounds) return number_float(static_cast<double>(value), {});
    const CountField* const count = place_ == Place::point ? find(kCounts, field_) : nullptr;
    if (count == nullptr) unexpected();
    if (value == 0 || value > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      reject("has {} {} in '{}', not 1 to 2^63 - 1", value, field_, list_);
    }
    point().shape.*count->value = static_cast<std::int64_t>(value);
    return true;
  }
  bool number_integer(std::int64_t value) override {  // that is below 0
    if (place_ != Place::rounds && place_ != Place::point) unexpected();
    reject("has {} in '{}', which is not above 0", value, list_);
  }
  bool number_float(double value, const std::string&) override {
    if (place_ != Place::rounds) unexpected();
    if (!std::isfinite(value) || value <= 0) {
      reject("has {} seconds in '{}', which are not above 0", value, list_);
    }
    if (rounds().size() == kMostTuningRounds) {
      reject("has more than {} rounds of a candidate in '{}'", kMostTuningRounds, list_);
    }
    rounds().push_back(value);
    return true;
  }
  bool string(std::string& text) override {
    const TextField* const field = place_ == Place::table ? find(kTexts, field_) : nullptr;
    if (field == nullptr) unexpected();
    check_length(text);
    table_.*field->value = text;
    return true;
  }

  bool null() override { unexpected(); }
  bool boolean(bool) override { unexpected(); }
  bool binary(binary_t&) override { unexpected(); }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    reject("is no JSON at byte {}", at);
  }

 private:
  enum class Place : std::uint8_t { outside, table, points, point, seconds, rounds };

  template <class... Args>
  [[noreturn]] void reject(fmt::format_string<Args...> what, Args&&... args) const {
    fail(ErrorCode::corrupt_file, "{}: the tuning table {}: make it again by 'nearfield tune'",
         path_, fmt::format(what, std::forward<Args>(args)...));
  }
  [[noreturn]] void unexpected() const {
    reject("has a value where none is expected, at '{}'", field_);
  }

  void check_complete(const std::set<std::string>& fields, std::size_t all,
                      std::string_view what) const {
    if (fields.size() != all) reject("has {} of the {} fields of {}", fields.size(), all, what);
  }

  void check_length(const std::string& text) const {
    if (text.size() <= kMostTuningText) return;
    reject("has a text of {} bytes, at most {} are read", text.size(), kMostTuningText);
  }

  void add_candidate(const std::string& name) {
    check_length(name);
    std::vector<Timing>& timings = point().timings;
    if (std::ranges::find(timings, name, &Timing::name) != timings.end()) {
      reject("has '{}' twice in a point of '{}'", name, list_);
    }
    if (timings.size() == kMostTuningCandidates) {
      reject("has more than {} candidates in a point of '{}'", kMostTuningCandidates, list_);
    }
    timings.push_back({name, {}});
  }

  TuningPoint& point() { return points_->back(); }
  std::vector<double>& rounds() { return point().timings.back().seconds; }

  const std::string& path_;
  TuningTable table_;
  Place place_ = Place::outside;
  std::string list_;                            // that is being read
  std::vector<TuningPoint>* points_ = nullptr;  // of it
  std::string field_;                           // of the table or of a point
  std::set<std::string> table_fields_;
  std::set<std::string> point_fields_;
};

std::string line_of(const TuningPoint& point) {
  nlohmann::ordered_json json;
  for (const CountField& count : kCounts) json[count.name] = point.shape.*count.value;
  for (const Timing& timing : point.timings) json[kSeconds][timing.name] = timing.seconds;
  return json.dump();
}

// Drivers name themselves in any bytes.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

TuningTable parse_tuning(const std::string& path, std::string_view json) {
  TableReader reader(path);
  nlohmann::json::sax_parse(json, &reader);
  return reader.take();
}

std::string format_tuning(const TuningTable& table) {
  std::string text = "{\n";
  for (const TextField& field : kTexts) {
    text += fmt::format(" \"{}\": {},\n", field.name, quoted(table.*field.value));
  }
  for (const ListField& list : kLists) {
    std::vector<std::string> lines;
    for (const TuningPoint& point : table.*list.value) lines.push_back("\n  " + line_of(point));
    text += fmt::format(" \"{}\": [{}]{}\n", list.name, fmt::join(lines, ","),
                        &list == &kLists.back() ? "" : ",");
  }
  return text + "}\n";
}

TuningTable read_tuning_file(const std::string& path) {
  const InputFile file(path);
  if (file.size() > kMostTuningBytes) {
    fail(ErrorCode::corrupt_file,
         "{}: has {} bytes, and a tuning table at most {}: name one that 'nearfield tune' wrote",
         path, file.size(), kMostTuningBytes);
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return parse_tuning(path, text);
}

}  // namespace nearfield
