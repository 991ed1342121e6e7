// Element by element and row by row: what is neither a product nor a reduction. Launchers of elementwise.cu,
// plain C++. Semantics are those of the operations of the same name in kernels/backend.h.
//
// All matrices of one call have one element type, except where noted. Any count, width and address works;
// 16-byte aligned addresses and widths of whole 16-byte pieces are fast. Results are rounded once, from fp32.
#pragma once

#include <cstdint>

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// y = activation(x). y may be x.
void activation_forward(ConstValues x, Values y, Index count, Activation activation, Stream stream);
void activation_backward(ConstValues pre, ConstValues dy, Values dx, Index count, Activation activation,
                         Stream stream);
// y may be x; dx may be dy.
void tanh_forward(ConstValues x, Values y, Index count, Stream stream);
void tanh_backward(ConstValues y, ConstValues dy, Values dx, Index count, Stream stream);

void dropout(ConstValues x, Values y, Index count, const Dropout& dropout, Stream stream);
void dropout_add(ConstValues x, ConstValues residual, Values y, Index count, const Dropout& dropout,
                 Stream stream);
// y += x
void add(ConstValues x, Values y, Index count, Stream stream);
// y[row] += bias for each row of width; bias may be of another type than y.
void add_bias(ConstValues bias, Values y, Index rows, Index width, Stream stream);

void rotate(Rows x, const Rotary& rotary, Index rows, bool back, Stream stream);

void gather_rows(ConstValues x, const std::int32_t* rows, Values y, Index count, Index width, Stream stream);
void scatter_add_rows(ConstValues dy, const std::int32_t* rows, Values dx, Index count, Index width,
                      Stream stream);

// to = from, in the type of to (to nearest): working copies of weights, and back.
void convert(ConstValues from, Values to, Index count, Stream stream);

}  // namespace bigbird::kernels::cuda
