// Arrays, and in whose memory they are.
#pragma once

#include <cstdint>
#include <string_view>

#include <nearfield/context.hpp>
#include <nearfield/device_array.hpp>
#include <nearfield/matrix.hpp>
#include <nearfield/select.hpp>

namespace nearfield {

template <class View>
struct Placed {
  View view;
  bool on_device = false;     // addresses of the view are the device's: not to be read here
  std::uintptr_t stream = 0;  // that writes it
};
using PlacedRows = Placed<MatrixView>;
using PlacedValues = Placed<ValuesView>;

// Throws as the views do, and where rows are on a device and the context names none. `what` are
// they?
PlacedRows place_rows(const AnyRows& rows, const Context& context, std::string_view what);
PlacedValues place_values(const DeviceArray& values, const Context& context);

}  // namespace nearfield
