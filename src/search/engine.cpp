#include "search/engine.hpp"

#include <algorithm>
#include <utility>

#include "core/checked.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "distance/device_keys.hpp"
#include "scan/scan_nearest.hpp"
#include "scan/scan_once.hpp"
#include "search/check_rows.hpp"
#include "search/choose_device.hpp"
#include "search/matrix_verifier.hpp"
#include "search/prepared_base.hpp"
#include "search/value_cost.hpp"

namespace nearfield {
namespace {

// Read between two looks at the cancel token: a few milliseconds.
constexpr std::int64_t kReadBytes = 4 << 20;

RowSet make_row_set(const SearchInput& input, const Monitor& monitor) {
  const RowFilter& filter = input.filter;
  RowSet set = filter.kind() == RowFilter::Kind::bitset ? RowSet::bitset(filter.words())
               : filter.kind() == RowFilter::Kind::list
                   ? RowSet::list(filter.ids(), input.base.rows(), monitor)
                   : RowSet::all();
  set.set_meets(input.meets);
  return set;
}

// Which rows may be found, for the plan.
std::string allowed_text(const SearchInput& input) {
  std::string text;
  if (input.filter.kind() == RowFilter::Kind::bitset) text += ", those in a bitset";
  if (input.filter.kind() == RowFilter::Kind::list) {
    text += fmt::format(", those in a list of {}", input.filter.ids().size());
  }
  if (input.meets == Meets::other_rows) text += ", not itself";
  if (input.meets == Meets::later_rows) text += ", each pair once";
  return text;
}

std::int64_t rows_of(std::int64_t bytes, std::int64_t row) {
  return std::max<std::int64_t>(bytes / std::max<std::int64_t>(row, 1), 1);
}

// Their number and type: nobody looks for their values there, which are in the order of tiles, or
// nowhere.
MatrixView without_values(const RowSource& source, Range rows) {
  alignas(double) static constexpr std::byte kNowhere{};
  const std::byte* const tiles =
      source.prepared() != nullptr ? source.prepared()->rows.tensors().values.data() : &kNowhere;
  return {tiles, source.dtype(), rows.size(), source.cols()};
}

// Rows of a source: in place if it is in memory, else read to the buffer.
MatrixView fetch(const RowSource& source, Range rows, Matrix& buffer, const Monitor& monitor) {
  if (const auto all = source.in_memory()) return all->slice(rows.begin, rows.size());
  const std::int64_t piece = rows_of(kReadBytes, row_bytes(source.dtype(), source.cols()));
  for (std::int64_t done = 0; done < rows.size(); done += piece) {
    monitor.check();
    source.read(rows.begin + done, std::min(piece, rows.size() - done), buffer, done);
  }
  return buffer.view().slice(0, rows.size());
}

Matrix buffer_for(const RowSource& source, std::int64_t rows) {
  return source.in_memory() ? Matrix() : Matrix(source.dtype(), rows, source.cols());
}

ChosenDevice found_by(const RowFinder& finder, const SearchInput& input, const Context& context,
                      SearchShape& shape) {
  finder.add_to(shape, context);
  return {on_device(context) ? key_device(context).id : std::string(kCpu),
          finder.make(input.queries.dtype(), context),
          {}};
}

}  // namespace

Engine::Engine(const SearchInput& input, const Context& context)
    : input_(input),
      context_(context),
      kernels_(distance_kernels(context.isa ? *context.isa : default_isa())) {
  on_device(context);  // or what names one is wrong
  check_arguments(input);
}

void Engine::plan(const Keeps& keeps, std::string selector, const Tuning& tuning) {
  const auto buffer_bytes = [](const RowSource& rows) {
    return rows.in_memory() ? 0 : row_bytes(rows.dtype(), rows.cols());
  };
  SearchShape shape;
  shape.queries = input_.queries.rows();
  shape.rows = input_.base.rows();
  shape.cols = input_.base.cols();
  shape.value_cost = value_cost(input_.metric);
  shape.threshold_rank = keeps.threshold_rank;
  shape.first_of_any = first_of_any(keeps);
  shape.sink_bytes = keeps.sink_of_a_query;
  shape.result_bytes = keeps.result;
  shape.base_row_bytes = row_bytes(input_.base.dtype(), input_.base.cols());
  shape.base_buffer_bytes = buffer_bytes(input_.base);
  shape.query_buffer_bytes = buffer_bytes(input_.queries);
  shape.fixed_bytes = keeps.shared + static_cast<std::int64_t>(input_.filter.ids().size_bytes());
  shape.threads = resolve_threads(context_.threads);
  shape.memory_limit = context_.memory_limit;
  ChosenDevice device = input_.finder != nullptr
                            ? found_by(*input_.finder, input_, context_, shape)
                            : choose_device(input_, context_, kernels_.isa, tuning, shape);
  filter_ = std::move(device.filter);
  plan_ = make_plan(shape, tuning);
  plan_.device = device.id;
  plan_.note = device.note;
  plan_.isa = kernels_.isa;
  plan_.filter = filter_->name() + allowed_text(input_);
  first_row_tile_ = plan_.row_tile;
  if (shape.tiles) {
    const std::int64_t first = shape.tiles->first_rows.value_or(tuning.tiles.first_rows);
    first_row_tile_ = std::min(round_up(first, shape.tiles->rows), plan_.row_tile);
  }
  plan_.pairs = pairs();
  plan_.kernel = kernel_name(input_.metric, input_.base.dtype(),
                             device.id == kCpu ? to_string(kernels_.isa) : device.id);
  plan_.selector = std::move(selector);
}

// With one more where a query is among the rows, and does not find itself.
std::int64_t Engine::first_of_any(const Keeps& keeps) const {
  const bool all =
      input_.filter.kind() == RowFilter::Kind::all && input_.meets != Meets::later_rows;
  if (!all || keeps.first_of_any == 0) return 0;
  return std::min(keeps.first_of_any, input_.base.rows()) +
         (input_.meets == Meets::other_rows ? 1 : 0);
}

std::int64_t Engine::pairs() const {
  const std::int64_t rows = input_.base.rows();
  const std::int64_t all = checked_mul(input_.queries.rows(), rows, "queries x rows");
  if (input_.meets != Meets::later_rows) return all;
  return rows % 2 == 0 ? rows / 2 * (rows - 1) : rows * ((rows - 1) / 2);
}

std::optional<std::int64_t> Engine::room_for(std::int64_t bytes_of_a_result) const {
  if (!context_.memory_limit) return std::nullopt;
  return (*context_.memory_limit - plan_.result_bytes - plan_.working_bytes) / bytes_of_a_result;
}

Stats Engine::run(Monitor& monitor, const MakeSink& make, const TakeSink& take) {
  monitor.check();
  allowed_ = make_row_set(input_, monitor);
  std::int64_t first = 0;
  do {
    const Range batch{first, std::min(first + plan_.query_batch, input_.queries.rows())};
    const std::unique_ptr<Sink> sink = make(batch);
    // Without queries there is nothing to find, but check_finite still speaks of the base.
    if (batch.size() > 0 || input_.check_finite) run_batch(batch, *sink, monitor);
    take(batch, *sink);
    first = batch.end;
  } while (first < input_.queries.rows());
  plan_.filter = filter_->name() + allowed_text(input_);  // which may have been left to the rows
  if (const std::string note = filter_->note(); !note.empty()) {
    plan_.note += (plan_.note.empty() ? "" : "; ") + note;
  }
  filter_.reset();  // with what it has made of the rows: the caller may search on
  // What a finder does not find, nobody has looked at.
  if (input_.finder != nullptr) counts_.considered = counts_.verified;
  return {plan_, counts_.considered, counts_.verified, monitor.seconds()};
}

void Engine::run_batch(Range batch, Sink& sink, Monitor& monitor) {
  Matrix query_buffer = buffer_for(input_.queries, batch.size());
  const MatrixView queries = fetch(input_.queries, batch, query_buffer, monitor);
  const bool one_set = &input_.queries == &input_.base;
  check(queries, batch.begin, one_set ? "base" : "queries", monitor);

  const RowSource& base = input_.base;
  const bool reads = base.in_memory() || filter_->reads_rows();
  Matrix base_buffer = reads ? buffer_for(base, plan_.base_chunk) : Matrix();
  bool has_queries = false;
  for (std::int64_t first = 0; first < base.rows();) {
    const Range chunk{first, std::min(first + plan_.base_chunk, base.rows())};
    if (batch.begin > 0 && allowed_.pairs_in({batch, chunk}) == 0) {
      first = chunk.end;
      continue;
    }
    const Piece rows{reads ? fetch(base, chunk, base_buffer, monitor) : without_values(base, chunk),
                     first};
    if (batch.begin == 0 && reads) check(rows.view, first, "base", monitor);
    if (batch.size() == 0) {
      first = chunk.end;
      continue;
    }
    if (!has_queries) {
      filter_->take_queries({queries, batch.begin}, rows, plan_.threads, monitor);
      has_queries = true;
    }
    first += run_chunk({queries, batch.begin}, rows, sink, monitor);
  }
}

// Whether all rows meet all queries at once and ask too, so that one look at a pair serves both.
bool Engine::serves_both(const ScanGrid& grid, const Filter& filter, Sink& sink) const {
  const TwoSidedSink* both = sink.two_sided();
  if (both == nullptr || filter.two_sided() == nullptr ||
      input_.filter.kind() != RowFilter::Kind::all ||
      grid.queries.size() != input_.queries.rows() || grid.rows.size() != input_.base.rows()) {
    return false;
  }
  return both->one_set() ? &input_.queries == &input_.base && input_.meets == Meets::other_rows
                         : input_.meets == Meets::every_row;
}

std::int64_t Engine::run_chunk(const Piece& queries, const Piece& chunk, Sink& sink,
                               Monitor& monitor) {
  const auto [filter, taken] = filter_->take_rows(chunk, plan_.threads, monitor);
  if (taken < chunk.view.rows()) plan_.base_chunk = taken;  // nor would the next one fit
  const Piece base{chunk.view.slice(0, taken), chunk.first};
  expect_rows_after(base.range().end);
  const MatrixVerifier verifier(input_.metric, kernels_, queries, base);
  exact_ = exact_ && filter.certified();
  const ScanGrid grid{.queries = queries.range(),
                      .rows = base.range(),
                      .query_tile = plan_.query_tile,
                      .row_tile = plan_.row_tile,
                      .first_row_tile = first_row_tile_,
                      .row_parts = plan_.row_parts,
                      .threads = plan_.threads,
                      .filter_waits = plan_.device != kCpu};
  served_both_ = serves_both(grid, filter, sink);
  const ScanCounts counts =
      !served_both_ ? scan(grid, allowed_, filter, verifier, sink, monitor)
      : keeps_nearest(grid, *filter.two_sided(), *sink.two_sided())
          ? scan_nearest(grid, *filter.two_sided()->nearest(), *sink.two_sided()->nearest_keys(),
                         monitor)
          : scan_once(grid, *filter.two_sided(), verifier, *sink.two_sided(), monitor);
  counts_.considered += counts.considered;
  counts_.verified += counts.verified;
  return taken;
}

// Of those in memory: what is read to a buffer is not there yet.
void Engine::expect_rows_after(std::int64_t first) {
  const auto all = input_.base.in_memory();
  const std::int64_t rows = std::min(plan_.base_chunk, input_.base.rows() - first);
  if (all && rows > 0) filter_->expect_rows({all->slice(first, rows), first});
}

// In pieces, so that a cancelled search need not wait for the whole.
void Engine::check(MatrixView rows, std::int64_t first, std::string_view what,
                   const Monitor& monitor) const {
  const std::int64_t piece = rows_of(kReadBytes, row_bytes(rows.dtype(), rows.cols()));
  for (std::int64_t done = 0; done < rows.rows(); done += piece) {
    const std::int64_t count = std::min(piece, rows.rows() - done);
    check_rows(rows.slice(done, count), first + done, what, input_.check_finite);
    monitor.check();
  }
}

}  // namespace nearfield
