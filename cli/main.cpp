#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nearfield/error.hpp>
#include <nearfield/version.hpp>

#include "completion_command.hpp"
#include "convert_command.hpp"
#include "eval_command.hpp"
#include "exit_code.hpp"
#include "index_commands.hpp"
#include "info_command.hpp"
#include "metric_commands.hpp"
#include "plan_command.hpp"
#include "search_commands.hpp"
#include "usage_error.hpp"
#include "value_commands.hpp"

namespace nearfield::cli {
namespace {

void complain(std::string_view message) { fmt::print(stderr, "nearfield: {}\n", message); }

void add_commands(CLI::App& app) {
  add_convert_command(app);
  add_info_command(app);
  add_search_commands(app, Mode::run);
  add_dedup_command(app);
  add_select_command(app);
  add_pairwise_command(app);
  add_train_command(app);
  add_encode_command(app);
  add_index_commands(app);
  add_metric_commands(app);
  add_eval_command(app);
  add_plan_command(app);
  add_devices_command(app);
  add_tune_command(app);
  add_completion_command(app);
}

// `--queries=$name` where the name is not set: CLI11 would take the next word as the value.
void check_values(std::span<char*> words) {
  for (const std::string_view word : words) {
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      throw CLI::ArgumentMismatch(fmt::format("'{}' has no value", word));
    }
  }
}

int run(int argc, char** argv) {
  CLI::App app("Nearfield finds nearest neighbours.", "nearfield");
  app.set_version_flag("--version", fmt::format("nearfield {}", version()));
  app.require_subcommand(1);
  app.footer(std::string(kExitCodeHelp));
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.group("Commands");  // the heading, which its commands inherit
  add_commands(app);
  try {
    check_values({argv, static_cast<std::size_t>(argc)});
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    complain(usage_message(app, error));
    return kUsage;
  }
  return kDone;
}

}  // namespace
}  // namespace nearfield::cli

int main(int argc, char** argv) {
  using namespace nearfield::cli;
  try {
    return run(argc, argv);
  } catch (const nearfield::Error& error) {
    complain(error.what());
    return exit_code(error.code());
  } catch (const BelowTarget& result) {
    complain(result.what());
    return kBelowTarget;
  } catch (const std::bad_alloc&) {
    complain("out of memory: set --memory-limit");
    return kFailed;
  } catch (const std::exception& error) {
    complain(error.what());
    return kFailed;
  }
}
