// How a model is computed, in words: for the log, the run folder and the model card.
#pragma once

#include <string>

#include "kernels/backend.h"

namespace bigbird {

// "fp32", "tf32", "bf16".
std::string name_of(kernels::Precision precision);

}  // namespace bigbird
