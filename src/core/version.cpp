#include <nearfield/version.hpp>

namespace nearfield {

std::string_view version() { return NEARFIELD_VERSION; }

}  // namespace nearfield
