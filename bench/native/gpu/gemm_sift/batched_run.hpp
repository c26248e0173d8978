// The thesis's way: a table of a batch of queries at a time, and of each of its rows the two
// smallest.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "select/gpu/selectors.hpp"

namespace nearfield::bench {

struct BatchShape {
  std::int64_t queries;
  std::int64_t rows;
  std::int64_t batch;   // queries of a table
  std::int64_t queues;  // each with a table: batches go round

  std::int64_t batches() const { return (queries + batch - 1) / batch; }
  std::int64_t first(std::int64_t number) const { return number * batch; }
  std::int64_t count(std::int64_t number) const {
    return number + 1 < batches() ? batch : queries - first(number);
  }
};

// Fills a table with float32 of the batch of that number; does not wait.
using Fill = std::function<void(gpu::Queue&, std::int64_t number, const gpu::Buffer& table)>;

class BatchedRun {
 public:
  BatchedRun(gpu::Device& device, const BatchShape& shape, Fill fill);

  void fill();  // tables alone
  void run();   // and two of each row
  // Of the last run: queries x 2.
  std::vector<DeviceItem> read();

 private:
  // On a queue of its own. What is queued ends before its memory does.
  struct Lane {
    std::unique_ptr<gpu::Queue> queue;
    std::unique_ptr<gpu::Buffer> table;
    Scratch scratch;
    std::unique_ptr<gpu::WaitAtEnd> wait_at_end;
  };

  void go(bool select);

  gpu::Device& device_;
  const BatchShape shape_;
  const Fill fill_;
  std::vector<std::unique_ptr<gpu::Buffer>> items_;  // of each batch
  std::vector<Lane> lanes_;
};

}  // namespace nearfield::bench
