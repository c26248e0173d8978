#include "device/placed.hpp"

#include "core/fail.hpp"
#include "device/device_name.hpp"

namespace nearfield {
namespace {

void check_named(const Context& context, const DeviceArray& array, std::string_view what) {
  if (on_device(context)) return;
  fail(ErrorCode::invalid_argument,
       "the {}, {} x {} of {}, are in the memory of a device, and the call is to run on the CPU: "
       "name the device, as in cuda:0, or copy them to the host",
       what, array.rows, array.cols, to_string(array.dtype));
}

template <class View>
Placed<View> placed(const DeviceArray& array, const Context& context, std::string_view what) {
  const auto* const data =
      reinterpret_cast<const void*>(array.data);  // NOLINT(performance-no-int-to-ptr)
  const View view(data, array.dtype, array.rows, array.cols, array.stride_bytes);
  check_named(context, array, what);
  return {view, true, array.stream};
}

}  // namespace

PlacedRows place_rows(const AnyRows& rows, const Context& context, std::string_view what) {
  if (const auto* const view = std::get_if<MatrixView>(&rows)) return {*view};
  return placed<MatrixView>(std::get<DeviceArray>(rows), context, what);
}

PlacedValues place_values(const DeviceArray& values, const Context& context) {
  return placed<ValuesView>(values, context, "values");
}

}  // namespace nearfield
