// The one interface between the model and a device: coarse operations on matrices, picked at run time.
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
//  - Values are activations: element_type() unless the operation allows fp32 beside it. float* is always
//  fp32.
//  - Operations are in order. A device may still be at work when one returns; download() waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kernels/types.h"

namespace bigbird::kernels {

// How products are taken. fp32: as exact as floats allow. tf32: operands are rounded to 10 bits behind the
// point (CUDA only). bf16: both operands are rounded to bf16 (7 bits), products are summed in fp32. On the
// CPU bf16 is for inference only and everything else stays fp32; on CUDA activations and the working copy of
// the weights are bf16, parameters and gradients fp32.
enum class Precision { fp32, tf32, bf16 };

struct Dropout {
  float probability = 0.0f;
  // one number on the device, so that recorded work can run with another
  const std::uint64_t* seed = nullptr;
  std::uint64_t stream = 0;
};

// Neighbouring parameters of one decay group.
struct ParameterRun {
  Index offset = 0;
  Index count = 0;
  bool decay = false;
};

// The largest attention that scratch is wanted for.
struct AttentionLimits {
  Index places = 1;     // batches that are prepared at the same time (one per layer and run)
  Index sequences = 0;  // B, of one batch
  Index tokens = 0;     // T, of one batch
  Index longest = 0;    // tokens of the longest sequence
  Index heads = 0;
  Index head_size = 0;
  Index block_size = 0;
  bool training = false;
};

struct AdamWStep {
  float learning_rate = 0.0f;
  double beta1 = 0.9;  // double, because 1 - beta2 would lose five digits in float
  double beta2 = 0.999;
  float epsilon = 1e-6f;
  float weight_decay = 0.0f;    // decoupled; of the runs that decay
  float gradient_scale = 1.0f;  // applied to the gradient first (clipping)
  // 1 for the google variant; 1 - beta^step for the torch variant (m / correction1, sqrt(v / correction2)).
  float correction1 = 1.0f;
  float correction2 = 1.0f;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // --- the device One line for the user: "cpu: oneDNN 2.6.3, x86-64-v4, 2 threads".
  virtual std::string description() const = 0;
  // With bf16 on the CPU, linear_backward_* throw std::logic_error.
  virtual Precision precision() const = 0;
  virtual ElementType element_type() const { return ElementType::fp32; }
  // Work goes on after an operation has returned, so that the caller may prepare the next batch meanwhile.
  virtual bool asynchronous() const { return false; }
  // Bytes that are free on a device with memory of its own; 0: it works in the memory of the program.
  virtual std::size_t free_memory() const { return 0; }
  // Everything that allocate() will be asked for, in one piece; may be left out. Once, before the first
  // allocate().
  virtual void reserve(std::size_t) {}
  // Bytes the backend itself will hold for such attention, and for everything else.
  virtual std::size_t scratch_bytes(const AttentionLimits& limits) const = 0;
  // Takes them (in addition to what there is; a device without need of it does nothing). Returns the first of
  // limits.places neighbouring places, which are the caller's until it releases them.
  virtual Index reserve_scratch(const AttentionLimits&) { return 0; }
  virtual void release_places(Index /*first*/, Index /*count*/) noexcept {}
  virtual void* allocate(std::size_t bytes) = 0;  // 64-byte aligned, not cleared; throws std::bad_alloc
  virtual void release(void* memory) noexcept = 0;
  virtual void upload(void* device, const void* host, std::size_t bytes) = 0;
  virtual void download(void* host, const void* device, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void zero(void* device, std::size_t bytes) = 0;
  virtual void synchronize() = 0;
  // Activations as floats.
  void download_values(float* host, ConstValues from, Index count);

  // Runs work, which only enqueues operations: no allocate, upload or download, and nothing that depends on
  // what the device holds. A device may record it when it meets a key for the second time and run the
  // recording from then on: work of one key makes the same calls with the same arguments, and what they point
  // to stays in place.
  virtual void repeat(std::uint64_t, const std::function<void()>& work) { work(); }

  // --- working copies of weights Bytes of the copy that the backend reads in place of `count` parameters; 0:
  // it reads the parameters themselves.
  virtual std::size_t weight_copy_bytes(Index) const { return 0; }
  // From now on operations given a pointer into parameters[0 .. count) read the copy
  // (weight_copy_bytes(count) bytes, not filled yet) where they need one. Until unbind_weights(parameters).
  virtual void bind_weights(const float*, Index, void*) {}
  virtual void unbind_weights(const float*) noexcept {}
  // The parameters were written by other means than adamw(), which takes care of the copy itself.
  virtual void refresh_weights(const float*) {}

  // --- linear layers: w is [N, K] as in Hugging Face files y[M, N] = x[M, K] w^T + bias. bias may be null. y
  // may be fp32 beside a narrower x.
  virtual void linear_forward(ConstValues x, const float* w, const float* bias, Values y, Index m, Index n,
                              Index k) = 0;
  // As linear_forward, then y = gelu(pre); pre[M, N] is kept for the backward pass when not null (it must not
  // be y).
  virtual void linear_gelu_forward(ConstValues x, const float* w, const float* bias, Values pre, Values y,
                                   Index m, Index n, Index k, Activation activation) = 0;
  // dx[M, K] = dy[M, N] w, or += when accumulate.
  virtual void linear_backward_input(ConstValues dy, const float* w, Values dx, Index m, Index n, Index k,
                                     bool accumulate) = 0;
  // dx[M, K] = (dy[M, N] w) * gelu'(pre[M, K]).
  virtual void linear_backward_input_gelu(ConstValues dy, const float* w, ConstValues pre, Values dx, Index m,
                                          Index n, Index k, Activation activation);
  // dw[N, K] += dy^T x; dbias[N] += column sums of dy (may be null).
  virtual void linear_backward_weight(ConstValues dy, ConstValues x, float* dw, float* dbias, Index m,
                                      Index n, Index k) = 0;

  // --- embeddings y[t] = word[ids[t]] * word_scale + type[types[t]] + position[positions[t]]; tables are [*,
  // C], and position (dposition) may be null: no such term.
  virtual void embedding_forward(const std::int32_t* ids, const std::int32_t* types,
                                 const std::int32_t* positions, const float* word, const float* type,
                                 const float* position, float word_scale, Values y, Index tokens,
                                 Index width) = 0;
  // Adds to the tables' gradients. A row with a negative id adds nothing to dword.
  virtual void embedding_backward(ConstValues dy, const std::int32_t* ids, const std::int32_t* types,
                                  const std::int32_t* positions, float word_scale, float* dword, float* dtype,
                                  float* dposition, Index tokens, Index width, Index vocabulary,
                                  Index type_count, Index position_count) = 0;

  // --- rows: normalisation, activations, dropout y = (x - mean) * rstd * gamma + beta per row of C; mean and
  // rstd ([T], may both be null) are kept for backward.
  virtual void layernorm_forward(ConstValues x, const float* gamma, const float* beta, float epsilon,
                                 Values y, float* mean, float* rstd, Index rows, Index width) = 0;
  // dx overwrites, or adds when accumulate (the residual stream of pre-LN). dx may be dy.
  virtual void layernorm_backward(ConstValues dy, ConstValues x, const float* gamma, const float* mean,
                                  const float* rstd, Values dx, bool accumulate, float* dgamma, float* dbeta,
                                  Index rows, Index width) = 0;
  // dx = dy * gelu'(pre). dx may be dy.
  virtual void gelu_backward(ConstValues pre, ConstValues dy, Values dx, Index count,
                             Activation activation) = 0;
  virtual void tanh_forward(ConstValues x, Values y, Index count) = 0;
  virtual void tanh_backward(ConstValues y, ConstValues dy, Values dx, Index count) = 0;
  // y = dropout(x); its own backward: dx = dropout(dy). y may be x.
  virtual void dropout(ConstValues x, Values y, Index count, const Dropout& dropout) = 0;
  // y = residual + dropout(x). y may be either input.
  virtual void dropout_add(ConstValues x, ConstValues residual, Values y, Index count,
                           const Dropout& dropout) = 0;
  // The end of a post-LN branch: sum = residual + dropout(x), y = layernorm(sum). sum may be x.
  virtual void dropout_add_layernorm_forward(ConstValues x, ConstValues residual, const Dropout& dropout,
                                             Values sum, const float* gamma, const float* beta, float epsilon,
                                             Values y, float* mean, float* rstd, Index rows, Index width);
  // Its backward: dx = the gradient of sum (what the residual gets), branch = dropout(dx). dx may be dy.
  virtual void layernorm_backward_dropout(ConstValues dy, ConstValues sum, const float* gamma,
                                          const float* mean, const float* rstd, Values dx, Values branch,
                                          const Dropout& dropout, float* dgamma, float* dbeta, Index rows,
                                          Index width);
  // y += x; both of one type, which may be fp32 everywhere.
  virtual void add(ConstValues x, Values y, Index count) = 0;

  // --- rotary positions (Su et al. 2021) In place: in each of `heads` heads of `head_size` columns of row t,
  // the pair of columns (i, i + half), i < half, is turned by the angle whose cosine is turns[positions[t],
  // i] and whose sine is turns[positions[t], half + i], or by the opposite angle when `back` (the backward
  // pass). turns is [*, 2 half].
  virtual void rotary_turn(Rows x, const std::int32_t* positions, const float* turns, Index rows, Index heads,
                           Index head_size, Index half, bool back) = 0;

  // --- attention over block plans Brings what the device needs of the batch to batch.place (one of the
  // caller's, reserve_scratch()), outside of repeat(). The calls below name the same place with the same host
  // arrays.
  virtual void prepare_attention(const AttentionBatch&) {}
  // out rows are (T, C) with head h in columns h*D .. h*D+D-1. log_sum_exp [H, T] of the scaled,
  // multiplicity-counting scores is kept for backward (may be null); it is unspecified for padded rows.
  // Padded query rows of out are zeros.
  virtual void attention_forward(const AttentionBatch& batch, ConstRows q, ConstRows k, ConstRows v, Rows out,
                                 float* log_sum_exp) = 0;
  // Overwrites dq, dk, dv for every row of the batch (zeros for padding).
  virtual void attention_backward(const AttentionBatch& batch, ConstRows q, ConstRows k, ConstRows v,
                                  ConstRows out, const float* log_sum_exp, ConstRows dout, Rows dq, Rows dk,
                                  Rows dv) = 0;

  // --- rows picked out (masked positions, [CLS]) y[i] = x[rows[i]]
  virtual void gather_rows(ConstValues x, const std::int32_t* rows, Values y, Index count, Index width) = 0;
  // dx[rows[i]] += dy[i]; rows are distinct.
  virtual void scatter_add_rows(ConstValues dy, const std::int32_t* rows, Values dx, Index count,
                                Index width) = 0;

  // --- losses scale: one number on the device; read with dlogits only. logits may be fp32 everywhere;
  // dlogits may be of another type than logits when it is another matrix.

  // Softmax cross entropy. losses[i] = -log p(labels[i]) (0 for a label of -100); predictions[i] = argmax,
  // lowest index on ties (may be null). When dlogits is not null: dlogits = (p - onehot) * scale, zero rows
  // for ignored labels; it may be logits itself.
  virtual void cross_entropy(ConstValues logits, const std::int32_t* labels, float* losses,
                             std::int32_t* predictions, Values dlogits, const float* scale, Index rows,
                             Index classes) = 0;
  // Binary cross entropy on logits with positives weighted: losses[i] = sum over classes; dlogits =
  // derivative times scale, and may be logits itself.
  virtual void binary_cross_entropy(ConstValues logits, const float* targets, float positive_weight,
                                    float* losses, Values dlogits, const float* scale, Index rows,
                                    Index classes) = 0;
  // losses[i] = sum over columns of (x - target)^2; dx as dlogits above.
  virtual void squared_error(ConstValues x, const float* targets, float* losses, Values dx,
                             const float* scale, Index rows, Index columns) = 0;

  // --- optimizer Sum of squares in double, for the gradient norm. Returns on the host.
  virtual double sum_of_squares(const float* x, Index count) = 0;
  // p, m, v in place (Loshchilov and Hutter 2019; variants in AdamWStep).
  // runs (host) are ascending and cover what is updated.
  virtual void adamw(float* p, const float* g, float* m, float* v, const ParameterRun* runs, Index run_count,
                     const AdamWStep& step) = 0;
};

// The CPU backend; uses kernels::thread_count() threads at each call.
std::unique_ptr<Backend> make_cpu_backend(Precision precision = Precision::fp32);

}  // namespace bigbird::kernels
