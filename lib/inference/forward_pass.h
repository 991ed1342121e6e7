// One forward pass of a model on given ids, from a safetensors file to a safetensors file: every hidden
// state, logit, loss and (by the backward pass) gradient, for comparison with other programs and to build on.
// Dropout is off.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "kernels/backend.h"
#include "lib/model/label_smoothing.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird {

struct ForwardPassOptions {
  // Also hidden_states.<l>, l = 0 (embeddings) .. L, and of a decoder decoder_hidden_states.<l>. As in
  // transformers the last of a model with a decoder is behind the final LayerNorm.
  bool hidden_states = false;
  bool gradients = false;         // also grad.<Hugging Face name> of every parameter; needs labels
  LabelSmoothing smoothing = {};  // of a decoder's loss
  std::optional<RandomMode> random_mode = {};  // instead of the one in config.json
  std::shared_ptr<const PlanTable> plan = {};  // random mode file: instead of the one in the model's folder
};

// input, all integers unless said otherwise: input_ids [B, T], attention_mask [B, T] (1 real, 0 padding on
// the right or the left; default all 1), token_type_ids [B, T] (default 0; question answering: 0 for the
// question and its [SEP], 1 behind), and what the head learns from:
//   pretraining         labels [B, T] (-100 = not predicted), next_sentence_label [B]
//   masked-lm           labels [B, T]
//   classification      labels [B], or floating-point: several labels at once [B, L] within 0..1, regression
//                       [B, L] or, for one number, [B]. Floats [B, L] without a problem_type in config.json
//                       are several labels at once, as transformers takes them.
//   question-answering  start_positions [B], end_positions [B] (T or more: not among the tokens, ignored)
//   structured-answers  nothing: logits alone
//   generation          decoder_input_ids [B, T'], labels [B, T'] or both
//
// A sequence padded on the left is read as if it were padded on the right, so that its positions count from
// its first token and outputs do not depend on the side; transformers counts them from the padding. Outputs
// stand where the tokens were given.
//
// The batch is padded to the next multiple of the block size, as Hugging Face does, and outputs are cut back
// to T (Hugging Face cuts last_hidden_state and the logits, not hidden_states). output:
//   every head          last_hidden_state [B, T, C]
//   encoder             pooler_output [B, C]
//   pretraining         pooler_output [B, C], prediction_logits [B, T, V], seq_relationship_logits [B, 2]
//   masked-lm           logits [B, T, V]
//   classification      logits [B, L]
//   question-answering  start_logits [B, T], end_logits [B, T]; 1e6 less for the tokens of the question
//   structured-answers  token_logits.NAME [B, T] of each score, type_logits [B, L] where it has types
//   generation          decoder_last_hidden_state [B, T', C], logits [B, T', V]
// and loss [] when labels are given: the sum of the means over labelled tokens and over labelled sequences,
// or half of the means over start and over end positions. The logits of all tokens are held in memory at
// once: B * T * V floats.
//
// metadata goes into the header of the output. Returns the number of tokens, padding not counted. Throws
// Error{bad_input} naming the file, the tensor and the place of what is wrong.
std::int64_t run_forward_pass(kernels::Backend& backend, const ModelFolder& folder, const std::string& input,
                              const std::string& output, const ForwardPassOptions& options,
                              std::map<std::string, std::string> metadata);

}  // namespace bigbird
