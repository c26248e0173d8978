#include "filter/rounded/tile_queries.hpp"

#include <algorithm>
#include <cstring>

#include "core/float_environment.hpp"
#include "core/tasks.hpp"

namespace nearfield {
TileQueries::TileQueries(Range range, std::int64_t query_bytes)
    : range_(range),
      stride_(bytes_per_query(query_bytes)),
      values_((range.size() + kTileQueries) * stride_) {}

void TileQueries::fill(int threads, const Monitor& monitor,
                       const std::function<MakeQuery()>& start_task) {
  const std::int64_t per_task = std::max<std::int64_t>(kBytesPerTask / stride_, 1);
  run_tasks(divide_up(range_.size(), per_task), threads, [&](std::int64_t task, int) {
    monitor.check();
    const DefaultFloats floats;
    const MakeQuery make = start_task();
    const std::int64_t end = std::min((task + 1) * per_task, range_.size());
    for (std::int64_t query = task * per_task; query < end; ++query) {
      std::byte* const out = values_.data() + query * stride_;
      std::memset(out, 0, static_cast<std::size_t>(stride_));
      make(query, out);
    }
  });
  std::memset(values_.data() + range_.size() * stride_, 0,
              static_cast<std::size_t>(kTileQueries * stride_));
}

}  // namespace nearfield
