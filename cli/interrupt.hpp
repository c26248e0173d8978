// Ctrl-C.
#pragma once

#include <nearfield/context.hpp>

namespace nearfield::cli {

// From now on the first Ctrl-C sets the token, which ends a search in order; the second one ends
// the process, as if nothing had been said.
CancelToken cancel_on_interrupt();

// Whether that Ctrl-C has come: for what goes on after a search.
bool interrupted();

}  // namespace nearfield::cli
