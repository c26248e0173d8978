// Two enums without any include: device compilers read them too.
#pragma once

namespace nearfield {

// What a metric compares: rows of numbers, or rows of packed bits.
enum class MetricInput { numbers, bits };

// What `Neighbors::distances` holds for a key. The key itself always grows with distance.
enum class Reported {
  key,         // the key
  root,        // its square root
  similarity,  // its negation: larger is closer
  p_th_root,   // its p-th root, for the p of lp
};

}  // namespace nearfield
