#include "bench/native/gpu/knn_gpu/copies.hpp"

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "bench/native/gpu/distance_tables.hpp"

namespace nearfield::bench {
namespace {

constexpr std::int64_t kNeighborBytes = sizeof(std::int64_t) + sizeof(double);
constexpr std::byte kPattern{0x5A};

bool is_there(gpu::Queue& queue, const gpu::Buffer& buffer, const Matrix& vectors) {
  const auto found = read_values<std::byte>(queue, buffer, buffer.bytes());
  return std::memcmp(found.data(), vectors.row(0), found.size()) == 0;
}

}  // namespace

Contender copied_there(const Search& search, const Measuring& measuring) {
  gpu::Queue& queue = measuring.queue();
  const std::shared_ptr<gpu::Buffer> queries = measuring.device().allocate(search.queries.bytes());
  const std::shared_ptr<gpu::Buffer> rows = measuring.device().allocate(search.rows.bytes());
  return {
      "vectors to the device", Timed::copy,
      [=, &search, &queue] {
        queue.write(*queries, search.queries.row(0));
        queue.write(*rows, search.rows.row(0));
        queue.wait();
      },
      [=, &search, &queue] {
        if (!is_there(queue, *queries, search.queries) || !is_there(queue, *rows, search.rows)) {
          fail_check("vectors to the device", "bytes differ");
        }
      }};
}

Contender copied_back(const Search& search, std::int64_t k, const Measuring& measuring) {
  gpu::Queue& queue = measuring.queue();
  const std::int64_t bytes = search.queries.rows() * k * kNeighborBytes;
  const std::shared_ptr<gpu::Buffer> from = measuring.device().allocate(bytes);
  const auto to = std::make_shared<std::vector<std::byte>>(place(bytes));
  queue.fill(*from, std::to_integer<std::uint8_t>(kPattern));
  queue.wait();
  return {"results to the host", Timed::copy,
          [=, &queue] {
            queue.read(*from, to->data());
            queue.wait();
          },
          [=] {
            if (*to != std::vector<std::byte>(to->size(), kPattern)) {
              fail_check("results to the host", "bytes differ");
            }
          }};
}

}  // namespace nearfield::bench
