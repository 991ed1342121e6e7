// lib/core holds what every room needs and no file holds: errors, messages, progress, cancelling, random
// numbers, text as Python has it, JSON as it goes out. It includes nothing of ours. What only one room needs
// stays in that room.
//
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

// A verb that has nothing to save says so. Then the loops that it shares with training (layers, tensors that
// are read and written, digests of files) end as well: training goes through them once more after the
// request, to save.
void stop_anywhere(bool allowed) noexcept;
// Throws Error{interrupted} when a stop was requested and stop_anywhere(true) was called.
void throw_if_cancelled_anywhere();

}  // namespace bigbird
