// Lists of rows that queries have met, gone through in blocks of rows, by any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace nearfield {

// A List has `query`, whose rows from `next` on are marked; -1: nobody's.
template <class List>
class MetLists {
 public:
  // The one that has the rows of the query from `row` on, or one that is free; make(): another.
  template <class Make>
  std::unique_ptr<List> take(std::int64_t query, std::int64_t row, const Make& make) {
    const std::lock_guard lock(mutex_);
    auto found = std::ranges::find_if(
        lists_, [&](const auto& list) { return list->query == query && list->next == row; });
    if (found == lists_.end()) found = std::ranges::find(lists_, -1, &List::query);
    if (found == lists_.end()) return make();
    std::unique_ptr<List> list = std::move(*found);
    lists_.erase(found);
    return list;
  }

  // Its rows before `end` are answered, of so many.
  void give_back(std::unique_ptr<List> list, std::int64_t end, std::int64_t rows) {
    list->next = end;
    if (end == rows) list->query = -1;
    const std::lock_guard lock(mutex_);
    lists_.push_back(std::move(list));
  }

 private:
  std::mutex mutex_;  // guards lists_
  std::vector<std::unique_ptr<List>> lists_;
};

}  // namespace nearfield
