// lib/model_folder holds model folders: config.json, weights in every dialect, self-test, model card, and
// models that only compute (open_model.h). Whatever loads or saves a model does it here.
//
// Model folders in Hugging Face's layout: config.json, weights (names of docs/specification.md 2.2), the
// tokenizer's files and a README.md model card. Read in every form that dialect.h and weight_files.h know;
// written as model.safetensors, whole or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/layout.h"
#include "lib/model_folder/dialect.h"
#include "lib/tokenization/tokenizer_folder.h"

namespace bigbird {

struct LoadOptions {
  // The head that is wanted; without it, the one that is stored. When the folder holds another one, what the
  // two have in common is used and the rest starts from initial_parameters(seed), said in one log line.
  std::optional<HeadType> head;
  std::uint64_t seed = 0;
  std::int64_t num_labels = 2;  // of a classification head that is not stored
  bool fresh_head = false;      // a stored head is left out, also where it is of the kind of `head`
  // Of a structured_answers head: its scores, and the names of its types (which may be none). A stored head
  // with others of them counts as another one. No scores: as stored.
  std::vector<TokenScore> token_scores;
  std::vector<std::string> type_names;
  // Of a generation head that is not stored: without it a decoder of the encoder's sizes. A coupled one takes
  // the encoder's token types away.
  std::optional<DecoderConfig> decoder;
  // Of an original Pegasus more rows than are stored; of a warm start how many the stored ones are repeated
  // to, in whole blocks (dialect.h). 0: as read_config() has them.
  std::int64_t positions = 0;
  std::vector<std::string> allow_missing;  // glob patterns (fnmatch) of layout names that start from the seed
  // Nothing of the head is asked for: its tensors may be missing or those of a class that is not read.
  bool encoder_only = false;
  bool allow_nan = false;  // NaN and infinities are read as they are
  std::string plan_file;   // the plan, instead of the folder's own (random_mode file)
  // Called once, when every tensor was found and fits: memory for ParameterLayout(config).count() floats,
  // which the parameters are then read into, so that they are never held twice. Without it, or where it
  // returns null, they go into LoadedModel::parameters.
  std::function<float*(const ModelConfig&)> memory;
  // Asked after `memory`: tensors of which this is true are not read, their values are at hand in another
  // form.
  std::function<bool(const TensorSpec&)> at_hand;
};

struct LoadedModel {
  ModelConfig config;
  std::vector<float> parameters;  // in ParameterLayout(config) order; empty with LoadOptions::memory
  Dialect dialect = Dialect::huggingface;
  std::vector<std::string> files;    // the weights that were read
  std::vector<std::string> notes;    // what was done to make them fit, a line each; logged as well
  std::vector<std::string> fresh;    // tensors of the layout that start from initial_parameters()
  std::vector<std::string> adapted;  // and those of which more was done than reading them
};

// Loads config.json and the weights. Tensors may be F32, F64, BF16 or F16 and in any order, the weights that
// config.json lists as int8 are I8 beside their scales, and come as what they stand for;
// `cls.predictions.decoder.*` must equal the tied tensors when present, unless the config unties them.
// Error{bad_input} naming the file: every tensor that is missing or of another shape, in one message; the
// first NaN or infinity. Surplus tensors are ignored with one warning that names them.
LoadedModel load_model(const std::string& folder, const LoadOptions& options);
LoadedModel load_model(const std::string& folder, HeadType head, std::uint64_t seed,
                       std::int64_t num_labels = 2, bool fresh_head = false);

// Its parameters are to change, or to be written otherwise: where they stood for int8 layers they do no
// longer, which one log line says.
void leave_int8(LoadedModel& model);

// A decoder of the same sizes as the encoder of `config`.
DecoderConfig decoder_like(const ModelConfig& config);

// F32, BF16, F16 or I8, and huggingface or gena. I8: weights of the layers that config.quantization lists are
// integers with a scale for each output (NAME_scale), which their values must be exactly; all else is F32.
// Of other types config.quantization is left out.
struct WriteOptions {
  TensorType type = TensorType::f32;
  Dialect dialect = Dialect::huggingface;
  std::map<std::string, std::string> metadata;  // goes into the header of model.safetensors
  TokenizerFolderOptions tokenizer;             // but for its positions, which are the model's
  std::string source;  // the model that is written in another form, for messages; empty: the folder
};

// Writes config.json, model.safetensors and README.md (model_card, Markdown) into an existing, unpublished
// folder: the caller owns the AtomicFolder, because a checkpoint holds trainer files beside these. Writes the
// tokenizer's files when tokenizer_folder is not empty (write_tokenizer_files). Values are rounded to nearest
// even; Error{bad_input} naming the tensor when one is beyond the range of F16, or no integers times a scale.
void write_model_files(const std::string& folder, const ModelConfig& config, const ParameterLayout& layout,
                       std::span<const float> parameters, const std::string& tokenizer_folder,
                       const std::string& model_card, const WriteOptions& options = {});

// Throws Error{bad_input} when the tokenizer in the model folder (or the given one) has another vocabulary
// than the model. A model may have more rows than the tokenizer has pieces (embeddings padded to a multiple
// of 64), which one log line says.
void check_tokenizer_agrees(const ModelConfig& config, std::int64_t vocabulary_size,
                            const std::string& tokenizer_digest, const std::string& model_folder,
                            const std::string& tokenizer_folder);

}  // namespace bigbird
