// Writing JSON objects.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

namespace nearfield::cli {

// In quotes, escaped. The text must be UTF-8.
std::string json_string(std::string_view text);

class JsonObject;

class JsonArray {
 public:
  // A number as fmt prints it. JSON has no nan and no inf: null.
  JsonArray& add_number(std::string_view text);
  template <std::integral T>
  JsonArray& add(T value) {
    return add_raw(fmt::format("{}", value));
  }
  JsonArray& add(const JsonArray& value) { return add_raw(value.text()); }
  JsonArray& add(const JsonObject& value);

  std::string text() const { return "[" + values_ + "]"; }

 private:
  JsonArray& add_raw(std::string_view value);

  std::string values_;
};

// Fields in the order they were added; a name must not be added twice.
class JsonObject {
 public:
  JsonObject& add(std::string_view name, std::string_view value) {
    return add_raw(name, json_string(value));
  }
  JsonObject& add(std::string_view name, const JsonObject& value) {
    return add_raw(name, value.text());
  }
  JsonObject& add(std::string_view name, const JsonArray& value) {
    return add_raw(name, value.text());
  }
  template <std::integral T>
  JsonObject& add(std::string_view name, T value) {
    return add_raw(name, fmt::format("{}", value));  // also of a bool
  }
  // JSON has no NaN and no infinity: null.
  JsonObject& add(std::string_view name, double value);

  std::string text() const { return "{" + fields_ + "}"; }

 private:
  JsonObject& add_raw(std::string_view name, std::string_view value);

  std::string fields_;
};

}  // namespace nearfield::cli
