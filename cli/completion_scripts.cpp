#include "completion_scripts.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace nearfield::cli {
namespace {

using Value = CompletedOption::Value;

// As one word of bash, zsh and fish alike.
std::string in_quotes(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    word += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return word + "'";
}

std::vector<std::string> words_of(const CommandTree& tree, const CompletedCommand& command) {
  std::vector<std::string> words;
  for (const CompletedCommand& below : commands_below(tree, command)) {
    words.push_back(below.name);
  }
  for (const CompletedOption& option : command.options) {
    words.insert(words.end(), option.spellings.begin(), option.spellings.end());
  }
  return words;
}

// The paths of all commands but the program itself: 'nearfield knn'|'nearfield plan'|...
std::string all_paths(const CommandTree& tree) {
  std::vector<std::string> paths;
  for (const CompletedCommand& command : tree) {
    if (&command != &tree.front()) {
      paths.push_back(in_quotes(command.path));
    }
  }
  return fmt::format("{}", fmt::join(paths, "|"));
}

// 'nearfield knn:-k'|..., for an option in all its spellings.
std::string places_of(const CompletedCommand& command, const CompletedOption& option) {
  std::vector<std::string> places;
  places.reserve(option.spellings.size());
  for (const std::string& spelling : option.spellings) {
    places.push_back(in_quotes(command.path + ":" + spelling));
  }
  return fmt::format("{}", fmt::join(places, "|"));
}

// Branches of a `case` for the options that take a value, one for all that complete alike. `names`
// is a format that the names are put into.
std::string value_branches(const CommandTree& tree, const std::string& files,
                           fmt::format_string<std::string> names) {
  std::map<std::string, std::vector<std::string>> places_by_action;
  for (const CompletedCommand& command : tree) {
    for (const CompletedOption& option : command.options) {
      if (option.value == Value::none) {
        continue;
      }
      std::string action;
      if (option.value == Value::file) {
        action = files + "; ";
      } else if (option.value == Value::names) {
        action = fmt::format(names, fmt::format("{}", fmt::join(option.names, " "))) + "; ";
      }
      places_by_action[action].push_back(places_of(command, option));
    }
  }
  std::string text;
  for (const auto& [action, places] : places_by_action) {
    text += fmt::format("  {}) {}return ;;\n", fmt::join(places, "|"), action);
  }
  return text;
}

// -s k, or -l metric.
std::string fish_spelling(std::string_view spelling) {
  return spelling.starts_with("--") ? fmt::format(" -l {}", spelling.substr(2))
                                    : fmt::format(" -s {}", spelling.substr(1));
}

std::string fish_option(const std::string& condition, const CompletedOption& option) {
  std::string line = condition;
  for (const std::string& spelling : option.spellings) {
    line += fish_spelling(spelling);
  }
  if (option.value == Value::file) {
    line += " -r -F";
  } else if (option.value != Value::none) {
    line += " -x";
  }
  if (option.value == Value::names) {
    line += fmt::format(" -a '{}'", fmt::join(option.names, " "));
  }
  return fmt::format("{} -d {}\n", line, in_quotes(option.help));
}

}  // namespace

std::string bash_script(const CommandTree& tree) {
  std::string words;
  for (const CompletedCommand& command : tree) {
    words +=
        fmt::format("  {}) words='{}'{} ;;\n", in_quotes(command.path),
                    fmt::join(words_of(tree, command), " "), command.takes_files ? " files=1" : "");
  }
  return fmt::format(
      R"(# bash completion; made by: nearfield completion bash
_nearfield() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local command=nearfield word words= files=
  COMPREPLY=()
  if [[ $current == '=' ]]; then  # bash cuts --metric=cosine into three words
    current=
  elif [[ $previous == '=' ]]; then
    previous=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$command $word" in
    {}) command+=" $word" ;;
    esac
  done
  case "$command:$previous" in
{}  esac
  case $command in
{}  esac
  if [[ $files && $current != -* ]]; then
    compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
}}
complete -F _nearfield nearfield
)",
      all_paths(tree),
      value_branches(tree,
                     R"(compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current"))",
                     R"(mapfile -t COMPREPLY < <(compgen -W '{}' -- "$current")
    if [[ ${{COMPREPLY[*]}} == *: ]]; then compopt -o nospace; fi)"),
      words);
}

std::string zsh_script(const CommandTree& tree) {
  std::string words;
  for (const CompletedCommand& command : tree) {
    const std::string add = fmt::format("compadd -- {}", fmt::join(words_of(tree, command), " "));
    words += fmt::format("  {}) {} ;;\n", in_quotes(command.path),
                         command.takes_files
                             ? "if [[ ${words[CURRENT]} == -* ]]; then " + add + "; else _files; fi"
                             : add);
  }
  return fmt::format(
      R"(#compdef nearfield
# zsh completion; made by: nearfield completion zsh
_nearfield() {{
  local previous=${{words[CURRENT-1]}} command=nearfield word
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "$command $word" in
    {}) command+=" $word" ;;
    esac
  done
  case "$command:$previous" in
{}  esac
  case $command in
{}  esac
}}
if [[ ${{funcstack[1]}} == _nearfield ]]; then  # loaded from a folder of fpath
  _nearfield "$@"
else
  compdef _nearfield nearfield
fi
)",
      all_paths(tree), value_branches(tree, "_files", "compadd -- {}"), words);
}

std::string fish_script(const CommandTree& tree) {
  std::string lines;
  for (const CompletedCommand& command : tree) {
    const std::string condition =
        fmt::format("complete -c nearfield -n '__nearfield_at \"{}\"'", command.path);
    for (const CompletedCommand& below : commands_below(tree, command)) {
      lines += fmt::format("{} -a {} -d {}\n", condition, below.name, in_quotes(below.help));
    }
    for (const CompletedOption& option : command.options) {
      lines += fish_option(condition, option);
    }
    if (command.takes_files) {
      lines += condition + " -F\n";
    }
  }
  std::string paths = all_paths(tree);
  std::ranges::replace(paths, '|', ' ');
  return fmt::format(
      R"(# fish completion; made by: nearfield completion fish
function __nearfield_at
  set -l command nearfield
  for word in (commandline -opc)[2..]
    contains -- "$command $word" {}; and set command "$command $word"
  end
  test "$command" = $argv[1]
end
complete -c nearfield -f
{})",
      paths, lines);
}

}  // namespace nearfield::cli
