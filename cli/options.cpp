#include "options.hpp"

namespace nearfield::cli {

CLI::Option* add_path(CLI::App& app, const std::string& name, std::string& target,
                      const std::string& help) {
  const auto parse = [](const std::string& text) {
    if (text.empty()) {
      throw Error(ErrorCode::invalid_argument, "the name of the file is empty");
    }
    return text;
  };
  return add_parsed(app, name, target, parse, help)->type_name("FILE");
}

}  // namespace nearfield::cli
