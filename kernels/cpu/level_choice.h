// The choice among the instruction set levels at run time.
#pragma once

#include <vector>

#include "kernels/cpu/level.h"

namespace bigbird::kernels {

// Those that this machine runs, best first; the last one runs everywhere.
const std::vector<const Level*>& available_levels();
// The best available one, or the one that the environment variable BIGBIRD_CPU_LEVEL names, when it is
// available.
const Level& chosen_level();

}  // namespace bigbird::kernels
