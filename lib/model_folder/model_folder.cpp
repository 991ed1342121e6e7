// Opening and checking of model folders; see model_folder.h.
#include "lib/model_folder/model_folder.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/dialect.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

std::string name_of(Alphabet alphabet) {
  return alphabet == Alphabet::dna ? "DNA" : "text";
}

ModelFolder::ModelFolder(std::string path) : path_(std::move(path)) {
  if (!folder_exists(path_)) {
    throw_bad_input(path_ + ": no such model folder",
                    "a model folder holds config.json and model.safetensors");
  }
  config_ = read_config(config_file(path_));
}

bool ModelFolder::has_tokenizer() const {
  return !tokenizer_files(path_).empty();
}

const Tokenizer& ModelFolder::tokenizer() const {
  if (tokenizer_ == nullptr) {
    std::shared_ptr<const Tokenizer> tokenizer = load_tokenizer(path_);
    const std::string file = config_file(path_);
    if (static_cast<std::int64_t>(tokenizer->vocab_size()) < config_.vocab_size &&
        dialect_of(read_file(file), file) == Dialect::original_pegasus) {
      throw_bad_input(
          fmt::format("{}: the {} pieces of an original Pegasus's tokenizer are numbered otherwise "
                      "than the model's {} rows",
                      path_, tokenizer->vocab_size(), config_.vocab_size),
          message("bigbird convert makes a BigBird-Pegasus of it, with the `tokenizer` of another"));
    }
    check_tokenizer_agrees(config_, static_cast<std::int64_t>(tokenizer->vocab_size()), tokenizer->digest(),
                           path_, path_);
    tokenizer_ = std::move(tokenizer);
  }
  return *tokenizer_;
}

Alphabet ModelFolder::alphabet() const {
  return tokenizer().is_dna() ? Alphabet::dna : Alphabet::text;
}

void ModelFolder::require(Alphabet wanted) const {
  const Alphabet found = alphabet();
  if (found == wanted) return;
  throw_bad_input(
      fmt::format("{}: its tokenizer is for {}, not for {}", path_, name_of(found), name_of(wanted)),
      fmt::format("take a model that reads {}", name_of(wanted)));
}

std::string ModelFolder::head_words() const {
  return config_.foreign_class.empty()
             ? name_of(config_.head)
             : "the one of a " + one_line_name(config_.foreign_class) + ", which is not read";
}

void ModelFolder::require_classifier() const {
  if (config_.head == HeadType::classification) return;
  throw_bad_input(
      fmt::format("{}: the model has no classifier, its head is {}", path_, head_words()),
      "make one with `bigbird promoter finetune`, `bigbird chromatin finetune` or `bigbird text classify "
      "finetune`");
}

void ModelFolder::require_token_classifier() const {
  if (config_.head == HeadType::token_classification) return;
  throw_bad_input(fmt::format("{}: the model has no classes of tokens, its head is {}", path_, head_words()),
                  "make one with `bigbird text tag finetune`");
}

void ModelFolder::require_masked_token_head() const {
  if (config_.has_mlm()) return;
  if (config_.predicts_next()) {
    throw_bad_input(
        path_ + ": the model reads left to right, and fills no mask between two sides",
        message("take a model pretrained on masked tokens (bigbird pretrain with `objective` mlm)"));
  }
  throw_bad_input(fmt::format("{}: the model has no masked-token head, its head is {}", path_, head_words()),
                  "take a pretrained model, such as run/final of bigbird pretrain");
}

void ModelFolder::require_next_token_head() const {
  if (config_.predicts_next()) return;
  throw_bad_input(fmt::format("{}: the model predicts no next token, its head is {}", path_, head_words()),
                  message("make one that reads left to right by `bigbird pretrain` with `objective` clm"));
}

void ModelFolder::require_question_head() const {
  if (config_.head == HeadType::question_answering) return;
  throw_bad_input(
      fmt::format("{}: the model has no question answering head, its head is {}", path_, head_words()),
      "make one with `bigbird text qa finetune`");
}

LoadedModel ModelFolder::load(const LoadOptions& options) const {
  return load_model(path_, options);
}

LoadedModel ModelFolder::load(HeadType head, std::uint64_t seed, std::int64_t num_labels,
                              bool fresh_head) const {
  return load_model(path_, head, seed, num_labels, fresh_head);
}

const std::string& ModelFolder::weights_digest() const {
  if (weights_digest_->empty()) *weights_digest_ = bigbird::weights_digest(path_);
  return *weights_digest_;
}

void require_model_folders(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) (void)ModelFolder(path);
}

ProvenanceInput model_input(const std::string& path, const std::string& sha256) {
  const std::string folder = folder_exists(path) ? path : parent_folder(path);
  const bool int8 = read_config(config_file(folder)).quantization != nullptr;
  return {"model", path, sha256, int8 ? "int8" : ""};
}

}  // namespace bigbird
