#include "search_run.hpp"

#include <array>
#include <chrono>
#include <iterator>

#include <fmt/format.h>
#include <nearfield/error.hpp>

#include "vector_files.hpp"

namespace nearfield::cli {
void check_outputs(const OutputOptions& output, const InputOptions& input, Mode mode) {
  const std::array files{output.ids, output.distances, output.offsets};
  bool some = output.json || mode == Mode::plan;
  for (const OutputPath& file : files) {
    some = some || file.given();
    if (output.json) {
      check_json_alone(file);
    }
  }
  if (!some) {
    throw CLI::RequiredError("a file to write, such as --output FILE, or --json");
  }
  check_output_paths(files, std::array{input.queries, input.base, input.filter});
}

SearchInput open_input(const InputOptions& options) {
  SearchInput input;
  if (!options.queries.empty()) {
    input.queries = open_vectors(options.queries, options.file);
  }
  input.base = open_vectors(options.base, options.file);
  if (!options.filter.empty()) {
    input.allowed = read_id_table(options.filter).ids;
  }
  return input;
}

Context context_of(const RunOptions& run, const SearchInput& input) {
  Context context = run.context;
  if (run.timeout) {
    const std::chrono::duration<double> seconds(*run.timeout);
    context.deadline = std::chrono::steady_clock::now() +
                       std::chrono::duration_cast<std::chrono::nanoseconds>(seconds);
  }
  if (input.allowed) {
    take_off_limit(context, std::ssize(*input.allowed), sizeof(std::int64_t), "ids of --filter",
                   "allow fewer rows");
  }
  return context;
}

void check_within_limit(const Context& context, std::int64_t count, std::int64_t bytes_each,
                        std::string_view things, std::string_view advice) {
  // Divided: the product may be too large for a number.
  if (!context.memory_limit || count <= *context.memory_limit / bytes_each) return;
  throw Error(
      ErrorCode::memory_limit,
      fmt::format("the {} {} take {} bytes each but the memory limit is {}: raise it, or {}", count,
                  things, bytes_each, *context.memory_limit, advice));
}

void take_off_limit(Context& context, std::int64_t count, std::int64_t bytes_each,
                    std::string_view things, std::string_view advice) {
  check_within_limit(context, count, bytes_each, things, advice);
  if (context.memory_limit) *context.memory_limit -= count * bytes_each;
}

}  // namespace nearfield::cli
