// Which bits, tables and probes find enough at the least cost.
#pragma once

#include <nearfield/tune_index.hpp>

#include "index/lsh/lsh_parameters.hpp"

namespace nearfield {

// parameters: what is to be kept of them; bits, tables and probes are chosen.
TunedIndex tune_lsh(const IndexSpec& spec, const LshParameters& parameters, const RowSource& rows,
                    const RowSource& queries, const TuneIndexOptions& options,
                    const Context& context);

}  // namespace nearfield
