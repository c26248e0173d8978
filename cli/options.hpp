// How options are read, one way in every command.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>
#include <nearfield/error.hpp>

#include "counts.hpp"

namespace nearfield::cli {

// Groups of the help.
inline constexpr auto kInput = "Input";
inline constexpr auto kSearch = "Search";
inline constexpr auto kOutput = "Output";

// An option whose text `parse` turns into the target; what it throws is an error of usage.
template <class T, class Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, T& target, Parse parse,
                        const std::string& help) {
  const auto assign = [name, &target, parse](const std::string& text) {
    try {
      target = parse(text);
    } catch (const Error& error) {
      throw CLI::ValidationError(name, error.what());
    }
  };
  return app.add_option_function<std::string>(name, assign, help);
}

// A name left empty, by a variable of a script that was not set, must not count as not given.
CLI::Option* add_path(CLI::App& app, const std::string& name, std::string& target,
                      const std::string& help);

inline auto count_within(std::int64_t least, std::int64_t most) {
  return [least, most](const std::string& text) { return parse_count(text, least, most); };
}

}  // namespace nearfield::cli
