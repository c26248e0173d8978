// `nearfield dedup`: groups of near-duplicates among binary codes.
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nearfield/dedup.hpp>
#include <nearfield/error.hpp>

#include "code_lines.hpp"
#include "options.hpp"
#include "report.hpp"
#include "result_files.hpp"
#include "search_commands.hpp"
#include "search_run.hpp"
#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

// What is usual for a kind of code.
struct CodeKind {
  std::string_view name;
  std::int64_t bits;
  std::int64_t radius;
};

constexpr CodeKind kCodeKinds[] = {{"pdq", 256, 31}, {"phash", 64, 10}};

CodeKind parse_code_kind(const std::string& name) {
  for (const CodeKind& kind : kCodeKinds) {
    if (kind.name == name) return kind;
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("'{}' is not pdq or phash", name));
}

struct DedupArguments {
  InputOptions input;
  std::optional<CodeText> text;
  std::optional<CodeKind> kind;
  std::optional<std::int64_t> radius;
  RunOptions run;
  OutputOptions output;

  std::int64_t bits() const { return input.file.bits == 0 && kind ? kind->bits : input.file.bits; }
};

std::int64_t radius_of(const DedupArguments& args) {
  if (args.radius) return *args.radius;
  if (args.kind) return args.kind->radius;
  throw CLI::RequiredError("--radius N, or --preset");
}

// From a vector file or from lines of text.
class Codes {
 public:
  Codes(const DedupArguments& args, Context& context) {
    const std::string& path = args.input.base;
    if (args.text) {
      lines_ = std::make_unique<CodeLines>(path, *args.text, args.bits(), context);
      rows_ = std::make_unique<MatrixRows>(lines_->view());
    } else if (args.bits() == 0) {
      throw CLI::RequiredError("--bits N, --preset, or --text");
    } else {
      rows_ = open_vectors(path, {.bits = args.bits()});
    }
  }

  const RowSource& rows() const { return *rows_; }

  KeysOf keys() const {
    if (!lines_ || !lines_->has_keys()) return {};
    return [this](std::span<const std::int64_t> ids) {
      std::vector<std::string> keys;
      for (const std::int64_t id : ids) keys.push_back(lines_->key(id));
      return keys;
    };
  }

 private:
  std::unique_ptr<CodeLines> lines_;
  std::unique_ptr<RowSource> rows_;
};

void run_dedup(const DedupArguments& args) {
  const DedupOptions options{.radius = radius_of(args)};
  check_outputs(args.output, args.input, Mode::run);
  Context context = context_of(args.run, {});
  const Codes codes(args, context);
  Task task{"dedup", Metric::hamming, {}, codes.rows().rows(), codes.rows().cols()};
  task.radius = static_cast<double>(options.radius);
  check_ids_fit(args.output.ids, task.rows);
  const DuplicateGroups groups =
      run_watched(context, args.output.quiet,
                  [&](const Context& watched) { return dedup(codes.rows(), options, watched); });
  write_results(args.output, groups, codes.keys());
  print_outcome(task, outcome_of(groups), args.output);
}

}  // namespace

void add_dedup_command(CLI::App& app) {
  CLI::App& command =
      add_search_command(app, Mode::run,
                         {"dedup", "Groups of near-duplicates among binary codes",
                          "images whose PDQ hashes differ in at most 31 of 256 bits",
                          "--base hashes.txt --text hex --preset pdq --output groups.csv"});
  const auto args = std::make_shared<DedupArguments>();
  add_base(command, args->input);
  add_parsed(command, "--text", args->text, parse_code_text,
             "The base is text, a code on each line in hex or base64, then perhaps a comma or a "
             "blank and a key")
      ->group(kInput)
      ->type_name("TEXT");
  add_parsed(command, "--preset", args->kind, parse_code_kind,
             "What is usual: pdq (256 bits, radius 31) or phash (64 bits, radius 10)")
      ->group(kSearch)
      ->type_name("PRESET");
  add_parsed(command, "--radius", args->radius,
             count_within(0, std::numeric_limits<std::int64_t>::max()),
             "Codes that differ in at most so many bits are near-duplicates")
      ->group(kSearch)
      ->type_name("R");
  add_run_options(command, args->run);
  add_output_file(command, args->output.ids,
                  "Write the groups of two and more as .csv, else of each row the first of its "
                  "group");
  add_report_options(command, args->output);
  command.callback([args] { run_dedup(*args); });
}

}  // namespace nearfield::cli
