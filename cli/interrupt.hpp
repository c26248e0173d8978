// Ctrl-C, and the other ways to ask a process to end: SIGTERM, and SIGHUP of a terminal that
// closes.
#pragma once

#include <string>

#include <nearfield/context.hpp>

namespace nearfield::cli {

// From now on the first of these signals sets the token, which ends the work in order and leaves no
// temporary file; the second of its kind ends the process, as if nothing had been said.
CancelToken cancel_on_interrupt();

// That token, for what is written after a search.
CancelToken interrupt_token();

// Whether such a signal has come: for what goes on after a search.
bool interrupted();

// Throws `cancelled` if one has: between reading a file whole and writing what becomes of it.
void stop_if_interrupted(const std::string& path);

}  // namespace nearfield::cli
