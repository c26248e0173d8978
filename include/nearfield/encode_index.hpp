// An index of codes, of rows that need not fit into memory, and larger than memory itself.
#pragma once

#include <cstdint>
#include <string>

#include <nearfield/context.hpp>
#include <nearfield/metric.hpp>
#include <nearfield/quantize.hpp>
#include <nearfield/rows.hpp>

namespace nearfield {

struct EncodeIndexOptions {
  MetricSpec metric = Metric::sqeuclidean;  // or euclidean, inner_product
  // Of rq and lsq under a distance: lengths of codes in a byte, not in 5: a float32, and a byte
  // that bounds it.
  bool byte_norms = false;
};

// Encodes the rows of a source to an index of the family `coded` that has no vectors
// ("vectors=none"); their ids are their numbers. What is done lies beside it, as that of
// encode_file, and the same call goes on there. Returns how many rows were done before. Progress is
// of rows that are encoded; then, from 0 on again, of bytes that are written, which are more.
std::int64_t encode_index(const Quantizer& quantizer, const RowSource& rows,
                          const std::string& path, const EncodeIndexOptions& options = {},
                          const Context& context = {});

}  // namespace nearfield
