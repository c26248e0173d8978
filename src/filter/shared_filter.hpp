// One search that several filters share, each on hardware of its own: blocks go to whoever is free,
// so that a faster one looks at more of them. One that fails is left out, and what it had been
// given is done by another.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "filter/filter_maker.hpp"

namespace nearfield {

struct SharedFilterMember {
  std::string name;  // "opencl:1"
  std::unique_ptr<FilterMaker> maker;
  int callers = 1;  // threads that may ask it at once
  bool may_fail = false;
  // Of the blocks it is given: at most so many rows, from a multiple of these in the chunk on.
  std::int64_t most_rows = 1;
  std::int64_t row_unit = 1;
};

class SharedFilterMaker final : public FilterMaker {
 public:
  explicit SharedFilterMaker(std::vector<SharedFilterMember> members);
  ~SharedFilterMaker() override;

  void take_queries(const Piece& queries, const Piece& rows, int threads,
                    Monitor& monitor) override;
  void expect_rows(const Piece& rows) override;
  TakenRows take_rows(const Piece& rows, int threads, Monitor& monitor) override;
  std::string name() const override;
  // Who failed, and of what; how much each of the others has looked at.
  std::string note() const override;

 private:
  class Pool;
  class Shared;

  std::unique_ptr<Pool> pool_;
  std::unique_ptr<Shared> filter_;
};

}  // namespace nearfield
