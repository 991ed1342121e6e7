// Model folders of other kinds, seen as ours: their config.json, the names of their tensors, and what must be
// done to the tensors themselves.
//
//   huggingface  big_bird of transformers, and what this program writes
//   gena         GENA-LM's own BERT (AIRI-Institute/GENA_LM): pre-LN, rotary positions, DeepSpeed's layouts
//   bert         BERT: full attention, its heads for classes and answers. With other attention a warm start
//                for BigBird: the position table repeated 8 times (paper, appendix E.1)
//   roberta      RoBERTa, the same; its first positions (pad id + 1 of them) are never used and dropped
//   longformer   longformer of transformers (allenai/longformer-*), and what this program writes of models
//                that it can hold; its first two positions, never used, are dropped
//   esm          esm of transformers and Nucleotide Transformer (esm.h)
//   led          led of transformers (allenai/led-*), and what this program writes of models with such stacks
//   etcmodel     google-research's ETC: etc_config.json and a checkpoint of TensorFlow (etc_checkpoint.h)
//   pegasus      bigbird_pegasus of transformers, and what this program writes of models with such a decoder
//   original_pegasus  pegasus of transformers, as a warm start for BigBird-Pegasus: attention becomes sparse
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/io/weights/stored_tensor.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model/config.h"
#include "lib/model/network/layout.h"

namespace bigbird {

enum class Dialect {
  huggingface,
  gena,
  bert,
  roberta,
  longformer,
  led,
  esm,
  etcmodel,
  pegasus,
  original_pegasus
};
std::string name_of(Dialect dialect);
// Those that can be written: huggingface ("hf") and gena. Error{usage} otherwise.
Dialect parse_written_dialect(const std::string& name);

// The file that says what a folder's model is: config.json, or etc_config.json where there is only that.
std::string config_file(const std::string& folder);

// Which one the text of a config.json is. Error{bad_input} naming `file`: model_type of another kind of
// model.
Dialect dialect_of(const std::string& config_text, const std::string& file);
// The config.json that says the same in our own form; itself when it is huggingface's. `attention` is asked
// for instead of the model's own: a BERT or RoBERTa then starts another model (not where it is full). With
// longformer a RoBERTa stays one in all but its attention and its positions, as Longformer's authors begin
// from it: one token type, its LayerNorm of embeddings and its heads.
std::string translated_config(const std::string& config_text, const std::string& file,
                              std::optional<AttentionPattern> attention = {});

// The plan of a model folder with random_mode file: attention_plan.json, or the layouts that the weights
// carry (attention.self.sparse_self_attention.master_layout). Error{bad_input} when there is neither.
std::shared_ptr<const PlanTable> plan_of_folder(const std::string& folder, const ModelConfig& config);

// The name in ParameterLayout of a tensor in a file: `module.`, `_orig_mod.` and the like, `model.` and
// missing `bert.` prefixes, gamma and beta, pooler.dense, lm_head, GENA-LM's LayerNorms. Empty for what
// holds no parameter (position_ids and the like).
std::string layout_name(const std::string& stored_name, Dialect dialect = Dialect::huggingface);
// The name in a GENA-LM file of a tensor of the layout.
std::string gena_name(const std::string& layout_name, const ModelConfig& config);
// The name that a tensor of the layout has in a file: gena_name(), longformer_stored_name(),
// esm_stored_name(), led_stored_name() or pegasus_stored_name() of a model that led or bigbird_pegasus can
// hold, else its own.
std::string stored_name(const std::string& layout_name, const ModelConfig& config, Dialect dialect);

// BERT and RoBERTa, which with other attention than their own begin a model of another kind.
bool is_bert_or_roberta(Dialect dialect);

// How often a warm start repeats the rows of positions that are used, where nothing else is
// said: 512 to 4,096, as published.
inline constexpr std::int64_t warm_position_repeats = 8;

// Values for the shape that `spec` asks for, of a tensor of another shape; empty when nothing is known to be
// done. Warm starts repeat position rows (bert, roberta), and the one token type of RoBERTa, or continue
// Pegasus's sinusoid (continued_sinusoid()); what was done is appended to notes. A Longformer's positions,
// a RoBERTa's and esm's are those of the file without the first ones, `pad` + 1 of them, that no token has.
std::vector<float> adapted_values(const StoredTensor& tensor, const TensorSpec& spec, Dialect dialect,
                                  std::int64_t pad, std::vector<std::string>& notes);

// Rows `tensor.shape[0]` to `rows` - 1 of a table of sinusoids behind those that are stored. Column j of the
// first N = C / 2 is sin(p w), column N + j cos(p w), with w = 10000^(-j / (N - 1)) as the published Pegasus
// has it, or 10000^(-j / N) as transformers computes it: the one that the stored rows follow within 1e-3.
// Error{bad_input} when it is neither.
std::vector<float> continued_sinusoid(const StoredTensor& tensor, std::int64_t rows,
                                      std::vector<std::string>& notes);

// Whether attention of an original Pegasus has biases: transformers keeps some always, which are zeros in the
// published models, as these have none.
bool has_attention_biases(const std::string& folder);

// Error{bad_input} when the angles of rotary positions that a file carries are not those of the config.
void check_rotary_angles(const WeightFiles& weights, const ModelConfig& config);

// config.json as GENA-LM's code reads it. Error{bad_input} naming what it cannot say (`where` is the model):
// a plan that is drawn, or that lists a block twice; a model without LayerNorm of the embeddings; heads other
// than masked-lm, pretraining and encoder.
std::string gena_config_json(const ModelConfig& config, const std::string& torch_dtype,
                             const std::string& where);

}  // namespace bigbird
