// Comparing a search with what it should have found, bit for bit.
#pragma once

#include <string>

#include <nearfield/results.hpp>

#include "tests/oracle/oracle.hpp"

namespace nearfield::oracle {

// Empty if shape, counts, ids, keys and distances are all equal, the last two as bits; else one
// sentence naming the first query and position that differ, and both values.
std::string difference(const Neighbors& got, const Answer& want);

std::string difference(const Ranges& got, const RangeAnswer& want);

std::string difference(const Pairs& got, const PairAnswer& want);

// A result to compare others with: another ISA's, another thread count's.
Answer answer_of(const Neighbors& neighbors);

// The first k of each query.
Answer head_of(const Answer& answer, std::int64_t k);

// What comes after the first k of each query.
Answer tail_of(const Answer& answer, std::int64_t k);

}  // namespace nearfield::oracle
