// Stop request flag; see cancel.h.
#include "lib/core/cancel.h"

#include <atomic>

#include "lib/core/error.h"

namespace bigbird {
namespace {
std::atomic<int> requested_signal{0};
std::atomic<bool> anywhere{false};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only touch lock-free atomics");
}  // namespace

void request_cancel(int signal_number) noexcept {
  requested_signal.store(signal_number);
}
int cancel_signal() noexcept {
  return requested_signal.load();
}
void clear_cancel() noexcept {
  requested_signal.store(0);
}

void throw_if_cancelled() {
  if (cancel_signal() != 0) throw Error(ErrorKind::interrupted, "interrupted", "");
}

void stop_anywhere(bool allowed) noexcept {
  anywhere.store(allowed);
}

void throw_if_cancelled_anywhere() {
  if (anywhere.load()) throw_if_cancelled();
}

}  // namespace bigbird
