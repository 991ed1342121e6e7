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
#include "lib/model/network/losses.h"
#include "lib/model/network/model_limits.h"
#include "lib/model/network/stream_memory.h"

namespace bigbird {

struct ForwardOptions {
  bool training = false;  // dropout on
  // Key of every dropout mask of this pass; a function of (seed, step, micro-batch).
  std::uint64_t dropout_seed = 0;
  // Called with (layer index, host copy [T, C]) after the embeddings (0) and after every layer (1..L; with
  // ModelOptions::head_rows the last one's rows alone that the head reads), before any final LayerNorm; and
  // the same of a decoder ([T', C]).
  std::function<void(std::int64_t, const std::vector<float>&)> hidden_state;
  std::function<void(std::int64_t, const std::vector<float>&)> decoder_hidden_state = {};
  KeyWeightListener key_weights = {};  // stream_memory.h; behind every layer, sequence by sequence
  // What backward() is going to be called with, where that is known. Of a model that keeps gradients the
  // losses of masked tokens, and with ModelOptions::logits_in_pieces those of a decoder, are then taken in
  // one pass with the gradient of their logits, which are gone when forward() returns. With logits_in_pieces
  // there is no backward() otherwise.
  std::optional<LossScale> scale = {};
  LabelSmoothing smoothing = {};  // of a decoder's loss
};

struct DecoderTensors;  // tensors.h
struct ModelTensors;

// What a decoder's steps (lib/inference/decoder_steps.h) go on from: of the last forward(), and valid until
// the next.
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
  // Backend::adamw(), lamb_move() and adafactor() alone: the device may work with a copy of them. gradients()
  // is null unless options.training. A pointer of before zero_gradients() sees zeros there only once
  // backward() has run or gradients() was asked again: what is written anyway is not cleared first.
  float* parameters();
  float* gradients();
  void set_parameters(const std::vector<float>& host);
  // The same memory, to be filled in place of set_parameters(); null where a device has memory of its
  // own.
  float* parameters_on_host();

  // Weights that are packed once and then read in place of parameters(): for inference, where the backend
  // has such a form (linear_layers.h). Bytes of them; 0: none.
  std::size_t packed_bytes() const;
  // What is packed and where, in words: equal for weights that can be read in each other's place.
  std::string packed_layout() const;
  bool packs(const TensorSpec& tensor) const;
  // Packs into packed_bytes() of host memory, 64-byte aligned, and gives back the memory of every weight that
  // was packed: parameters can be read and set no longer.
  void pack_weights(std::byte* to);
  // From now on forward() reads these, of pack_weights() of a model of the same parameters.
  void use_packed_weights(std::shared_ptr<const std::byte> packed);

  // After each update of the parameters, the last of `updates` of a run with this seed: brings those back
  // that have limits (spans, adaptive_span.h), and draws those anew that are due (random_features.h).
  void after_update(std::uint64_t updates, std::uint64_t seed);

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

  // Makes what forward() makes of a batch on the host before it starts, ahead of it and on any thread. May be
  // left out.
  void make_ready(Batch& batch) const;
  // Runs the batch. Losses are computed for the labels that the batch carries. A batch over the limits is
  // Error{runtime}.
  ForwardResult forward(const Batch& batch, const ForwardOptions& options);
  // Gradients of scaled_loss(result, scale) of the last forward(), added to gradients(). Error{runtime} for a
  // model without a head: it has no loss.
  void backward(const LossScale& scale);
  // forward() and backward(*options.scale), with nothing read back in between: a device goes on to the second
  // while the losses are on their way. The same numbers, in whatever losses are; the caller judges them, and
  // then what is in gradients(). Error{runtime} without a scale.
  ForwardResult forward_backward(const Batch& batch, const ForwardOptions& options);
  // Instead of backward(): the gradient of sum(weights * logits) of the last forward() with respect to the
  // vector that stands for each token, [T, C]: the word's (times sqrt(C) where embeddings are rescaled) plus
  // type and position, and Batch::embedding_offsets, before dropout and LayerNorm. `weights`
  // [B, num_labels]; the model needs no labels, but a classification head (else Error{runtime}). What
  // gradients() holds afterwards is of no use.
  std::vector<float> input_gradients(const std::vector<float>& weights);

  // Results of the last forward() on the host. Logits are gone once their gradient was taken, by backward()
  // or with ForwardOptions::scale: it lies in their place. Of masked tokens that is Error{runtime}.
  // [T, C]. Error{runtime} with ModelOptions::head_rows.
  std::vector<float> last_hidden_state() const;
  // BigBird-ETC: [G, C] of the global tokens, padding too; and the batch with those that the model made.
  std::vector<float> global_hidden_state() const;
  const Batch& last_batch() const;
  std::vector<float> sentence_states() const;  // HIBERT: [B, C] of the second encoder
  // Error{runtime} when the model's head has no such output.
  std::vector<float> pooler_output() const;    // [B, C]
  std::vector<float> sequence_logits() const;  // [B, 2] NSP or [outputs, num_labels]
  std::vector<float> masked_logits() const;    // [masked, V] of the rows in Batch::masked_rows
  // [T] each, of all tokens; 1e6 less for the tokens of the question (lib/model/network/heads.h).
  std::vector<float> start_logits() const;
  std::vector<float> end_logits() const;
  // [T], of all tokens, and of global ones after them: the logits of score `score` of
  // ModelConfig::token_scores.
  std::vector<float> token_logits(std::size_t score) const;
  // Of the rows of Batch::targets: [T', C] and [T', V]; no logits with ModelOptions::logits_in_pieces.
  std::vector<float> decoder_hidden_state() const;
  std::vector<float> target_logits() const;
  DecoderView decoder_view() const;
  // Of the parameters, for steps that make their own pass (lib/inference/causal_steps.h); what is to be
  // computed in int8 is bound.
  const ModelTensors& tensors();

  // What streams remember (Batch::places) of a model with a memory, asked for between two passes: a
  // backward() comes before it. See stream_memory.h for shapes and errors; bytes are those on the device.
  std::size_t memory_bytes() { return streams().bytes(); }
  std::vector<float> stream_memory(std::int64_t stream) { return streams().values(stream); }
  void set_stream_memory(std::int64_t stream, const std::vector<float>& values) {
    streams().set_values(stream, values);
  }
  void forget_streams() { streams().forget(); }

 private:
  StreamMemory& streams();
  // The two halves of forward(): work is given to the device; its results are waited for.
  void start_forward(const Batch& batch, const ForwardOptions& options);
  ForwardResult read_result();

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bigbird
