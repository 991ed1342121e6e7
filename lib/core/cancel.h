// A request to stop, set by a signal handler and polled by long work. Long loops call throw_if_cancelled() at
// points where nothing is half-written; the trainer polls cancel_signal() itself, because it saves first.
#pragma once

namespace bigbird {

// Async-signal-safe.
void request_cancel(int signal_number) noexcept;
// 0 when nothing was requested, else the signal number.
int cancel_signal() noexcept;
void clear_cancel() noexcept;
// Throws Error{interrupted} when a stop was requested.
void throw_if_cancelled();

}  // namespace bigbird
