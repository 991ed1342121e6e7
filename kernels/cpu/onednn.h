// GEMM through oneDNN, when it is compiled in.
#pragma once

#include <string>

#include "kernels/cpu/level.h"

namespace bigbird::kernels {

// On the calling thread alone. Rows or columns of both a and b must be contiguous.
void onednn_multiply(const Product& product);
// "2.6.3"
std::string onednn_version();

}  // namespace bigbird::kernels
