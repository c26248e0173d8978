#include "interrupt.hpp"

#include <csignal>

namespace nearfield::cli {
namespace {

// Never destroyed: a signal may still come while the process ends.
const CancelToken& token() {
  static const CancelToken* const kToken = new CancelToken;
  return *kToken;
}

void on_interrupt(int) { token().cancel(); }

}  // namespace

CancelToken cancel_on_interrupt() {
  const CancelToken result = token();  // made here, not in the handler
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  return result;
}

bool interrupted() { return token().cancelled(); }

}  // namespace nearfield::cli
