#include <nearfield/tune_index.hpp>

#include "core/fail.hpp"
#include "device/device_name.hpp"
#include "index/family.hpp"

namespace nearfield {

TunedIndex Family::tune(const RowSource& /*rows*/, const RowSource& /*queries*/,
                        const TuneIndexOptions& /*options*/, const Context& /*context*/) const {
  fail(ErrorCode::unsupported,
       "lsh alone is tuned to a recall: flat and mih find all there is, ewh and auto take a recall "
       "behind their name, as in 'ewh,recall=0.9', and coded finds more by a larger rerank");
}

TunedIndex tune_index(const IndexSpec& spec, const RowSource& rows, const RowSource& queries,
                      const TuneIndexOptions& options, const Context& context) {
  check_on_cpu(context, "tuning an index");
  if (!(options.recall > 0 && options.recall < 1)) {
    fail(ErrorCode::invalid_argument, "a recall to be reached is between 0 and 1, got {}",
         options.recall);
  }
  if (options.k < 1 || options.k >= rows.rows()) {
    fail(ErrorCode::invalid_argument, "k is 1 to {}, one less than there are vectors, got {}",
         rows.rows() - 1, options.k);
  }
  if (rows.dtype() != spec.dtype || rows.cols() != spec.cols) {
    fail(ErrorCode::invalid_argument,
         "the index has {} columns of {}, the vectors have {} of {}: convert them", spec.cols,
         to_string(spec.dtype), rows.cols(), to_string(rows.dtype()));
  }
  return make_family(spec)->tune(rows, queries, options, context);
}

}  // namespace nearfield
