#include "index/lsh/lsh_functions.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/checked.hpp"
#include "core/float_environment.hpp"
#include "core/tasks.hpp"
#include "index/lsh/lsh_fit.hpp"

namespace nearfield {
namespace {

// Streams of random numbers: a table's directions, and its offsets.
std::uint64_t stream_of(std::int64_t table, bool offsets) {
  return 2 * static_cast<std::uint64_t>(table) + (offsets ? 1 : 0);
}

class MakingLshFunctions {
 public:
  MakingLshFunctions(const LshParameters& parameters, MetricSpec metric, MatrixView like,
                     std::int64_t rows, const Monitor& monitor)
      : parameters_(parameters),
        monitor_(monitor),
        made_{parameters.scheme(rows), parameters.tables, {}, {}} {
    made_.directions = Matrix(DType::f32, made_.tables * made_.scheme.projections(), like.cols());
    if (needs_sample()) sample_.emplace(like, metric, monitor);
  }

  OwnLshFunctions make() {
    for (std::int64_t table = 0; table < made_.tables; ++table) {
      monitor_.check();
      if (made_.scheme.kind == LshKind::learned) {
        learn(table);
      } else {
        draw(table);
      }
    }
    return std::move(made_);
  }

 private:
  bool needs_sample() const {
    return made_.scheme.each == 2 || made_.scheme.kind == LshKind::learned || has_cells();
  }
  bool has_cells() const {
    return made_.scheme.kind == LshKind::floor || made_.scheme.kind == LshKind::e8;
  }

  std::span<float> direction(std::int64_t table, int projection) {
    const std::int64_t row = table * made_.scheme.projections() + projection;
    return {reinterpret_cast<float*>(made_.directions.row(row)),
            static_cast<std::size_t>(made_.directions.cols())};
  }

  void learn(std::int64_t table) {
    Random random(parameters_.seed, stream_of(table, false));
    std::vector<LearnedDirection> before;
    for (int i = 0; i < made_.scheme.projections(); ++i) {
      before.push_back(sample_->learn_direction(random, before));
      std::ranges::transform(before.back().values, direction(table, i).begin(),
                             [](double value) { return static_cast<float>(value); });
      add_quantiles(before.back().of_sample);
    }
  }

  void draw(std::int64_t table) {
    Random random(parameters_.seed, stream_of(table, false));
    Random offsets(parameters_.seed, stream_of(table, true));
    const double cell = has_cells() ? cell_width() : 1;
    for (int i = 0; i < made_.scheme.projections(); ++i) {
      for (float& value : direction(table, i)) {
        value = made_.scheme.kind == LshKind::sign ? (random.next_u64() >> 63 != 0 ? 1.0F : -1.0F)
                                                   : static_cast<float>(random.normal() / cell);
      }
      if (has_cells()) {
        made_.levels.push_back(2 * offsets.uniform());  // the period of E8; of cells it is 1
      } else if (made_.scheme.each == 2) {
        add_quantiles(sample_->projections(direction(table, i)));
      } else {
        made_.levels.push_back(0);
      }
    }
  }

  double cell_width() const {
    const double deviation = sample_->deviation();
    return (deviation > 0 ? deviation : 1) * static_cast<double>(parameters_.width) / 100;
  }

  // So that as many rows of the sample lie between two of them, and beyond.
  void add_quantiles(std::vector<double> values) {
    const int count = made_.scheme.levels();
    for (int i = 1; i <= count; ++i) {
      if (values.empty()) {
        made_.levels.push_back(0);
        continue;
      }
      const auto at = values.begin() + std::ssize(values) * i / (count + 1);
      std::ranges::nth_element(values, at);
      made_.levels.push_back(*at);
    }
  }

  const LshParameters& parameters_;
  const Monitor& monitor_;
  OwnLshFunctions made_;
  std::optional<LshSample> sample_;
};

}  // namespace

OwnLshFunctions make_lsh_functions(const LshParameters& parameters, MetricSpec metric,
                                   MatrixView like, std::int64_t rows, const Monitor& monitor) {
  const DefaultFloats floats;
  return MakingLshFunctions(parameters, metric, like, rows, monitor).make();
}

std::int64_t lsh_function_bytes(const LshParameters& parameters, std::int64_t cols,
                                std::int64_t rows) {
  const LshScheme scheme = parameters.scheme(rows);
  const std::int64_t kept = parameters.tables * scheme.projections() *
                            (cols * static_cast<std::int64_t>(sizeof(float)) +
                             2 * scheme.levels() * static_cast<std::int64_t>(sizeof(double)));
  return kept + LshSample::bytes(cols, scheme.projections());
}

LshProjector::LshProjector(DType dtype, std::int64_t cols, MetricSpec metric, Isa isa)
    : scaled_(metric.metric == Metric::cosine),
      products_(distance_kernels(isa).metrics[static_cast<std::size_t>(Metric::inner_product)]),
      vector_(dtype, cols, isa) {}

bool LshProjector::load(const std::byte* row) {
  finite_ = vector_.load(row);
  if (!finite_ || !scaled_) return finite_;
  double key = 0;
  const auto bytes = static_cast<std::int64_t>(vector_.numbers().size_bytes());
  products_.keys[static_cast<std::size_t>(DType::f64)]({.query = vector_.data(),
                                                        .rows = vector_.data(),
                                                        .stride = bytes,
                                                        .row_bytes = bytes,
                                                        .picks = nullptr,
                                                        .count = 1,
                                                        .p = 0,
                                                        .keys = &key});
  scale_ = key < 0 ? 1 / std::sqrt(-key) : 0;
  return true;
}

void LshProjector::project(MatrixView directions, std::span<double> out) const {
  products_.keys[static_cast<std::size_t>(directions.dtype())](
      {.query = vector_.data(),
       .rows = directions.row(0),
       .stride = directions.stride_bytes(),
       .row_bytes = row_bytes(directions.dtype(), directions.cols()),
       .picks = nullptr,
       .count = directions.rows(),
       .p = 0,
       .keys = out.data()});
  finish(out);
}

void LshProjector::finish(std::span<double> keys) const {
  for (double& value : keys) value = finite_ ? value * -scale_ : 0;  // keys grow with distance
}

std::vector<double> LshProjector::scaled() const {
  std::vector<double> values(vector_.numbers().begin(), vector_.numbers().end());
  for (double& value : values) value *= scale_;
  return values;
}

void lsh_keys(MatrixView rows, const LshFunctions& functions, MetricSpec metric, std::int64_t table,
              int threads, const Monitor& monitor, std::uint64_t* out) {
  constexpr std::int64_t kRowsOfATask = 1 << 12;
  const LshHash& hash = lsh_hash(functions.scheme);
  const MatrixView directions = functions.directions_of(table);
  const std::span<const double> levels = functions.levels_of(table);
  run_tasks(divide_up(rows.rows(), kRowsOfATask), threads, [&](std::int64_t task, int) {
    const DefaultFloats floats;
    LshProjector projector(rows.dtype(), rows.cols(), metric, default_isa());
    std::vector<double> projections(static_cast<std::size_t>(directions.rows()));
    monitor.check();
    const std::int64_t end = std::min((task + 1) * kRowsOfATask, rows.rows());
    for (std::int64_t row = task * kRowsOfATask; row < end; ++row) {
      projector.load(rows.row(row));
      projector.project(directions, projections);
      out[row] = hash.key(projections, levels);
    }
  });
}

}  // namespace nearfield
