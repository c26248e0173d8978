// What kernels of products know of each vector beside its values.
#pragma once

#include "distance/gpu/product_adds.h"
#include "distance/gpu/product_tile.h"

namespace nearfield::device {

// Of a query, by the kernel; of a row of halves, {add, loss}.
struct Terms {
  Written first;
  Written second;
};

// Of a row of bytes, what is added.
template <class>
struct RowTermsOf {
  using Type = Terms;
};
template <>
struct RowTermsOf<i8> {
  using Type = i32;
};
using RowTerms = RowTermsOf<Value>::Type;

}  // namespace nearfield::device
