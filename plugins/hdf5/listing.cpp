#include "listing.hpp"

#include <string_view>

#include "dataset.hpp"

namespace nearfield::hdf5 {
namespace {

std::string_view class_name(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return H5Tget_sign(type) == H5T_SGN_NONE ? "unsigned integers" : "integers";
    case H5T_FLOAT:
      return "floats";
    case H5T_STRING:
      return "texts";
    case H5T_ENUM:
      return "an enumeration (numpy's bool)";
    case H5T_COMPOUND:
      return "records";
    case H5T_VLEN:
      return "lists of different lengths";
    default:
      return "another class of HDF5";
  }
}

std::string read_text(hid_t attribute, hid_t type) {
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    if (H5Aread(attribute, type, &text) < 0 || text == nullptr) {
      return "";
    }
    std::string copy(text);
    H5free_memory(text);
    return copy;
  }
  std::string text(H5Tget_size(type), '\0');
  return H5Aread(attribute, type, text.data()) < 0 ? "" : std::string(text.c_str());
}

// A number or a text; of anything else its type.
std::string value_of(hid_t attribute) {
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  if (H5Sget_simple_extent_npoints(space.get()) == 1) {
    double number = 0;
    if (kind == H5T_STRING) {
      return read_text(attribute, type.get());
    }
    if ((kind == H5T_INTEGER || kind == H5T_FLOAT) &&
        H5Aread(attribute, H5T_NATIVE_DOUBLE, &number) >= 0) {
      return fmt::format("{}", number);
    }
  }
  return fmt::format("({})", describe_type(type.get()));
}

herr_t add_dataset(hid_t root, const char* name, const H5O_info_t* object, void* listing) {
  if (object->type != H5O_TYPE_DATASET) {
    return 0;
  }
  const Handle dataset(H5Dopen2(root, name, H5P_DEFAULT), H5Dclose);
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  const Handle space(H5Dget_space(dataset.get()), H5Sclose);
  static_cast<cli::PluginListing*>(listing)->datasets.push_back(
      {name, describe_type(type.get()), shape_of(space.get())});
  return 0;
}

herr_t add_attribute(hid_t root, const char* name, const H5A_info_t*, void* listing) {
  const Handle attribute(H5Aopen(root, name, H5P_DEFAULT), H5Aclose);
  static_cast<cli::PluginListing*>(listing)->attributes.push_back(
      {name, value_of(attribute.get())});
  return 0;
}

}  // namespace

cli::PluginListing list(const std::string& file) {
  const Handle handle = open_to_read(file);
  cli::PluginListing listing;
  if (H5Ovisit2(handle.get(), H5_INDEX_NAME, H5_ITER_INC, add_dataset, &listing, H5O_INFO_BASIC) <
          0 ||
      H5Aiterate2(handle.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add_attribute, &listing) < 0) {
    fail_hdf5(ErrorCode::corrupt_file, file, "list its datasets");
  }
  return listing;
}

std::vector<std::int64_t> shape_of(hid_t space) {
  const int dimensions = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> sizes(static_cast<std::size_t>(dimensions < 0 ? 0 : dimensions));
  H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
  return {sizes.begin(), sizes.end()};
}

std::string describe_type(hid_t type) {
  if (const ValueType* const known = find_type(type)) {
    return known->name;
  }
  return fmt::format("{} of {} bytes", class_name(type), H5Tget_size(type));
}

}  // namespace nearfield::hdf5
