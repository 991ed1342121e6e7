// What the blocks of one launch do to global memory, cell by cell of two bytes. Blocks have no order, so that
// a cell that one block writes is no other block's to read or to write, unless all of them add to it
// atomically; and a cell that belongs to no allocation is nobody's. Kernels reach global memory by plain
// pointers: their files are compiled with the calls that -fsanitize=thread puts before every access. Those
// calls end here (global_watch.cpp), not in ThreadSanitizer's library. A sanitizer's build goes without.
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

// An allocation begins with a page. The page before it, and what follows it to the end of its last page (a
// byte at least), are allocated with it and nobody's: watched_size() bytes in all.
inline constexpr std::size_t watched_page = 4096;
constexpr std::size_t watched_size(std::size_t bytes) {
  return (bytes / watched_page + 2) * watched_page;
}
void watch_allocation(const void* memory, std::size_t bytes);
void forget_allocation(const void* memory, std::size_t bytes) noexcept;

// Of this operating-system thread: between these a kernel runs, and accesses count.
void begin_watched_launch(Index blocks);
void begin_watched_block(Index number);
void end_watched_launch() noexcept;

void watch(const void* address, std::size_t bytes, GlobalAccess access) noexcept;
// What was wrong since the last question, and nothing afterwards. Not thrown where it is found: the compiler
// takes the calls before an access for such as never throw.
bool found_defect() noexcept;
std::string take_defect();

}  // namespace bigbird::kernels::cuda::emulation
