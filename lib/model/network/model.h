// A model on a device: parameters, gradients and activations in one planned piece of memory, forward and
// backward in a fixed order. Nothing is allocated after construction; memory is known, and can be printed,
// before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"
#include "lib/model/label_smoothing.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/host_values.h"
#include "lib/model/network/layout.h"
#include "lib/model/plans/block_plan.h"

namespace bigbird {

// The largest batch a model will be asked to run; decides the size of the activation arena.
struct BatchLimits {
  std::int64_t tokens = 0;         // T, padded
  std::int64_t sequences = 0;      // B
  std::int64_t masked_tokens = 0;  // rows of the MLM head (0: no MLM)
  std::int64_t longest = 0;        // tokens of the longest sequence, padded
  std::int64_t target_tokens = 0;  // T', rows of a decoder, padded
};

struct ModelOptions {
  bool training = false;  // keeps activations and gradients
  // Keeps only each layer's input and recomputes the rest in backward, with the same dropout masks.
  bool grad_checkpoint = false;
  bool embedding_offsets = false;  // whether batches may carry Batch::embedding_offsets
  // Logits of targets are not kept: a decoder's loss, and in training its gradient, are taken of some rows
  // after another, all in forward(). Of a vocabulary of 96,103 a row of them is as much memory as the rest of
  // many a small model's.
  bool logits_in_pieces = false;
  // Nobody asks for last_hidden_state(): behind its attention the last layer is computed at the rows alone
  // that the head reads, where these are few (lib/model/network/head_rows.h). Outputs and losses are the same
  // bits; gradients of that part of the layer are sums of fewer zeros, in another grouping.
  bool head_rows = false;
};

// The attention that such batches lead to.
kernels::AttentionLimits attention_limits(const ModelConfig& config, const BatchLimits& limits,
                                          const ModelOptions& options);

struct MemoryRow {
  std::string what;  // "parameters", "gradients", "activations of 12 layers" ...
  std::size_t bytes = 0;
  // Of them, those of numbers in either type; what is left are integers and memory of no one type.
  std::size_t fp32_bytes = 0;
  std::size_t bf16_bytes = 0;

  // "fp32", "bf16, fp32" with what takes more first; empty where neither is held.
  std::string number_types() const;
};
// A row of fp32 alone.
MemoryRow fp32_row(std::string what, std::size_t bytes);
// What Model will allocate, row by row (optimizer moments are the trainer's rows). Same numbers as the
// allocation itself.
std::vector<MemoryRow> plan_model_memory(const ModelConfig& config, const BatchLimits& limits,
                                         const ModelOptions& options, const kernels::Backend& backend);

// Weights of the losses: each loss is (weight * sum), so pass 1/count for a mean. backward() uses them.
struct LossScale {
  float mlm = 0.0f;
  float sequence = 0.0f;
  float start = 0.0f;
  float end = 0.0f;
  float choice = 0.0f;
  float mark = 0.0f;
  float target = 0.0f;
  bool operator==(const LossScale&) const = default;
};

struct ForwardOptions {
  bool training = false;  // dropout on
  // Key of every dropout mask of this pass; a function of (seed, step, micro-batch).
  std::uint64_t dropout_seed = 0;
  // Called with (layer index, host copy [T, C]) after the embeddings (0) and after every layer (1..L; with
  // ModelOptions::head_rows the last one's rows alone that the head reads), before any final LayerNorm; and
  // the same of a decoder ([T', C]).
  std::function<void(std::int64_t, const std::vector<float>&)> hidden_state;
  std::function<void(std::int64_t, const std::vector<float>&)> decoder_hidden_state = {};
  // What backward() is going to be called with: with ModelOptions::logits_in_pieces there is no backward()
  // otherwise.
  std::optional<LossScale> scale = {};
  LabelSmoothing smoothing = {};  // of a decoder's loss
};

// Sums over the batch, so that accumulation and averaging are the caller's. All deterministic.
struct ForwardResult {
  double mlm_loss_sum = 0;  // nats over masked tokens
  std::int64_t mlm_count = 0;
  std::int64_t mlm_correct = 0;
  // NSP or classification. Single label: nats over sequences. Multi-label (nats, positives weighted) and
  // regression (squares): over all sequences times labels, so that the mean is Hugging Face's.
  double sequence_loss_sum = 0;
  std::int64_t sequence_count = 0;
  std::int64_t sequence_correct = 0;  // single label only
  // Question answering, nats over the sequences whose position is not ignored, or over the groups of
  // Batch::token_targets with a right row.
  double start_loss_sum = 0;
  std::int64_t start_count = 0;
  double end_loss_sum = 0;
  std::int64_t end_count = 0;
  // Answers in parts: the softmaxes of all scores, nats over groups with a right row; and the sigmoids, nats
  // over groups, which every such score has as many of. Their types are in sequence_*.
  double choice_loss_sum = 0;
  std::int64_t choice_count = 0;
  double mark_loss_sum = 0;
  std::int64_t mark_count = 0;
  // What a decoder predicts, nats over the labels of Batch::targets.
  double target_loss_sum = 0;
  std::int64_t target_count = 0;
  std::int64_t target_correct = 0;
  std::vector<float> mlm_losses;  // per masked token, in Batch order
};

// The scale of Hugging Face's loss for this result: the mean of each loss, half of it for start and end. For
// answers in parts that of docs/specification.md 3.4: one mean over choices and types, and that of marks. A
// loss without labels weighs nothing.
LossScale mean_scale(const ForwardResult& result);
// The weighted sum of the losses.
double scaled_loss(const ForwardResult& result, const LossScale& scale);

struct DecoderTensors;  // tensors.h

// What a decoder's steps (decoder_steps.h) go on from: of the last forward(), and valid until the next.
struct DecoderView {
  kernels::Backend& backend;
  const DecoderTensors& tensors;
  kernels::ConstValues hidden;  // [T, C]
  const Batch& batch;
};

class Model {
 public:
  Model(kernels::Backend& backend, const ModelConfig& config, const BatchLimits& limits,
        const ModelOptions& options);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const ModelConfig& config() const;
  const ParameterLayout& layout() const;
  kernels::Backend& backend();
  // Whether every sequence of a batch must be padded to whole blocks. Else its last block may end with its
  // last token: what is computed of the tokens is the same.
  bool wants_whole_blocks() const;

  // Device pointers to the arenas of layout().count() floats. Parameters are written by set_parameters(),
  // Backend::adamw() and Backend::adafactor() alone: the device may work with a copy of them. gradients() is
  // null unless options.training.
  float* parameters();
  float* gradients();
  void set_parameters(const std::vector<float>& host);
  // The same memory, to be filled in place of set_parameters(); null where a device has memory of its
  // own.
  float* parameters_on_host();

  // Weights that are packed once and then read in place of parameters(): for inference, where the backend
  // has such a form (packed_layers.h). Bytes of them; 0: none.
  std::size_t packed_bytes() const;
  // What is packed and where, in words: equal for weights that can be read in each other's place.
  std::string packed_layout() const;
  bool packs(const TensorSpec& tensor) const;
  // Packs into packed_bytes() of host memory, 64-byte aligned, and gives back the memory of every weight that
  // was packed: parameters can be read and set no longer.
  void pack_weights(std::byte* to);
  // From now on forward() reads these, of pack_weights() of a model of the same parameters.
  void use_packed_weights(std::shared_ptr<const std::byte> packed);

  std::vector<float> host_parameters() const;
  // The same numbers without a copy where they are in the program's memory.
  HostValues parameters_to_read() const;
  std::vector<float> host_gradients() const;
  void zero_gradients();

  // Of a model without gradients: these of linear_layers.h are computed in int8 from now on, the others as
  // the backend computes. What config().quantization lists is so from the beginning. Where a device has no
  // int8 nothing changes, and the parameters are what the integers stand for: false. Error{runtime} for a
  // layer that the model has not.
  bool compute_in_int8(const std::vector<std::string>& layers);
  bool computes_in_int8() const;  // any layer

  // Runs the batch. Losses are computed for the labels that the batch carries. A batch over the limits is
  // Error{runtime}.
  ForwardResult forward(const Batch& batch, const ForwardOptions& options);
  // Gradients of scaled_loss(result, scale) of the last forward(), added to gradients(). Error{runtime} for a
  // model without a head: it has no loss.
  void backward(const LossScale& scale);
  // Instead of backward(): the gradient of sum(weights * logits) of the last forward() with respect to the
  // vector that stands for each token, [T, C]: the word's (times sqrt(C) where embeddings are rescaled) plus
  // type and position, and Batch::embedding_offsets, before dropout and LayerNorm. `weights`
  // [B, num_labels]; the model needs no labels, but a classification head (else Error{runtime}). What
  // gradients() holds afterwards is of no use.
  std::vector<float> input_gradients(const std::vector<float>& weights);

  // Results of the last forward() on the host. Logits are gone once backward() has run: it works in their
  // place.
  // [T, C]. Error{runtime} with ModelOptions::head_rows.
  std::vector<float> last_hidden_state() const;
  // Error{runtime} when the model's head has no such output.
  std::vector<float> pooler_output() const;    // [B, C]
  std::vector<float> sequence_logits() const;  // [B, 2] NSP or [B, num_labels]
  std::vector<float> masked_logits() const;    // [masked, V] of the rows in Batch::masked_rows
  // [T] each, of all tokens; 1e6 less for the tokens of the question (lib/model/network/heads.h).
  std::vector<float> start_logits() const;
  std::vector<float> end_logits() const;
  // [T], of all tokens: the logits of score `score` of ModelConfig::token_scores.
  std::vector<float> token_logits(std::size_t score) const;
  // Of the rows of Batch::targets: [T', C] and [T', V]; no logits with ModelOptions::logits_in_pieces.
  std::vector<float> decoder_hidden_state() const;
  std::vector<float> target_logits() const;
  DecoderView decoder_view() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bigbird
