// What `auto` keeps where it may choose between exact lookups and scores: the tables of both.
#pragma once

#include <cstdint>
#include <utility>

#include "index/family_data.hpp"

namespace nearfield {

// Either may be null, of few rows.
class AutoTables final : public FamilyData {
 public:
  AutoTables(SharedFamilyData exact, SharedFamilyData scored)
      : exact_(std::move(exact)), scored_(std::move(scored)) {}

  const SharedFamilyData& exact() const { return exact_; }
  const SharedFamilyData& scored() const { return scored_; }
  std::int64_t bytes() const override {
    return (exact_ != nullptr ? exact_->bytes() : 0) + (scored_ != nullptr ? scored_->bytes() : 0);
  }

 private:
  SharedFamilyData exact_;
  SharedFamilyData scored_;
};

}  // namespace nearfield
