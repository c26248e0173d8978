#include "bench/native/gpu/knn_gpu/searches.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include <fmt/format.h>
#include <nearfield/pairwise.hpp>

#include "bench/native/gpu/uniform.hpp"
#include "search/plan.hpp"

namespace nearfield::bench {
namespace {

// Of a table that is selected from: 256 MiB of float64, 512 MiB of float32.
constexpr std::int64_t kHostTable = std::int64_t{1} << 25;
constexpr std::int64_t kDeviceTable = std::int64_t{1} << 27;

// How the plan names what a method does: a search that took another must not bear its name.
struct Method {
  DeviceMethod method;
  std::string_view filter;
};
constexpr std::array<Method, 3> kMethods = {
    {{DeviceMethod::keys, "keys of every row, on the device"},
     {DeviceMethod::fused, "keys of every row and the first of them, on the device"},
     {DeviceMethod::halves, "f16 products, on the device"}}};

const Method* method_named(std::string_view name) {
  const auto* const found =
      std::find_if(kMethods.begin(), kMethods.end(),
                   [&](const Method& method) { return to_string(method.method) == name; });
  return found == kMethods.end() ? nullptr : found;
}

// As long as a search runs. Null: as the search chooses.
class Forced {
 public:
  explicit Forced(const Method* method) : before_(default_tuning()) {
    if (method != nullptr) default_tuning().device.method = method->method;
  }
  ~Forced() { default_tuning() = before_; }
  Forced(const Forced&) = delete;
  Forced& operator=(const Forced&) = delete;

 private:
  const Tuning before_;
};

void check_plan(const std::string& series, const Plan& plan, const std::string& device,
                const Method* method) {
  const bool as_asked = method == nullptr || plan.filter == method->filter;
  if (plan.device == device && as_asked) return;
  fail_check(series, fmt::format("ran on {} by '{}'", plan.device, plan.filter));
}

void check_same(const std::string& series, const Search& search, std::int64_t k,
                std::span<const std::int64_t> ids, std::span<const double> keys) {
  for (std::int64_t i = 0; i < search.queries.rows() * k; ++i) {
    const std::int64_t id = search.expected.ids_of(i / k)[place(i % k)];
    const double key = search.expected.keys_of(i / k)[place(i % k)];
    if (ids[place(i)] == id && keys[place(i)] == key) continue;
    fail_check(series, fmt::format("neighbour {} of query {} is row {} at {}, the CPU's is {} at "
                                   "{} (n {}, d {}, k {})",
                                   i % k, i / k, ids[place(i)], keys[place(i)], id, key,
                                   search.rows.rows(), search.rows.cols(), k));
  }
}

// Of all queries.
struct Found {
  std::vector<std::int64_t> ids;
  std::vector<double> keys;
};

// About the key: bounds on halves are far wider than a sum's rounding.
double distance_between(const Search& search, std::int64_t query, std::int64_t row) {
  const auto* const x = reinterpret_cast<const float*>(search.queries.row(query));
  const auto* const y = reinterpret_cast<const float*>(search.rows.row(row));
  double sum = 0;
  for (std::int64_t i = 0; i < search.rows.cols(); ++i) {
    const double difference = double{x[i]} - double{y[i]};
    sum += difference * difference;
  }
  return sum;
}

// The i-th found is about as far as the i-th of the CPU, and as the row that it names.
void check_about(const std::string& series, const Search& search, std::int64_t k,
                 std::span<const DeviceItem> items) {
  const HalfBound bound(search.queries, search.rows, ProductKind::f16);
  for (std::int64_t i = 0; i < std::ssize(items); ++i) {
    const DeviceItem item = items[place(i)];
    const double found = value_of(item);
    const double key = search.expected.keys_of(i / k)[place(i % k)];
    const double of_row = distance_between(search, i / k, static_cast<std::uint32_t>(item));
    if (bound.holds(key, found) && bound.holds(of_row, found)) continue;
    fail_check(series, fmt::format("neighbour {} of query {} is found at {}; it is at {}, the "
                                   "CPU's at {}: more than the bound of halves allows",
                                   i % k, i / k, found, of_row, key));
  }
}

}  // namespace

Search::Search(std::int64_t query_count, std::int64_t row_count, std::int64_t cols,
               std::int64_t most_k)
    : queries(uniform_vectors(query_count, cols, kQuerySeed)),
      rows(uniform_vectors(row_count, cols, kRowSeed)),
      expected(knn(queries, rows, {.k = most_k})) {}

Contender by_knn(const Search& search, std::int64_t k, const Context& context,
                 const std::string& method) {
  const bool on_cpu = context.device.empty();
  const std::string series = on_cpu           ? "cpu, knn"
                             : method.empty() ? "knn"
                                              : fmt::format("knn, {}", method);
  const Method* const forced = method_named(method);
  if (!method.empty() && forced == nullptr) fail_check(series, "this library has no such method");
  const auto found = std::make_shared<Neighbors>();
  return {series, Timed::call,
          [=, &search] {
            const Forced while_searching(forced);
            *found = knn(search.queries, search.rows, {.k = k}, context);
          },
          [=, &search] {
            check_same(series, search, k, found->ids, found->keys);
            check_plan(series, found->stats.plan, on_cpu ? "cpu" : context.device, forced);
          }};
}

Contender by_two_calls(const Search& search, std::int64_t k, const Measuring& measuring) {
  const auto found = std::make_shared<Found>();
  const Context context = measuring.context();
  const auto run = [=, &search] {
    *found = {};
    const std::int64_t most = std::max<std::int64_t>(kHostTable / search.rows.rows(), 1);
    for (std::int64_t first = 0; first < search.queries.rows(); first += most) {
      const std::int64_t count = std::min(most, search.queries.rows() - first);
      const Pairwise table =
          pairwise(search.queries.view().slice(first, count), search.rows, {}, context);
      const Selected selected =
          select_k(ValuesView(table.values.data(), count, table.rows), {.k = k}, context);
      found->ids.insert(found->ids.end(), selected.ids.begin(), selected.ids.end());
      found->keys.insert(found->keys.end(), selected.values.begin(), selected.values.end());
    }
  };
  return {"pairwise + select_k", Timed::call, run,
          [=, &search] { check_same("pairwise + select_k", search, k, found->ids, found->keys); }};
}

HalfTables::HalfTables(const Measuring& measuring, const Search& search)
    : search_(search),
      device_(measuring.device()),
      queue_(measuring.queue()),
      most_queries_(
          std::clamp<std::int64_t>(kDeviceTable / search.rows.rows(), 1, search.queries.rows())),
      table_(device_, queue_, search.rows, ProductKind::f16, most_queries_) {
  for (std::int64_t first = 0; first < search.queries.rows(); first += most_queries_) {
    const std::int64_t count = std::min(most_queries_, search.queries.rows() - first);
    queries_.push_back(table_.convert(search.queries.view().slice(first, count)));
  }
}

// Selections of the tables, one after the other.
class HalfTables::Run {
 public:
  Run(const HalfTables& tables, std::int64_t k, const DeviceSelector& selector) : tables_(tables) {
    for (const ConvertedVectors& queries : tables.queries_) {
      const SelectShape shape{queries.count, tables.search_.rows.rows(), k, false};
      selections_.emplace_back(tables.device_, tables.queue_, tables.table_.found(), shape,
                               selector.run);
    }
  }

  void run() {
    for (std::size_t i = 0; i < selections_.size(); ++i) {
      tables_.table_.fill(tables_.queries_[i]);
      selections_[i].run();
    }
  }

  std::vector<DeviceItem> read() const {
    std::vector<DeviceItem> all;
    for (const SelectionRun& selection : selections_) {
      const std::vector<DeviceItem> items = selection.read();
      all.insert(all.end(), items.begin(), items.end());
    }
    return all;
  }

 private:
  const HalfTables& tables_;
  std::deque<SelectionRun> selections_;
};

Contender HalfTables::select(std::int64_t k, const DeviceSelector& selector) const {
  const auto run = std::make_shared<Run>(*this, k, selector);
  const std::string series = fmt::format("f16 + {}", selector.name);
  return {series, Timed::kernels, [=] { run->run(); },
          [=, this] { check_about(series, search_, k, run->read()); }};
}

}  // namespace nearfield::bench
