// What one query looks for among the rows that tables lead it to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <nearfield/results.hpp>

#include "scan/found_budget.hpp"
#include "select/top_k.hpp"

namespace nearfield {

class SearchGoal {
 public:
  virtual ~SearchGoal() = default;
  // What the key of a row may be to be of use. Never grows.
  virtual double limit() = 0;
  // A row of the run that is asked, with a key of at most the limit when it was asked for. Each
  // comes once.
  virtual void take(std::int64_t row, double key) = 0;
};

// The k nearest.
class NearestGoal final : public SearchGoal {
 public:
  // ids: of the rows of the run. most: no key is above it, nor is one of use.
  NearestGoal(std::int64_t k, double threshold, std::span<const std::int64_t> ids, double most)
      : best_(k, threshold), ids_(ids), most_(most) {}

  double limit() override {
    best_.settle();
    return std::min(best_.threshold(), most_);
  }
  void take(std::int64_t row, double key) override {
    best_.offer({key, ids_[static_cast<std::size_t>(row)]});
  }
  std::span<const Neighbor> found() { return best_.unsorted(); }

 private:
  TopK<Neighbor> best_;
  std::span<const std::int64_t> ids_;
  double most_;
};

// All up to a key.
class WithinGoal final : public SearchGoal {
 public:
  WithinGoal(double most, std::span<const std::int64_t> ids, FoundBudget& budget,
             std::vector<Neighbor>& found)
      : most_(most), ids_(ids), budget_(budget), found_(found) {}

  double limit() override { return most_; }
  void take(std::int64_t row, double key) override {
    budget_.spend(1);
    found_.push_back({key, ids_[static_cast<std::size_t>(row)]});
  }

 private:
  double most_;
  std::span<const std::int64_t> ids_;
  FoundBudget& budget_;
  std::vector<Neighbor>& found_;
};

}  // namespace nearfield
