#include "usage_error.hpp"

#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "nearest_name.hpp"

namespace nearfield::cli {
namespace {

// From the whole command line to the command that was named last.
std::vector<const CLI::App*> parsed_commands(const CLI::App& app) {
  std::vector<const CLI::App*> chain{&app};
  while (!chain.back()->get_subcommands().empty()) {
    chain.push_back(chain.back()->get_subcommands().front());
  }
  return chain;
}

std::vector<std::string> long_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

std::vector<std::string> commands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* const each : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(each->get_name());
  }
  return names;
}

std::string with_guess(std::string message, std::string_view typed,
                       const std::vector<std::string>& names) {
  if (const auto meant = nearest_name(typed, names)) {
    message += fmt::format(": did you mean '{}'?", *meant);
  }
  return message;
}

std::string unknown_word(const CLI::App& command, const std::string& word) {
  if (word.starts_with('-')) {
    const std::string typed = word.substr(0, word.find('='));
    return with_guess(fmt::format("'{}' is not an option of {}", typed, command.get_name()), typed,
                      long_options(command));
  }
  const std::vector<std::string> commands = commands_of(command);
  if (commands.empty()) {
    return fmt::format("'{}' belongs to no option of {}", word, command.get_name());
  }
  if (word == "serve" && command.get_parent() == nullptr) {
    return "'serve' is a command of the Python package: in a clone pip install '.[serve]', then "
           "python -m nearfield serve";
  }
  return with_guess(fmt::format("'{}' is not a command of {}", word, command.get_name()), word,
                    commands);
}

// CLI11 complains of words it does not know only after all that is missing.
std::optional<std::string> first_unknown(const std::vector<const CLI::App*>& chain) {
  for (const CLI::App* const command : chain) {
    if (const auto words = command->remaining(); !words.empty()) {
      return unknown_word(*command, words.front());
    }
  }
  return std::nullopt;
}

std::string missing_command(const CLI::App& command) {
  return fmt::format("a command is required: {}", fmt::join(commands_of(command), ", "));
}

}  // namespace

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<const CLI::App*> chain = parsed_commands(app);
  const CLI::App& last = *chain.back();
  std::vector<std::string> typed;
  typed.reserve(chain.size());
  for (const CLI::App* const command : chain) {
    typed.push_back(command->get_name());
  }
  std::string message = error.what();
  if (const auto unknown = first_unknown(chain)) {
    message = *unknown;
  } else if (error.get_name() == "RequiredError" && !commands_of(last).empty()) {
    message = missing_command(last);
  }
  return fmt::format("{}\nRun '{} --help'.", message, fmt::join(typed, " "));
}

}  // namespace nearfield::cli
