// What the blocks of one launch do to global memory, cell by cell of two bytes: blocks have no order, so that
// a cell that one block writes is no other block's to read or to write, unless all of them add to it
// atomically. Kernels reach global memory by plain pointers: their files are compiled with the calls that
// -fsanitize=thread puts before every access, and those calls end here (global_watch.cpp), not in
// ThreadSanitizer's library. A sanitizer's build goes without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/types.h"

namespace bigbird::kernels::cuda::emulation {

enum class GlobalAccess { read, write, add };

#if defined(BIGBIRD_ADDRESS_SANITIZER)
inline constexpr bool watches_global = false;
#else
inline constexpr bool watches_global = true;
#endif

// Pages that are the device's alone.
inline constexpr std::size_t watched_page = 4096;
void watch_pages(const void* memory, std::size_t bytes);
void forget_pages(const void* memory, std::size_t bytes) noexcept;

// Of this operating-system thread: between these a kernel runs, and accesses count.
void begin_watched_launch(Index blocks);
void begin_watched_block(Index number);
void end_watched_launch() noexcept;

void watch(const void* address, std::size_t bytes, GlobalAccess access) noexcept;
// What was wrong since the last question, and nothing afterwards. Not thrown where it is found: the compiler
// takes the calls before an access for such as never throw.
bool found_race() noexcept;
std::string take_race();

}  // namespace bigbird::kernels::cuda::emulation
