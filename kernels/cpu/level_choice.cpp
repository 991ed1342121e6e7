// Finds out what the processor can do. Only this file knows which levels are compiled in.
#include "kernels/cpu/level_choice.h"

#include <cstdlib>
#include <string_view>

namespace bigbird::kernels {

#if defined(__x86_64__)
namespace level_v4 {
extern const Level level;
}
namespace level_v3 {
extern const Level level;
}
#endif
namespace level_base {
extern const Level level;
}

const std::vector<const Level*>& available_levels() {
  static const std::vector<const Level*> levels = [] {
    std::vector<const Level*> found;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    if (v4) found.push_back(&level_v4::level);
    if (v3) found.push_back(&level_v3::level);
#endif
    found.push_back(&level_base::level);
    return found;
  }();
  return levels;
}

const Level& chosen_level() {
  const char* wanted = std::getenv("BIGBIRD_CPU_LEVEL");
  if (wanted != nullptr) {
    for (const Level* level : available_levels()) {
      if (std::string_view(wanted) == level->name) return *level;
    }
  }
  return *available_levels().front();
}

}  // namespace bigbird::kernels
