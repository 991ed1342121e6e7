// The one interface between the model and a device: coarse operations on fp32 matrices, picked at run time.
//
// Rules, for every operation of every backend:
//  - Parameter gradients (dw, dbias, dgamma, dbeta, dword ...) accumulate; activation gradients overwrite,
//  unless the
//    operation says otherwise.
//  - Reductions (means, softmax, losses, norms) run in at least fp32, and in an order fixed by the shapes
//  alone: a result
//    never depends on the number of threads.
//  - Nothing is allocated: the caller owns every buffer. Scratch of the backend itself is counted by
//  scratch_bytes().
//  - Shapes are the caller's duty (asserted in debug builds); zero rows are allowed everywhere.
//  - Dropout element i of a site is kept iff dropout_keep(seed, stream, i, p) (philox.h), and kept values are
//  scaled by
//    1 / (1 - p): the same mask on every device. p = 0 copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/types.h"

namespace bigbird::kernels {

// How the products of the linear layers are taken. fp32: as exact as floats allow. bf16: both operands are
// rounded to bf16 (8 bits), products are summed in fp32; everything else stays fp32. For inference only.
enum class Precision { fp32, bf16 };

struct Dropout {
  float probability = 0.0f;
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

struct AdamWStep {
  float learning_rate = 0.0f;
  double beta1 = 0.9;  // double, because 1 - beta2 would lose five digits in float
  double beta2 = 0.999;
  float epsilon = 1e-6f;
  float weight_decay = 0.0f;    // decoupled
  float gradient_scale = 1.0f;  // applied to the gradient first (clipping)
  // 1 for the google variant; 1 - beta^step for the torch variant (m / correction1, sqrt(v / correction2)).
  float correction1 = 1.0f;
  float correction2 = 1.0f;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // --- the device
  // --------------------------------------------------------------------------------------------------- One
  // line for the user: "cpu: oneDNN 2.6.3, x86-64-v4, 2 threads".
  virtual std::string description() const = 0;
  // With bf16, linear_backward_* throw std::logic_error.
  virtual Precision precision() const = 0;
  // Bytes the backend itself will hold for attention over sequences of at most `blocks` blocks of
  // `block_size` tokens.
  virtual std::size_t scratch_bytes(Index blocks, Index block_size, Index head_size) const = 0;
  virtual void* allocate(std::size_t bytes) = 0;  // 64-byte aligned, not cleared; throws std::bad_alloc
  virtual void release(void* memory) noexcept = 0;
  virtual void upload(void* device, const void* host, std::size_t bytes) = 0;
  virtual void download(void* host, const void* device, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void zero(void* device, std::size_t bytes) = 0;
  virtual void synchronize() = 0;

  // --- linear layers: w is [N, K] as in Hugging Face files
  // ------------------------------------------------------------ y[M, N] = x[M, K] w^T + bias. bias may be
  // null.
  virtual void linear_forward(const float* x, const float* w, const float* bias, float* y, Index m, Index n,
                              Index k) = 0;
  // As linear_forward, then y = gelu(pre); pre[M, N] is kept for the backward pass when not null (it must not
  // be y).
  virtual void linear_gelu_forward(const float* x, const float* w, const float* bias, float* pre, float* y,
                                   Index m, Index n, Index k, Activation activation) = 0;
  // dx[M, K] = dy[M, N] w, or += when accumulate.
  virtual void linear_backward_input(const float* dy, const float* w, float* dx, Index m, Index n, Index k,
                                     bool accumulate) = 0;
  // dw[N, K] += dy^T x; dbias[N] += column sums of dy (may be null).
  virtual void linear_backward_weight(const float* dy, const float* x, float* dw, float* dbias, Index m,
                                      Index n, Index k) = 0;

  // --- embeddings
  // -----------------------------------------------------------------------------------------------------
  // y[t] = word[ids[t]] * word_scale + type[types[t]] + position[positions[t]]; tables are [*, C], and
  // position (dposition) may be null: no such term.
  virtual void embedding_forward(const std::int32_t* ids, const std::int32_t* types,
                                 const std::int32_t* positions, const float* word, const float* type,
                                 const float* position, float word_scale, float* y, Index tokens,
                                 Index width) = 0;
  // Adds to the tables' gradients. A row with a negative id adds nothing to dword.
  virtual void embedding_backward(const float* dy, const std::int32_t* ids, const std::int32_t* types,
                                  const std::int32_t* positions, float word_scale, float* dword, float* dtype,
                                  float* dposition, Index tokens, Index width, Index vocabulary,
                                  Index type_count, Index position_count) = 0;

  // --- rows: normalisation, activations, dropout
  // ---------------------------------------------------------------------- y = (x - mean) * rstd * gamma +
  // beta per row of C; mean and rstd ([T], may both be null) are kept for backward.
  virtual void layernorm_forward(const float* x, const float* gamma, const float* beta, float epsilon,
                                 float* y, float* mean, float* rstd, Index rows, Index width) = 0;
  // dx overwrites, or adds when accumulate (the residual stream of pre-LN). dx may be dy.
  virtual void layernorm_backward(const float* dy, const float* x, const float* gamma, const float* mean,
                                  const float* rstd, float* dx, bool accumulate, float* dgamma, float* dbeta,
                                  Index rows, Index width) = 0;
  // dx = dy * gelu'(pre). dx may be dy.
  virtual void gelu_backward(const float* pre, const float* dy, float* dx, Index count,
                             Activation activation) = 0;
  virtual void tanh_forward(const float* x, float* y, Index count) = 0;
  virtual void tanh_backward(const float* y, const float* dy, float* dx, Index count) = 0;
  // y = dropout(x); its own backward: dx = dropout(dy). y may be x.
  virtual void dropout(const float* x, float* y, Index count, const Dropout& dropout) = 0;
  // y = residual + dropout(x). y may be either input.
  virtual void dropout_add(const float* x, const float* residual, float* y, Index count,
                           const Dropout& dropout) = 0;
  // y += x.
  virtual void add(const float* x, float* y, Index count) = 0;

  // --- rotary positions (Su et al. 2021)
  // -------------------------------------------------------------------------------------------------- In
  // place: in each of `heads` heads of `head_size` columns of row t, the pair of columns (i, i + half), i <
  // half, is turned by the angle whose cosine is turns[positions[t], i] and whose sine is turns[positions[t],
  // half + i], or by the opposite angle when `back` (the backward pass). turns is [*, 2 half].
  virtual void rotary_turn(Rows x, const std::int32_t* positions, const float* turns, Index rows, Index heads,
                           Index head_size, Index half, bool back) = 0;

  // --- attention over block plans
  // ------------------------------------------------------------------------------------- out rows are (T, C)
  // with head h in columns h*D .. h*D+D-1. log_sum_exp [H, T] of the scaled, multiplicity-counting scores is
  // kept for backward (may be null); it is unspecified for padded rows. Padded query rows of out are zeros.
  virtual void attention_forward(const AttentionBatch& batch, ConstRows q, ConstRows k, ConstRows v, Rows out,
                                 float* log_sum_exp) = 0;
  // Overwrites dq, dk, dv for every row of the batch (zeros for padding).
  virtual void attention_backward(const AttentionBatch& batch, ConstRows q, ConstRows k, ConstRows v,
                                  ConstRows out, const float* log_sum_exp, ConstRows dout, Rows dq, Rows dk,
                                  Rows dv) = 0;

  // --- rows picked out (masked positions, [CLS])
  // ---------------------------------------------------------------------- y[i] = x[rows[i]]
  virtual void gather_rows(const float* x, const std::int32_t* rows, float* y, Index count, Index width) = 0;
  // dx[rows[i]] += dy[i]; rows are distinct.
  virtual void scatter_add_rows(const float* dy, const std::int32_t* rows, float* dx, Index count,
                                Index width) = 0;

  // --- losses
  // ---------------------------------------------------------------------------------------------------------
  // Softmax cross entropy. losses[i] = -log p(labels[i]) (0 for a label of -100); predictions[i] = argmax,
  // lowest index on ties (may be null). When dlogits is not null: dlogits = (p - onehot) * scale, zero rows
  // for ignored labels; it may be logits itself.
  virtual void cross_entropy(const float* logits, const std::int32_t* labels, float* losses,
                             std::int32_t* predictions, float* dlogits, float scale, Index rows,
                             Index classes) = 0;
  // Binary cross entropy on logits with positives weighted: losses[i] = sum over classes; dlogits =
  // derivative times scale, and may be logits itself.
  virtual void binary_cross_entropy(const float* logits, const float* targets, float positive_weight,
                                    float* losses, float* dlogits, float scale, Index rows,
                                    Index classes) = 0;
  // losses[i] = sum over columns of (x - target)^2; dx as dlogits above.
  virtual void squared_error(const float* x, const float* targets, float* losses, float* dx, float scale,
                             Index rows, Index columns) = 0;

  // --- optimizer
  // ------------------------------------------------------------------------------------------------------
  // Sum of squares in double, for the gradient norm. Returns on the host.
  virtual double sum_of_squares(const float* x, Index count) = 0;
  // p, m, v in place (Loshchilov and Hutter 2019; variants in AdamWStep).
  virtual void adamw(float* p, const float* g, float* m, float* v, Index count, const AdamWStep& step) = 0;
};

// The CPU backend; uses kernels::thread_count() threads at each call.
std::unique_ptr<Backend> make_cpu_backend(Precision precision = Precision::fp32);

}  // namespace bigbird::kernels
