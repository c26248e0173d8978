#include "code/gpu/lsq_device.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "device/gpu/open.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kRowModule = "code_rows";

// More vectors fill no device better, and take longer between two looks at the monitor.
constexpr std::int64_t kMostSearched = 1 << 14;

// The widest row of each pair of codebooks.
std::vector<double> widest_of(const std::vector<std::uint32_t>& ranges, std::int64_t codewords) {
  std::vector<double> widest;
  for (auto row = ranges.begin(); row != ranges.end(); row += codewords) {
    widest.push_back(*std::max_element(row, row + codewords));
  }
  return widest;
}

std::string_view icm_module(int codewords) { return codewords == 16 ? "icm_16" : "icm_256"; }

std::uint32_t argument_of(std::int64_t number) { return static_cast<std::uint32_t>(number); }

// Of a block of make_unaries, and of icm_step: as icm.cu has them.
std::int64_t product_vectors(std::int64_t threads, std::int64_t codewords) {
  constexpr std::int64_t kVectorsOfAThread = 8;
  return std::max<std::int64_t>(threads / codewords, 1) * kVectorsOfAThread;
}
std::int64_t step_vectors(std::int64_t threads, std::int64_t codewords, std::int64_t warp) {
  return threads / std::min(warp, codewords / 2);
}

}  // namespace

LsqDevice::LsqDevice(const Context& context)
    : device_(gpu::open_device(context.device).device),
      id_(gpu::open_device(context.device).id),
      queue_(device_.make_queue(context.stream)),
      limit_(context.device_memory_limit.value_or(device_.facts().memory)) {
  if (!device_.facts().has_float64) {
    fail(ErrorCode::unsupported, "rows are rounded in float64, which {} lacks: take another", id_);
  }
}

// Codewords twice as integers, and of each row of a pair of codebooks its range.
std::int64_t LsqDevice::bytes_of_tables(const Shape& shape) {
  const std::int64_t words = std::int64_t{shape.codebooks} * shape.codewords;
  return 4 * shape.cols + words * (4 * shape.padded_cols + 4 + 2 * 4 * shape.pairs) +
         words * (shape.codebooks - 1) * (2 * shape.codewords + 4);
}

std::int64_t LsqDevice::bytes_of_a_vector(const Shape& shape) {
  const std::int64_t m = shape.codebooks;
  // Two of codes; of stale, streams and inverses 8 each, of scales and costs 4.
  return 4 * shape.cols + 4 * shape.pairs + 2 * m * shape.codewords + 2 * m + 3 * 8 + 2 * 4;
}

void LsqDevice::load(const Codebooks& codebooks, std::int64_t most_rows, const Monitor& monitor) {
  tables_ = {};  // before those that take their place
  batch_ = {};
  IcmWords words(codebooks);
  shape_ = {.codebooks = words.codebooks(),
            .codewords = words.codewords(),
            .cols = words.cols(),
            .padded_cols = words.padded_cols(),
            .pairs = words.pairs(),
            .quantum = 1,
            .twice_word_step = 2 * words.word_step()};
  std::int64_t room = vectors_at_once(most_rows);
  make_tables(words, monitor);
  for (;;) {
    monitor.check();
    try {
      batch_ = make_batch(room);
      break;
    } catch (const gpu::OutOfMemory&) {
      if (room == 1) throw;
      room /= 2;
    }
  }
}

// With the ranges of rows.
std::int64_t LsqDevice::loading_bytes(int codebooks, int codewords, std::int64_t cols) {
  return IcmWords::bytes_for(codebooks, codewords, cols) +
         std::int64_t{codebooks} * (codebooks - 1) * codewords * 4;
}

std::int64_t LsqDevice::vectors_at_once(std::int64_t most_rows) const {
  const std::int64_t fixed = bytes_of_tables(shape_);
  const std::int64_t of_a_vector = bytes_of_a_vector(shape_);
  const std::int64_t unaries = 2 * std::int64_t{shape_.codebooks} * shape_.codewords;
  const std::int64_t largest = device_.facts().largest_buffer;
  const std::int64_t fits =
      std::min((limit_ - fixed) / of_a_vector, largest / std::max(4 * shape_.cols, unaries));
  if (limit_ < fixed + of_a_vector || fits < 1) {
    fail(ErrorCode::memory_limit,
         "{} codebooks of {} codewords of {} columns take {} bytes on {}, and a row {}, but the "
         "limit is {} bytes, and the largest piece of memory {}: raise it, or take fewer codebooks",
         shape_.codebooks, shape_.codewords, shape_.cols, fixed, id_, of_a_vector, limit_, largest);
  }
  return std::min({fits, kMostSearched, std::max<std::int64_t>(most_rows, 1)});
}

template <class Values>
std::unique_ptr<gpu::Buffer> LsqDevice::copied(const Values& values) {
  auto buffer = device_.allocate(static_cast<std::int64_t>(values.size_bytes()));
  queue_->write(*buffer, values.data());
  return buffer;
}

// As IcmTables makes them: products twice, for the quantum and in it.
void LsqDevice::make_tables(IcmWords& words, const Monitor& monitor) {
  const std::string_view module = icm_module(shape_.codewords);
  const std::int64_t others = shape_.codebooks - 1;
  const std::int64_t rows = shape_.codebooks * others * shape_.codewords;
  const gpu::Grid of_a_target{
      divide_up(shape_.codewords, product_vectors(queue_->threads(module), shape_.codewords)),
      others};
  std::vector<std::uint32_t> ranges(static_cast<std::size_t>(rows));
  const gpu::WaitAtEnd wait(*queue_);
  const IcmWords::Arrays arrays = words.arrays();
  tables_.centre = copied(arrays.centre);
  tables_.words = copied(arrays.words);
  tables_.rounded = copied(arrays.rounded);
  const auto word_rows = copied(arrays.rounded_rows);
  const auto range_buffer = device_.allocate(4 * rows);
  const auto each_target = [&](const auto& run_from) {
    for (std::int64_t target = 0; target < shape_.codebooks; ++target) {
      run_from(argument_of(target * others));
      queue_->wait();
      monitor.check();
    }
  };
  each_target([&](std::uint32_t first_pair) {
    queue_->run({module, "pair_ranges"}, of_a_target,
                {*word_rows, *tables_.rounded, first_pair, argument_of(shape_.codebooks),
                 argument_of(shape_.pairs), *range_buffer});
  });
  queue_->read(*range_buffer, ranges.data());
  queue_->wait();
  words.set_quantum(widest_of(ranges, shape_.codewords));
  shape_.quantum = words.quantum();
  tables_.norms = copied(words.arrays().scaled_norms);
  tables_.pairs = device_.allocate(2 * rows * shape_.codewords);
  each_target([&](std::uint32_t first_pair) {
    queue_->run({module, "pair_rows"}, of_a_target,
                {*word_rows, *tables_.rounded, first_pair, argument_of(shape_.codebooks),
                 argument_of(shape_.pairs), words.pair_scale(), *tables_.pairs});
  });
}

LsqDevice::Batch LsqDevice::make_batch(std::int64_t room) {
  const auto each = [&](std::int64_t bytes) { return device_.allocate(room * bytes); };
  const std::int64_t m = shape_.codebooks;
  return {.room = room,
          .rows = each(4 * shape_.cols),
          .rounded = each(4 * shape_.pairs),
          .unaries = each(2 * m * shape_.codewords),
          .codes = each(m),
          .best = each(m),
          .stale = each(8),
          .streams = each(8),
          .inverses = each(8),
          .scales = each(4),
          .costs = each(4)};
}

std::int64_t LsqDevice::blocks_of(std::int64_t threads) const {
  return divide_up(threads, queue_->threads(kRowModule));
}

void LsqDevice::run(std::string_view entry, const gpu::Grid& grid,
                    std::initializer_list<gpu::Argument> arguments) {
  queue_->run({kRowModule, entry}, grid, arguments);
}

// Of the rows of the batch: random streams, rounded values, unaries.
void LsqDevice::measure(std::int64_t count) {
  const std::uint32_t rows = argument_of(count);
  const std::uint32_t cols = argument_of(shape_.cols);
  run("measure_rows", {blocks_of(count), 1},
      {*batch_.rows, *tables_.centre, rows, cols, shape_.twice_word_step, shape_.quantum,
       *batch_.streams, *batch_.inverses, *batch_.scales});
  run("round_rows", {blocks_of(shape_.pairs), count},
      {*batch_.rows, *tables_.centre, rows, cols, *batch_.inverses, *batch_.rounded});
  const std::string_view module = icm_module(shape_.codewords);
  const std::int64_t of_a_block = product_vectors(queue_->threads(module), shape_.codewords);
  queue_->run({module, "make_unaries"}, {divide_up(count, of_a_block), shape_.codebooks},
              {*batch_.rounded, *batch_.scales, rows, argument_of(batch_.room), *tables_.rounded,
               argument_of(shape_.pairs), *tables_.norms, *batch_.unaries});
}

void LsqDevice::sweep(const std::vector<int>& order, std::int64_t count) {
  const std::string_view module = icm_module(shape_.codewords);
  const std::int64_t words = shape_.codewords;
  const std::int64_t of_a_block =
      step_vectors(queue_->threads(module), words, device_.facts().warp);
  for (const std::int64_t target : order) {
    // Two codes a word.
    const std::int64_t first_pair = target * (shape_.codebooks - 1) * words * words / 2;
    const std::int64_t first_unary = target * batch_.room * words / 2;
    queue_->run({module, "icm_step"}, {divide_up(count, of_a_block), 1},
                {*tables_.pairs, static_cast<std::uint64_t>(first_pair), *batch_.unaries,
                 static_cast<std::uint64_t>(first_unary), argument_of(count),
                 argument_of(shape_.codebooks), argument_of(target), *batch_.codes, *batch_.stale});
  }
}

void LsqDevice::keep_better(std::int64_t count, bool are_first) {
  const gpu::Buffer& codes = are_first ? *batch_.best : *batch_.codes;
  run("keep_better", {blocks_of(count * kCostParts), 1},
      {*batch_.rows, *tables_.centre, argument_of(count), argument_of(shape_.cols), *tables_.words,
       argument_of(shape_.padded_cols), argument_of(shape_.codebooks),
       argument_of(shape_.codewords), argument_of(are_first ? 1 : 0), codes, *batch_.best,
       *batch_.costs});
}

void LsqDevice::search_batch(const LocalSearch& search, const float* rows, std::int64_t count,
                             StartCodes start, std::uint8_t* codes, float* costs,
                             const Monitor& monitor) {
  const auto close = [&](std::int64_t bytes) { return gpu::CopiedRows{1, bytes, bytes, bytes}; };
  const std::uint32_t m = argument_of(shape_.codebooks);
  const std::uint32_t codewords = argument_of(shape_.codewords);
  const gpu::WaitAtEnd wait(*queue_);
  queue_->write(*batch_.rows, rows, close(4 * count * shape_.cols));
  measure(count);
  if (start == StartCodes::given) {
    queue_->write(*batch_.best, codes, close(count * shape_.codebooks));
  } else {
    run("start_codes", {blocks_of(count), 1},
        {*batch_.streams, search.seed, argument_of(count), m, codewords, *batch_.best});
  }
  keep_better(count, true);
  for (int round = 0; round < search.rounds; ++round) {
    run("perturb_codes", {blocks_of(count), 1},
        {*batch_.streams, search.seed, argument_of(round), argument_of(search.perturbed),
         argument_of(count), m, codewords, *batch_.best, *batch_.codes, *batch_.stale});
    for (int turn = 0; turn < search.sweeps; ++turn) {
      // What is queued cannot be taken back, so that no more than a sweep is.
      queue_->wait();
      monitor.check();
      sweep(sweep_order(search, round, turn, shape_.codebooks), count);
    }
    keep_better(count, false);
  }
  queue_->read(*batch_.best, codes, close(count * shape_.codebooks));
  if (costs != nullptr) queue_->read(*batch_.costs, costs, close(4 * count));
  queue_->wait();
}

void LsqDevice::search(const LocalSearch& search, const float* rows, std::int64_t count,
                       StartCodes start, std::uint8_t* codes, float* costs, Monitor& monitor) {
  for (std::int64_t first = 0; first < count; first += batch_.room) {
    const std::int64_t size = std::min(batch_.room, count - first);
    search_batch(search, rows + first * shape_.cols, size, start, codes + first * shape_.codebooks,
                 costs != nullptr ? costs + first : nullptr, monitor);
    monitor.advance(size);
  }
}

}  // namespace nearfield
