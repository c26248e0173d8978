#include "completion_tree.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "names.hpp"

namespace nearfield::cli {
namespace {

using Value = CompletedOption::Value;

// Up to the number that the user adds: "lp:" of "lp:P".
std::vector<std::string> without_numbers(std::vector<std::string> names) {
  for (std::string& name : names) {
    if (const auto colon = name.find(':'); colon != std::string::npos) {
      name.resize(colon + 1);
    }
  }
  return names;
}

// By the type that an option's help shows.
struct NamedValues {
  std::string_view type;
  std::vector<std::string> (*names)();
};

constexpr std::array kNamedValues{
    NamedValues{"METRIC", metric_names},           NamedValues{"TEXT_METRIC", text_metric_names},
    NamedValues{"CODE_METRIC", code_metric_names}, NamedValues{"ISA", isa_names},
    NamedValues{"TYPE", file_type_names},          NamedValues{"DEVICE", device_kinds},
    NamedValues{"EFFORT", effort_names},           NamedValues{"CHECK", cross_check_names},
    NamedValues{"CHOICE", pivot_choice_names},     NamedValues{"KIND", quantizer_kind_names},
    NamedValues{"RELAXATION", relaxation_names}};

const NamedValues* values_named(std::string_view type) {
  const auto found = std::ranges::find(kNamedValues, type, &NamedValues::type);
  return found != kNamedValues.end() ? &*found : nullptr;
}

CompletedOption completed(const CLI::Option& option) {
  CompletedOption result;
  for (const std::string& name : option.get_snames()) {
    result.spellings.push_back("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    result.spellings.push_back("--" + name);
  }
  result.help = option.get_description();
  const std::string type = option.get_type_name();
  if (option.get_items_expected_max() == 0) {
    result.value = Value::none;
  } else if (type == "FILE") {
    result.value = Value::file;
  } else if (const NamedValues* const values = values_named(type)) {
    result.value = Value::names;
    result.names = without_numbers(values->names());
  } else {
    result.value = Value::other;
  }
  return result;
}

void append(const CLI::App& app, const std::string& before, CommandTree& tree) {
  const std::string path = before + app.get_name();
  CompletedCommand command{path, app.get_name(), app.get_description(), {}, false};
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_positional()) {
      command.takes_files = command.takes_files || option->get_type_name() == "FILE";
    } else {
      command.options.push_back(completed(*option));
    }
  }
  tree.push_back(std::move(command));
  for (const CLI::App* const each : app.get_subcommands([](const CLI::App*) { return true; })) {
    append(*each, path + " ", tree);
  }
}

}  // namespace

CommandTree command_tree(const CLI::App& app) {
  CommandTree tree;
  append(app, "", tree);
  return tree;
}

CommandTree commands_below(const CommandTree& tree, const CompletedCommand& parent) {
  CommandTree below;
  for (const CompletedCommand& command : tree) {
    if (command.path == parent.path + " " + command.name) {
      below.push_back(command);
    }
  }
  return below;
}

}  // namespace nearfield::cli
