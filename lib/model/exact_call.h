// One exact call of a model on given ids, from a safetensors file to a safetensors file: every hidden state,
// logit, loss and gradient, for comparison with other programs and to build on. Dropout is off.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "kernels/backend.h"
#include "lib/model/config.h"

namespace bigbird {

struct ExactCallOptions {
  bool hidden_states = false;             // also hidden_states.<l>, l = 0 (embeddings) .. L
  bool gradients = false;                 // also grad.<Hugging Face name> of every parameter; needs labels
  std::optional<RandomMode> random_mode;  // instead of the one in config.json
};

// input: input_ids [B, T], attention_mask [B, T] (1 real, 0 padding on the right; default all 1),
// token_type_ids [B, T] (default 0), all integers; pretraining head: labels [B, T] (-100 = not predicted),
// next_sentence_label [B]; classification head: labels [B]. The batch is padded to the next multiple of the
// block size, as Hugging Face does, and outputs are cut back to T. output: last_hidden_state [B, T, C];
// pretraining head: pooler_output [B, C], prediction_logits [B, T, V], seq_relationship_logits [B, 2];
// classification head: logits [B, num_labels]; loss [] when labels are given: mean over labelled tokens plus
// mean over labelled sequences. metadata goes into the header of the output. Returns the number of tokens,
// padding not counted. Throws Error{bad_input} naming the file, the tensor and the place of what is wrong.
std::int64_t run_exact_call(kernels::Backend& backend, const std::string& model_folder,
                            const std::string& input, const std::string& output,
                            const ExactCallOptions& options, std::map<std::string, std::string> metadata);

}  // namespace bigbird
