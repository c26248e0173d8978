#include "distance/kernels.hpp"

#include <algorithm>
#include <cstring>

#include "core/checked.hpp"
#include "device/vector_isa.hpp"

namespace nearfield {

#define NEARFIELD_METRIC(name, description) const MetricKernels* name##_kernels(Isa isa);
#include <nearfield/metrics.def>
#undef NEARFIELD_METRIC

namespace {

constexpr std::array<const MetricKernels* (*)(Isa), kMetricCount> kBuilt{
#define NEARFIELD_METRIC(name, description) name##_kernels,
#include <nearfield/metrics.def>
#undef NEARFIELD_METRIC
};

std::vector<DistanceKernels> collect() {
  std::vector<DistanceKernels> tables;
  for (const Isa isa : available_isas()) {
    DistanceKernels& table = tables.emplace_back();
    table.isa = isa;
    for (std::size_t m = 0; m < kMetricCount; ++m) table.metrics[m] = *kBuilt[m](vector_isa(isa));
  }
  return tables;
}

}  // namespace

const DistanceKernels& distance_kernels(Isa isa) {
  static const std::vector<DistanceKernels> tables = collect();
  for (const DistanceKernels& table : tables) {
    if (table.isa == isa) return table;
  }
  std::string names;
  for (const DistanceKernels& table : tables) names += fmt::format(" {}", to_string(table.isa));
  fail(ErrorCode::unsupported, "ISA {} is not available here, only:{}", to_string(isa), names);
}

Isa isa_of(const Context& context) {
  return distance_kernels(context.isa ? *context.isa : default_isa()).isa;
}

PreparedQuery::PreparedQuery(DType dtype, std::int64_t cols, Isa isa)
    : cols_(cols),
      load_(row_loaders(isa)[static_cast<std::size_t>(dtype)]),
      steps_(static_cast<std::size_t>(dtype == DType::bits ? divide_up(cols, 512)
                                                           : divide_up(cols, 8)) +
             1) {}

bool PreparedQuery::load(const std::byte* row) {
  if (load_ != nullptr) return load_(row, cols_, steps_.front().values.data());
  std::memcpy(steps_.data(), row, static_cast<std::size_t>(row_bytes(DType::bits, cols_)));
  return true;
}

const std::byte* PreparedQuery::data() const {
  return reinterpret_cast<const std::byte*>(steps_.data());
}

std::span<const double> PreparedQuery::numbers() const {
  return {steps_.front().values.data(), static_cast<std::size_t>(cols_)};
}

}  // namespace nearfield
