// How large a model will be asked to work, and the memory that it then takes: the plan of a model, which can
// be known and printed before there is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bigbird::kernels {
class Backend;
struct AttentionLimits;
}  // namespace bigbird::kernels

namespace bigbird {

struct ModelConfig;

// The largest batch a model will be asked to run; decides the size of the activation arena.
struct BatchLimits {
  std::int64_t tokens = 0;         // T, padded
  std::int64_t sequences = 0;      // B
  std::int64_t masked_tokens = 0;  // rows of the MLM head (0: no MLM)
  std::int64_t longest = 0;        // tokens of the longest sequence, padded
  std::int64_t target_tokens = 0;  // T', rows of a decoder, padded
  // BigBird-ETC: G, global tokens of all sequences, padded; 0: those that the model makes by itself.
  std::int64_t globals = 0;
  std::int64_t sentence_pairs = 0;  // of Batch::sentence_pairs
  // Longformer: of a sequence whose batch names them (Batch::global_rows); those of the model's rule besides.
  std::int64_t global_tokens = 0;
  std::int64_t streams = 0;  // whose memory is kept (Batch::places)
  std::int64_t outputs = 0;  // of all sequences (Batch::output_spans); 0: as most_outputs() says
};

struct ModelOptions {
  bool training = false;  // keeps activations and gradients
  // Keeps only each layer's input and recomputes the rest in backward, with the same dropout masks.
  bool grad_checkpoint = false;
  // What the activation in a feed-forward part gives is kept too, not made again in backward: a quarter more
  // of a layer. Nothing with grad_checkpoint. Where a device takes the activation behind a product, before
  // what it was taken of is rounded to bf16, the gradient of the weights that read it (F -> C) then differs
  // by that rounding; all else, and everything in fp32, is the same bits.
  bool keep_activated = false;
  bool embedding_offsets = false;  // whether batches may carry Batch::embedding_offsets
  // Logits of targets are not kept: a decoder's loss, and in training its gradient, are taken of some rows
  // after another, all in forward(). Of a vocabulary of 96,103 a row of them is as much memory as the rest of
  // many a small model's.
  bool logits_in_pieces = false;
  // Nobody asks for last_hidden_state(): behind its attention the last layer is computed at the rows alone
  // that the head reads, where these are few (lib/model/network/head_rows.h). Outputs and losses are the same
  // bits; gradients of that part of the layer are sums of fewer zeros, in another grouping.
  bool head_rows = false;
  // ForwardOptions::key_weights may be asked for: of a model with a memory (attention_recurrent.h) without
  // gradients, on the CPU. Sequences are then padded to whole blocks.
  bool key_weights = false;
};

// Rows of a head of classes: one of each sequence, or of each token, where the limits do not say.
std::int64_t most_outputs(const ModelConfig& config, const BatchLimits& limits);

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

}  // namespace bigbird
