#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nearfield/error.hpp>
#include <nearfield/version.hpp>

#include "completion_command.hpp"
#include "exit_code.hpp"
#include "plan_command.hpp"
#include "search_commands.hpp"
#include "usage_error.hpp"

namespace nearfield::cli {
namespace {

void complain(std::string_view message) { fmt::print(stderr, "nearfield: {}\n", message); }

void add_commands(CLI::App& app) {
  add_search_commands(app, Mode::run);
  add_plan_command(app);
  add_completion_command(app);
}

int run(int argc, char** argv) {
  CLI::App app("Nearfield finds nearest neighbours.", "nearfield");
  app.set_version_flag("--version", fmt::format("nearfield {}", version()));
  app.require_subcommand(1);
  app.footer(std::string(kExitCodeHelp));
  add_commands(app);
  try {
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
  } catch (const std::bad_alloc&) {
    complain("out of memory: set --memory-limit");
    return kFailed;
  } catch (const std::exception& error) {
    complain(error.what());
    return kFailed;
  }
}
