#include "row_slab.hpp"

namespace nearfield::hdf5 {
namespace {

bool select(const Handle& space, std::int64_t first, std::int64_t count, std::int64_t cols) {
  const hsize_t start[2] = {to_hsize(first), 0};
  const hsize_t part[2] = {to_hsize(count), to_hsize(cols)};
  return H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, part, nullptr) >= 0;
}

Handle make_space(std::int64_t rows, std::int64_t cols) {
  const hsize_t room[2] = {to_hsize(rows), to_hsize(cols)};
  return {H5Screate_simple(2, room, nullptr), H5Sclose};
}

}  // namespace

RowSlab::RowSlab(const Handle& dataset, std::int64_t first, std::int64_t count, std::int64_t cols,
                 std::int64_t stride)
    : dataset_(dataset.get()),
      there_(H5Dget_space(dataset_), H5Sclose),
      here_(make_space(count, stride)),
      selected_(select(there_, first, count, cols) && select(here_, 0, count, cols)) {}

bool RowSlab::read(hid_t memory_type, void* out) const {
  return selected_ &&
         H5Dread(dataset_, memory_type, here_.get(), there_.get(), H5P_DEFAULT, out) >= 0;
}

bool RowSlab::write(hid_t memory_type, const void* values) const {
  return selected_ &&
         H5Dwrite(dataset_, memory_type, here_.get(), there_.get(), H5P_DEFAULT, values) >= 0;
}

}  // namespace nearfield::hdf5
