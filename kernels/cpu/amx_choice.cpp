// Finds out whether AMX can be used, and asks the operating system for it.
#include <cstdlib>

#include "kernels/cpu/amx.h"

#if defined(BIGBIRD_HAVE_AMX) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/cpu/bf16.h"

namespace bigbird::kernels {

namespace amx {
extern const AmxKernels kernels;
}

namespace {

bool processor_has_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  const bool tiles = (d & 1u << 24) != 0 && (d & 1u << 22) != 0;  // AMX-TILE, AMX-BF16
  return tiles && bf16_kernels() != nullptr;
}

// Linux gives a process the large state of the tiles only when it asks (arch_prctl(2)).
bool system_permits_tiles() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

}  // namespace

const AmxKernels* amx_kernels() {
  static const bool usable =
      std::getenv("BIGBIRD_CPU_LEVEL") == nullptr && processor_has_tiles() && system_permits_tiles();
  return usable ? &amx::kernels : nullptr;
}

}  // namespace bigbird::kernels

#else

namespace bigbird::kernels {

const AmxKernels* amx_kernels() {
  return nullptr;
}

}  // namespace bigbird::kernels
#endif
