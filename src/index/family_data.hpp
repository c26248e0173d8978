// What a family makes of rows beside them, to search by.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/tensor_file.hpp"

namespace nearfield {

// Of the first rows of a part. Never changed, and shared by readers: a writer makes another.
class FamilyData {
 public:
  virtual ~FamilyData() = default;
  virtual std::int64_t bytes() const = 0;
};

using SharedFamilyData = std::shared_ptr<const FamilyData>;

// The same of all rows that are written to a file.
class FamilyTensors {
 public:
  virtual ~FamilyTensors() = default;
  // It must outlive them.
  virtual void add_to(std::vector<TensorToWrite>& tensors) const = 0;
};

}  // namespace nearfield
