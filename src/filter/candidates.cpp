#include "filter/filter.hpp"

#include "core/make_room.hpp"

namespace nearfield {

void Candidates::start_dense(const Block& block) {
  block_ = block;
  most_ = block.pairs();
  dense_ = true;
  keyed_ = false;
}

void Candidates::start_listed(const Block& block, std::int64_t most) {
  block_ = block;
  most_ = most;
  dense_ = false;
  keyed_ = false;
  // At once: growing by doubling would take twice what the plan counts.
  reserve_room(rows_, static_cast<std::size_t>(most));
  reserve_room(ends_, static_cast<std::size_t>(block.queries.size() + 1));
  ends_.push_back(0);
}

void Candidates::start_keyed(const Block& block, std::int64_t most) {
  start_listed(block, most);
  keyed_ = true;
  reserve_room(keys_, static_cast<std::size_t>(most));
}

std::byte* Candidates::scratch(std::int64_t bytes) {
  if (bytes > scratch_bytes_) {
    scratch_ = {};  // first: the plan counts one
    scratch_ = AlignedArray<std::byte>(bytes);
    scratch_bytes_ = bytes;
  }
  return scratch_.data();
}

std::int64_t Candidates::size() const {
  return dense_ ? block_.pairs() : static_cast<std::int64_t>(rows_.size());
}

}  // namespace nearfield
