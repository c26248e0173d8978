// The commands and options as a completion script needs them.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace nearfield::cli {

struct CompletedOption {
  enum class Value { none, file, names, other };

  std::vector<std::string> spellings;  // with their dashes
  std::string help;
  Value value = Value::none;
  std::vector<std::string> names;  // all that it takes, if these can be listed
};

struct CompletedCommand {
  std::string path;  // "nearfield plan knn"
  std::string name;
  std::string help;
  std::vector<CompletedOption> options;
  bool takes_files;  // beside its options
};

// Each command stands before its own commands.
using CommandTree = std::vector<CompletedCommand>;

CommandTree command_tree(const CLI::App& app);

// Those one word below `parent`.
CommandTree commands_below(const CommandTree& tree, const CompletedCommand& parent);

}  // namespace nearfield::cli
