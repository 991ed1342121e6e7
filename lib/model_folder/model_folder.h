// A model folder, opened and checked in one place: config.json, the tokenizer that lies beside it, the
// weights and their digest. Whatever runs a model or goes on training one begins here. What a task keeps in
// the folder too (window.json, profiles.tsv) is read by lib/inference/finetuned_model.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/io/files/provenance.h"
#include "lib/model/config.h"
#include "lib/model_folder/checkpoint.h"

namespace bigbird {

class Tokenizer;

// What the sequences of a model are made of.
enum class Alphabet { dna, text };
std::string name_of(Alphabet alphabet);  // "DNA", "text"

// Cheap to copy: copies share the tokenizer and the digest. Methods that read something for the first time
// (tokenizer(), alphabet(), weights_digest()) are not for several threads at once.
class ModelFolder {
 public:
  // Reads config.json. Error{bad_input} as read_config (config_json.h).
  explicit ModelFolder(std::string path);

  const std::string& path() const { return path_; }
  // As config.json says it. A model that load() gave another head has its own config.
  const ModelConfig& config() const { return config_; }

  bool has_tokenizer() const;
  // Read at the first call, and held against the config. Error{bad_input}: there is none, it cannot be read,
  // or it has another vocabulary than the model.
  const Tokenizer& tokenizer() const;
  Alphabet alphabet() const;

  // Error{bad_input} naming the folder, and a hint what to take instead.
  void require(Alphabet alphabet) const;
  void require_classifier() const;  // a classification head
  // One that gives classes to tokens.
  void require_token_classifier() const;
  void require_masked_token_head() const;  // that of masked-lm or pretraining
  void require_next_token_head() const;    // that of causal-lm
  void require_question_head() const;      // a question answering head
  // What messages say of the head; of one that is not read, the class that has it.
  std::string head_words() const;

  // The weights; errors as load_model (checkpoint.h). Without options the head is the stored one.
  LoadedModel load(const LoadOptions& options = {}) const;
  // The same with this head; where another one is stored, its values are drawn from the seed.
  LoadedModel load(HeadType head, std::uint64_t seed, std::int64_t num_labels = 2,
                   bool fresh_head = false) const;
  // Of the weights, as weight_files.h says; computed at the first call.
  const std::string& weights_digest() const;

 private:
  std::string path_;
  ModelConfig config_;
  mutable std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<std::string> weights_digest_ = std::make_shared<std::string>();
};

// Error{bad_input} for the first of them that is none: asked before a device is taken for them.
void require_model_folders(const std::vector<std::string>& paths);

// The model as an input that an output names: its folder, or a file of its weights, with "int8" where the
// folder holds such layers (they are computed so on the processor, and from the same weights elsewhere).
ProvenanceInput model_input(const std::string& path, const std::string& sha256);

}  // namespace bigbird
