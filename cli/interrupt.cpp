#include "interrupt.hpp"

#include <csignal>

#include <fmt/format.h>
#include <nearfield/error.hpp>

namespace nearfield::cli {
namespace {

// Never destroyed: a signal may still come while the process ends.
const CancelToken& token() {
  static const CancelToken* const kToken = new CancelToken;
  return *kToken;
}

void on_interrupt(int) { token().cancel(); }

// Each signal is reset alone: systemd can send SIGTERM and SIGHUP at once.
void listen_to(int signal) {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

CancelToken cancel_on_interrupt() {
  const CancelToken result = token();  // made here, not in the handler
  listen_to(SIGINT);
  listen_to(SIGTERM);
  if (!is_ignored(SIGHUP)) {  // nohup
    listen_to(SIGHUP);
  }
  return result;
}

CancelToken interrupt_token() { return token(); }

bool interrupted() { return token().cancelled(); }

void stop_if_interrupted(const std::string& path) {
  if (interrupted()) {
    throw Error(ErrorCode::cancelled, fmt::format("{}: cancelled, nothing was written", path));
  }
}

}  // namespace nearfield::cli
