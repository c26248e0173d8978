// What every search command does between its options and its results.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <nearfield/context.hpp>
#include <nearfield/knn.hpp>
#include <nearfield/rows.hpp>

#include "interrupt.hpp"
#include "progress_bar.hpp"
#include "search_options.hpp"

namespace nearfield::cli {

// Something to write, and every file of it can be written. A plan needs nothing to write.
void check_outputs(const OutputOptions& output, const InputOptions& input, Mode mode);

struct SearchInput {
  std::unique_ptr<RowSource> queries;  // null where none were given
  std::unique_ptr<RowSource> base;
  std::optional<std::vector<std::int64_t>> allowed;

  // Looks at `allowed`.
  RowFilter filter() const { return allowed ? RowFilter::list(*allowed) : RowFilter(); }
};

SearchInput open_input(const InputOptions& options);

// The seconds of --timeout begin here; the memory that the input holds is taken off the limit.
Context context_of(const RunOptions& run, const SearchInput& input);

// Throws if so many things, which the library cannot know of, are more than the limit allows.
// `advice` is what to do, beside raising it.
void check_within_limit(const Context& context, std::int64_t count, std::int64_t bytes_each,
                        std::string_view things, std::string_view advice);

// The same, and leaves the library the rest.
void take_off_limit(Context& context, std::int64_t count, std::int64_t bytes_each,
                    std::string_view things, std::string_view advice);

// Calls `search` with a context that Ctrl-C cancels and that shows progress on a terminal, unless
// quiet.
template <class Search>
auto run_watched(Context context, bool quiet, Search search) {
  context.cancel = cancel_on_interrupt();
  ProgressBar bar;
  if (!quiet) {
    context.progress = [&bar](const Progress& progress) { bar.show(progress); };
  }
  return search(context);
}

}  // namespace nearfield::cli
