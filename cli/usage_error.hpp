// What is said to somebody whose command line cannot be understood.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace nearfield::cli {

// What is wrong, with the name that was perhaps meant, and on a second line whose help to read.
// `app` is the whole command line, as far as it was parsed.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace nearfield::cli
