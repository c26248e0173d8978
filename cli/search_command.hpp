// The frame of the search commands.
#pragma once

#include "report.hpp"
#include "search_options.hpp"
#include "search_run.hpp"

namespace nearfield::cli {

template <class Options>
struct SearchArguments {
  InputOptions input;
  Options search;
  RunOptions run;
  OutputOptions output;
};

// Calls ask(queries, base), or ask(base) where there are no queries.
template <class Ask>
auto of_one_or_two(const SearchInput& input, const Ask& ask) {
  return input.queries ? ask(*input.queries, *input.base) : ask(*input.base);
}

// Prints what `plan` says; or searches, writes what was found, and says what it took. The first
// two are called with a context, the third with what the second returns.
template <class Options, class MakePlan, class Search, class Write>
void plan_or_run(Mode mode, const SearchArguments<Options>& args, const SearchInput& input,
                 const Task& task, const MakePlan& plan, const Search& search, const Write& write) {
  const Context context = context_of(args.run, input);
  if (mode == Mode::plan) {
    print_plan(task, plan(context), args.output);
    return;
  }
  const auto found = run_watched(context, args.output.quiet, search);
  write(found);
  print_outcome(task, outcome_of(found), args.output);
}

}  // namespace nearfield::cli
