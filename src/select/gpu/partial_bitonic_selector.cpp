#include "select/gpu/partial_bitonic_selector.hpp"

#include <array>

#include "select/gpu/capacity_modules.hpp"

namespace nearfield {
namespace {

constexpr std::array<CapacityModule, 4> kPartialBitonicModules = {{{"partial_bitonic_32", 32},
                                                                   {"partial_bitonic_128", 128},
                                                                   {"partial_bitonic_512", 512},
                                                                   {"partial_bitonic_2048", 2048}}};

}  // namespace

void sort_partially(const SelectJob& job, const gpu::Buffer& values, std::uint32_t kind,
                    std::int64_t count, bool largest) {
  const CapacityModule& module = module_for(kPartialBitonicModules, job.shape.k);
  job.queue.run({module.name, "partial_bitonic"}, {job.shape.rows, 1},
                {values, kind, static_cast<std::uint32_t>(count), std::uint32_t{largest},
                 static_cast<std::uint32_t>(job.shape.k), job.items});
}

std::int64_t scratch_bytes_partial_bitonic(const SelectShape& /*shape*/) { return 0; }

void run_partial_bitonic(const SelectJob& job, Scratch& /*scratch*/) {
  sort_partially(job, job.values, kSourceFloats, job.shape.cols, job.shape.largest);
}

}  // namespace nearfield
