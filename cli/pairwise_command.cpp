// `nearfield pairwise`: all distances between two files, a table.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <nearfield/error.hpp>
#include <nearfield/pairwise.hpp>

#include "loaded_rows.hpp"
#include "options.hpp"
#include "report.hpp"
#include "search_run.hpp"
#include "value_commands.hpp"
#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

struct PairwiseArguments {
  InputOptions input;
  PairwiseOptions pairwise;
  RunOptions run;
  OutputOptions output;
};

void check_rows_fit(const OutputPath& output, std::int64_t rows) {
  if (output.given() && rows > kMaxCols) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: holds at most {} distances a query, but the base has {} rows: "
                            "cut it by 'nearfield convert --first --count'",
                            output.path, kMaxCols, rows));
  }
}

// float64 where the format has it.
class TableFile {
 public:
  TableFile(const OutputPath& output, std::int64_t queries, std::int64_t rows)
      : dtype_(output.ends_in(".npy") || is_hdf5(output.path) ? DType::f64 : DType::f32) {
    if (output.given()) writer_ = create_vectors(output.path, dtype_, queries, rows);
  }

  void append(const Pairwise& table) {
    if (!writer_) return;
    if (dtype_ == DType::f64) {
      writer_->append(MatrixView(table.values.data(), table.queries, table.rows));
      return;
    }
    for (std::int64_t query = 0; query < table.queries; ++query) {
      const std::span<const double> values = table.values_of(query);
      rounded_.assign(values.begin(), values.end());
      writer_->append(MatrixView(rounded_.data(), 1, table.rows));
    }
  }

  void commit() {
    if (writer_) writer_->commit();
  }

 private:
  DType dtype_;
  std::unique_ptr<RowWriter> writer_;
  std::vector<float> rounded_;
};

// How many queries of the table are in memory at a time: most of a limit is for the work.
std::int64_t queries_at_a_time(std::int64_t rows, const Context& context) {
  constexpr std::int64_t kUsualBytes = std::int64_t{64} << 20;
  const std::int64_t most =
      std::min(kUsualBytes, context.memory_limit.value_or(4 * kUsualBytes) / 4);
  return std::max<std::int64_t>(most / std::max<std::int64_t>(rows * 8, 1), 1);
}

// The table piece after piece; `progress` goes from 0 to the end of all.
Stats write_table(MatrixView queries, MatrixView base, const PairwiseOptions& options,
                  const Context& context, TableFile& file) {
  const std::int64_t piece = queries_at_a_time(base.rows(), context);
  Stats all;
  std::int64_t first = 0;
  Context own = context;
  if (context.progress) {
    own.progress = [&](const Progress& progress) {
      context.progress({first * base.rows() + progress.done, queries.rows() * base.rows()});
    };
  }
  do {
    const std::int64_t count = std::min(piece, queries.rows() - first);
    const Pairwise table = pairwise(queries.slice(first, count), base, options, own);
    file.append(table);
    if (first == 0) all.plan = table.stats.plan;
    all.pairs_considered += table.stats.pairs_considered;
    all.pairs_verified += table.stats.pairs_verified;
    all.seconds += table.stats.seconds;
    first += count;
  } while (first < queries.rows());
  return all;
}

void run_pairwise(const PairwiseArguments& args) {
  check_outputs(args.output, args.input, Mode::run);
  Context context = context_of(args.run, {});
  const LoadedRows base(args.input.base, args.input.file, context);
  const LoadedRows queries(args.input.queries, args.input.file, context);
  const MatrixView rows = base.view();
  check_rows_fit(args.output.ids, rows.rows());
  const Task task{"pairwise", args.pairwise.metric, queries.view().rows(), rows.rows(),
                  rows.cols()};
  TableFile file(args.output.ids, queries.view().rows(), rows.rows());
  const Stats stats = run_watched(context, args.output.quiet, [&](const Context& watched) {
    return write_table(queries.view(), rows, args.pairwise, watched, file);
  });
  file.commit();
  print_outcome(task, {stats.pairs_considered, true, stats}, args.output);
}

}  // namespace

void add_pairwise_command(CLI::App& app) {
  CLI::App& command = add_search_command(
      app, Mode::run,
      {"pairwise", "All distances between the queries and the base",
       "a table of a row for each query", "--queries q.fbin --base b.fbin --output table.npy"});
  const auto args = std::make_shared<PairwiseArguments>();
  args->output.ids.endings = {".npy", ".fbin", ".fvecs"};
  add_queries(command, args->input, "Vector file of the queries")->required();
  add_base(command, args->input);
  add_metric_name(command, args->pairwise.metric);
  add_as_keys(command, args->pairwise.keys);
  add_run_options(command, args->run);
  add_device_options(command, args->run);
  add_output_file(command, args->output.ids,
                  "Write the distances or similarities, float64 as .npy, else float32");
  add_report_options(command, args->output);
  command.callback([args] { run_pairwise(*args); });
}

}  // namespace nearfield::cli
