#include "completion_command.hpp"

#include <string>

#include "completion_scripts.hpp"
#include "completion_tree.hpp"
#include "help.hpp"
#include "standard_output.hpp"

namespace nearfield::cli {
namespace {

void add_shell(CLI::App& completion, CLI::App& app, const std::string& shell,
               std::string (*script)(const CommandTree&)) {
  CLI::App& command = *completion.add_subcommand(shell, "The script for " + shell);
  command.callback([&app, script] { print_result(script(command_tree(app))); });
  command.footer(help_footer("of the script", "nearfield completion " + shell));
}

}  // namespace

void add_completion_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand(
      "completion", "Print a script by which a shell completes commands, options and values");
  command.require_subcommand(1);
  add_shell(command, app, "bash", bash_script);
  add_shell(command, app, "zsh", zsh_script);
  add_shell(command, app, "fish", fish_script);
  command.footer(
      help_footer("for every later bash of yours", "nearfield completion bash > nearfield.bash"));
}

}  // namespace nearfield::cli
