#include "plan_command.hpp"

#include "help.hpp"
#include "search_commands.hpp"

namespace nearfield::cli {

void add_plan_command(CLI::App& app) {
  CLI::App& command = *app.add_subcommand(
      "plan", "Print what a search would run and how many bytes it takes; run nothing");
  command.require_subcommand(1);
  add_search_commands(command, Mode::plan);
  command.footer(
      help_footer("the bytes that a search of 1 GiB would use",
                  "nearfield plan knn --queries q.fbin --base b.fbin --memory-limit 1G"));
}

}  // namespace nearfield::cli
