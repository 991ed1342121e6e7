// How tests and benchmarks make a CPU backend with a given level and products; everything else uses
// make_cpu_backend() of kernels/backend.h.
#pragma once

#include <memory>

#include "kernels/backend.h"
#include "kernels/cpu/amx.h"
#include "kernels/cpu/int8.h"
#include "kernels/cpu/level_choice.h"

namespace bigbird::kernels {

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
