// Finds out what the processor can do; see cpu_options.h. Only this file knows which levels are compiled in.
#include "kernels/cpu/cpu_options.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <new>
#include <string_view>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(BIGBIRD_HAVE_AMX) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "kernels/cpu/amx.h"
#include "kernels/cpu/bf16.h"

namespace bigbird::kernels {
namespace {

// A family is known when a forward pass was measured both ways on it (benchmarks/speed.md).
constexpr int zen_5 = 0x1a;

// AMD's family; 0 for other makers.
int amd_family() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0 || b != 0x68747541 || d != 0x69746e65 || c != 0x444d4163) return 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return 0;
  const unsigned family = (a >> 8) & 0xf;
  return static_cast<int>(family == 0xf ? family + ((a >> 20) & 0xff) : family);
#else
  return 0;
#endif
}

template <typename T>
class Aligned {
 public:
  explicit Aligned(Index bytes)
      : data_(std::aligned_alloc(64, static_cast<std::size_t>((bytes + 127) / 64 * 64))) {
    if (data_ == nullptr) throw std::bad_alloc();
    std::fill_n(static_cast<char*>(data_), bytes, '\0');
  }
  ~Aligned() { std::free(data_); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  T* get() const { return static_cast<T*>(data_); }

 private:
  void* data_;
};

template <typename Work>
double least_seconds(const Work& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 4; ++round) {  // the first one warms up
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (round > 0) least = std::min(least, taken.count());
  }
  return least;
}

// How many times as fast the instructions are as rounded floats, on one product of the feed-forward layer of
// the base size.
double gain_of_instructions(const Level& level, const Bf16Kernels& kernels) {
  constexpr Index m = 128, n = 768, k = 3072;
  const Aligned<float> left(m * k * 4), right(n * k * 4), c(m * n * 4), own(level.gemm_scratch(n) * 4);
  const Aligned<std::byte> a(m * bf16_row_bytes(k)), b(n / bf16_panel * bf16_panel_bytes(k));
  std::fill_n(left.get(), m * k, 0.5f);
  std::fill_n(right.get(), n * k, 0.25f);
  kernels.pack_b(right.get(), k, n, k, b.get());
  const double instructions = least_seconds([&] {
    kernels.pack_a(left.get(), k, m, k, a.get());
    kernels.multiply({m, n, k, a.get(), b.get(), c.get(), n});
  });
  const Product floats{.m = m,
                       .n = n,
                       .k = k,
                       .a = left.get(),
                       .a_row = k,
                       .a_column = 1,
                       .b = right.get(),
                       .b_row = 1,
                       .b_column = k,
                       .c = c.get(),
                       .c_row = n,
                       .round_to_bf16 = true};
  return least_seconds([&] { level.gemm(floats, own.get()); }) / instructions;
}

Bf16Choice choose(const Level& level, const Bf16Kernels& kernels) {
  if (const char* wanted = std::getenv("BIGBIRD_BF16"); wanted != nullptr) {
    if (std::string_view(wanted) == "instructions") return {true, "BIGBIRD_BF16"};
    if (std::string_view(wanted) == "floats") return {false, "BIGBIRD_BF16"};
  }
  if (amd_family() == zen_5) return {true, "AMD family 26, as measured"};
  const double gain = gain_of_instructions(level, kernels);
  char text[80];
  std::snprintf(text, sizeof text, "probed: instructions %.1f times as fast as rounded floats", gain);
  return {gain > 1.0, text};
}

}  // namespace

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

#if defined(BIGBIRD_HAVE_BF16) && defined(__x86_64__)
namespace avx512_bf16 {
extern const Bf16Kernels kernels;
}
const Bf16Kernels* bf16_kernels() {
  static const bool usable = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1u << 5) != 0 &&
           std::string_view(available_levels().front()->name) == "x86-64-v4";
  }();
  return usable ? &avx512_bf16::kernels : nullptr;
}
#elif defined(BIGBIRD_HAVE_BF16) && defined(__linux__)
namespace neon_bf16 {
extern const Bf16Kernels kernels;
}
const Bf16Kernels* bf16_kernels() {
  constexpr unsigned long has_bf16 = 1ul << 14;  // HWCAP2_BF16
  static const bool usable = (getauxval(AT_HWCAP2) & has_bf16) != 0;
  return usable ? &neon_bf16::kernels : nullptr;
}
#else
const Bf16Kernels* bf16_kernels() {
  return nullptr;
}
#endif

const Bf16Choice& bf16_choice(const Level& level) {
  static const Bf16Choice none{false, "no bf16 instructions"};
  const Bf16Kernels* const kernels = bf16_kernels();
  if (kernels == nullptr || std::string_view(level.name) != available_levels().front()->name) return none;
  static const Bf16Choice choice = choose(level, *kernels);
  return choice;
}

#if defined(BIGBIRD_HAVE_AMX) && defined(__linux__)
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
#else
const AmxKernels* amx_kernels() {
  return nullptr;
}
#endif

}  // namespace bigbird::kernels
