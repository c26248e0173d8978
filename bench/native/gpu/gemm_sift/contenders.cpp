#include "bench/native/gpu/gemm_sift/contenders.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nearfield/match.hpp>

namespace nearfield::bench {
namespace {

constexpr MatchOptions kFrameOptions = {.cross_check = CrossCheck::none};

std::int64_t row_of(DeviceItem item) { return static_cast<std::uint32_t>(item); }

// true_value: of a query and a row; expected: of the CPU's, in order.
template <class TrueValue>
void check_values(const std::string& series, const std::vector<DeviceItem>& items,
                  const Neighbors& expected, double bound, const TrueValue& true_value) {
  for (std::int64_t i = 0; i < std::ssize(items); ++i) {
    const DeviceItem item = items[place(i)];
    if (item == kNoDeviceItem) {
      fail_check(series, fmt::format("query {} has no neighbour {}", i / 2, i % 2));
    }
    const double found = value_of(item);
    const double key = expected.keys[place(i)];
    const double of_row = true_value(i / 2, row_of(item));
    if (std::abs(found - key) <= bound && std::abs(found - of_row) <= bound) continue;
    fail_check(series, fmt::format("neighbour {} of query {} is found at {}; it is at {}, the "
                                   "CPU's at {}: more than the bound {} allows",
                                   i % 2, i / 2, found, of_row, key, bound));
  }
}

std::string named(std::string_view call, const Context& context) {
  return context.device.empty() ? fmt::format("cpu, {}", call) : std::string(call);
}

void check_device(const std::string& series, const Plan& plan, const Context& context) {
  const std::string wanted = context.device.empty() ? "cpu" : context.device;
  if (plan.device != wanted) fail_check(series, fmt::format("ran on {}", plan.device));
}

}  // namespace

void check_products(const std::string& series, const Problem& problem,
                    const std::vector<DeviceItem>& items, double bound) {
  check_values(series, items, problem.truth.by_product, bound,
               [&](std::int64_t query, std::int64_t row) {
                 return -product_of(problem.descriptors, query, row);
               });
}

void check_naive(const std::string& series, const Problem& problem,
                 const std::vector<DeviceItem>& items) {
  check_values(series, items, problem.truth.nearest, naive_bound(problem.descriptors),
               [&](std::int64_t query, std::int64_t row) {
                 return square_of(problem.descriptors, query, row);
               });
}

void check_exact(const std::string& series, const Problem& problem, const Neighbors& found) {
  if (found.ids != problem.truth.nearest.ids || found.keys != problem.truth.nearest.keys) {
    fail_check(series, "neighbours differ from the CPU's");
  }
}

Contender tables_alone(const std::string& series, const Measuring& measuring,
                       const Problem& problem, Precision precision, const BatchShape& shape) {
  const auto run = std::make_shared<BatchedRun>(
      measuring.device(), shape, product_fill(measuring, problem.descriptors, precision, shape));
  return {series, Timed::kernels, [=] { run->fill(); },
          [=, &problem] {
            run->run();
            check_products(series, problem, run->read(),
                           product_bound(problem.descriptors, precision));
          }};
}

Contender by_products(const std::string& series, const Measuring& measuring, const Problem& problem,
                      Precision precision, const BatchShape& shape) {
  const auto run = std::make_shared<BatchedRun>(
      measuring.device(), shape, product_fill(measuring, problem.descriptors, precision, shape));
  return {series, Timed::kernels, [=] { run->run(); },
          [=, &problem] {
            check_products(series, problem, run->read(),
                           product_bound(problem.descriptors, precision));
          }};
}

Contender by_products_from_host(const std::string& series, const Measuring& measuring,
                                const Problem& problem, Precision precision,
                                const BatchShape& shape) {
  const auto last = std::make_shared<std::unique_ptr<BatchedRun>>();
  return {series, Timed::call,
          [=, &measuring, &problem] {
            *last = std::make_unique<BatchedRun>(
                measuring.device(), shape,
                product_fill(measuring, problem.descriptors, precision, shape));
            (*last)->run();
          },
          [=, &problem] {
            check_products(series, problem, (*last)->read(),
                           product_bound(problem.descriptors, precision));
          }};
}

Contender by_naive(const Measuring& measuring, const Problem& problem, const BatchShape& shape) {
  const auto run = std::make_shared<BatchedRun>(measuring.device(), shape,
                                                naive_fill(measuring, problem.descriptors, shape));
  return {"naive", Timed::kernels, [=] { run->run(); },
          [=, &problem] { check_naive("naive", problem, run->read()); }};
}

Contender by_exact_knn(const Problem& problem, const Context& context) {
  const std::string series = named("knn, exact", context);
  const auto found = std::make_shared<Neighbors>();
  return {series, Timed::call,
          [=, &problem] {
            *found = knn(problem.descriptors.queries, problem.descriptors.rows, {.k = 2}, context);
          },
          [=, &problem] {
            check_exact(series, problem, *found);
            check_device(series, found->stats.plan, context);
          }};
}

Contender by_match(const Problem& problem, const Context& context) {
  const std::string series = named("match, exact", context);
  const auto found = std::make_shared<Pairs>();
  const auto match_on = [&problem](const Context& where) {
    return match(problem.descriptors.queries, problem.descriptors.rows, kFrameOptions, where);
  };
  return {series, Timed::call, [=] { *found = match_on(context); },
          [=] {
            const Pairs expected = match_on({});
            if (found->first != expected.first || found->second != expected.second) {
              fail_check(series, "matches differ from the CPU's");
            }
            check_device(series, found->stats.plan, context);
          }};
}

}  // namespace nearfield::bench
