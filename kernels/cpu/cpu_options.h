// How a CPU backend computes: the instruction set level, and how bf16 is multiplied. Both are chosen at run
// time; tests and benchmarks give them, and everything else uses make_cpu_backend() of kernels/backend.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cpu/amx.h"
#include "kernels/cpu/int8.h"
#include "kernels/cpu/level.h"

namespace bigbird::kernels {

// Those that this machine runs, best first; the last one runs everywhere.
const std::vector<const Level*>& available_levels();
// The best available one, or the one that the environment variable BIGBIRD_CPU_LEVEL names, when it is
// available.
const Level& chosen_level();

// How `--precision bf16` multiplies on a processor without AMX: with the processor's bf16 instructions
// (bf16.h), or with operands rounded to bf16 and multiplied as floats. Both give bf16 products with fp32
// sums; which one is faster depends on the processor (benchmarks/speed.md): the instructions are twice as
// fast as fp32 on Zen 5, and slower than floats on Sapphire Rapids.
struct Bf16Choice {
  bool by_instructions = false;
  std::string why;  // for people: "AMD family 26", "there are no such instructions"
};

// Decided once in a process, at the first call: by the family where it was measured, else by a probe of a few
// milliseconds. The environment variable BIGBIRD_BF16 = instructions | floats decides instead, for machines
// that must agree to the last bit. Must not be called inside of a parallel region. `level` is what multiplies
// the rounded floats.
const Bf16Choice& bf16_choice(const Level& level);

struct CpuOptions {
  const Level* level = nullptr;  // null: chosen_level()
  bool use_amx = true;           // when the machine has it
  Precision precision = Precision::fp32;
  // Of tests: in place of the processor's.
  const AmxKernels* tiles = nullptr;
  const Int8Kernels* int8 = nullptr;
};

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options);

}  // namespace bigbird::kernels
