#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nearfield/error.hpp>
#include <nearfield/version.hpp>

#include "exit_code.hpp"
#include "knn_command.hpp"

namespace nearfield::cli {
namespace {

void complain(std::string_view message) { fmt::print(stderr, "nearfield: {}\n", message); }

int run(int argc, char** argv) {
  CLI::App app("Nearfield finds nearest neighbours.", "nearfield");
  app.set_version_flag("--version", fmt::format("nearfield {}", version()));
  app.require_subcommand(1);
  app.footer(std::string(kExitCodeHelp));
  add_knn_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    complain(error.what());
    fmt::print(stderr, "Run 'nearfield --help' or 'nearfield knn --help'.\n");
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
