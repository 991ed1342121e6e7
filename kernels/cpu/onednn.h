// GEMM through oneDNN, when it is compiled in.
#pragma once

#include <string>

#include "kernels/cpu/level.h"

namespace bigbird::kernels {

// On the calling thread alone. Rows or columns of both a and b must be contiguous.
void onednn_multiply(const Product& product);
// Whether a row of the result is the same however many rows are beside it (from 16 on, see linear.cpp): with
// AVX-512. For AVX2 version 2.6.3 takes ways of other orders of sums by the number of rows; there the own
// product, which is as fast, takes its place.
bool onednn_keeps_rows();
// "2.6.3"
std::string onednn_version();

}  // namespace bigbird::kernels
