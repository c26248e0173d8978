#include "index/mih/mih_parameters.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "hash/bit_partition.hpp"
#include "index/family.hpp"

namespace nearfield {

MihParameters parse_mih(const IndexSpec& spec) {
  if (spec.dtype != DType::bits || spec.metric.metric != Metric::hamming) {
    fail(ErrorCode::invalid_argument,
         "mih is for packed bits under hamming, and these are {} under {}: use flat",
         to_string(spec.dtype), to_string(spec.metric));
  }
  MihParameters parameters;
  for (const FamilyParameter& given : family_parameters(spec.family)) {
    if (given.name != "tables") {
      fail(ErrorCode::invalid_argument, "mih has no parameter '{}': it has tables", given.name);
    }
    const std::int64_t most = std::min(kMostMihTables, spec.cols);
    parameters.tables = given.number();
    if (parameters.tables < 1 || parameters.tables > most) {
      fail(ErrorCode::invalid_argument, "mih has 1 to {} tables of vectors of {} bits, not {}",
           most, spec.cols, parameters.tables);
    }
  }
  return parameters;
}

}  // namespace nearfield
