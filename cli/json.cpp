#include "json.hpp"

#include <cmath>

namespace nearfield::cli {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

JsonArray& JsonArray::add_number(std::string_view text) {
  return add_raw(text.ends_with("nan") || text.ends_with("inf") ? "null" : text);
}

JsonArray& JsonArray::add(const JsonObject& value) { return add_raw(value.text()); }

JsonArray& JsonArray::add_raw(std::string_view value) {
  values_ += fmt::format("{}{}", values_.empty() ? "" : ", ", value);
  return *this;
}

JsonObject& JsonObject::add(std::string_view name, double value) {
  return add_raw(name, std::isfinite(value) ? fmt::format("{}", value) : "null");
}

JsonObject& JsonObject::add_raw(std::string_view name, std::string_view value) {
  fields_ += fmt::format("{}{}: {}", fields_.empty() ? "" : ", ", json_string(name), value);
  return *this;
}

}  // namespace nearfield::cli
