// What a model is: the fields of Hugging Face's config.json (specification 2.3) and the few of our own beside
// them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace bigbird {

// Which blocks a row sees (paper section 2 and Fig. 1). All are block plans for the same kernel.
enum class AttentionPattern {
  bigbird,        // ITC: global first and last block, window of 3, r random
  full,           // every block
  window,         // window of 3 only
  random,         // r random only, plus the row's own block
  window_random,  // window of 3 and r random, no global blocks
};

// Where random blocks come from (specification 1.4).
enum class RandomMode {
  google,       // the published code: "old" plan at 1024/2048/3072/4096 tokens, the plan path elsewhere
  huggingface,  // the same, but 2048 tokens takes the plan path, and the old plan is drawn for
                // max_position_embeddings
  zeros,        // Hugging Face in eval mode: block 0, r times
  none,         // no random blocks
};

enum class NormType { postnorm, prenorm };

// The output heads that a model folder can hold.
enum class HeadType {
  pretraining,     // MLM (tied to the word table) and NSP; architecture BigBirdForPreTraining
  classification,  // BigBirdForSequenceClassification: [CLS] -> dropout -> dense -> gelu -> dropout ->
                   // out_proj
};

struct ModelConfig {
  std::int64_t vocab_size = 50358;
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 3072;
  std::int64_t max_position_embeddings = 4096;
  std::int64_t type_vocab_size = 2;
  std::int64_t block_size = 64;
  std::int64_t num_random_blocks = 3;
  std::int64_t num_labels = 2;  // classification only
  std::int64_t pad_token_id = 0;
  std::int64_t bos_token_id = 1;
  std::int64_t eos_token_id = 2;
  std::int64_t sep_token_id = 66;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;  // full attention only
  double classifier_dropout = -1.0;           // negative: null in the file, hidden_dropout_prob is used
  double initializer_range = 0.02;
  double layer_norm_eps = 1e-12;
  bool use_bias = true;             // q, k, v biases
  bool rescale_embeddings = false;  // word embedding times sqrt(hidden_size)
  AttentionPattern attention = AttentionPattern::bigbird;
  RandomMode random_mode = RandomMode::google;
  NormType norm_type = NormType::postnorm;
  HeadType head = HeadType::pretraining;
  // Tokens that every input is padded to, a multiple of block_size; 0: each input to its own multiple.
  // Outputs depend on the padded length (specification 1.2), so a fine-tuned model keeps the one it was
  // trained with.
  std::int64_t input_length = 0;
  // sha256 of the tokenizer the model was trained with (tokenization/tokenizer.h digest()); empty when
  // unknown.
  std::string tokenizer_digest;

  std::int64_t head_size() const { return hidden_size / num_attention_heads; }
};

// Throws Error{bad_input} naming the field when a value is absurd or two fields contradict each other.
// `where` is the file or option group for the message.
void validate(const ModelConfig& config, const std::string& where);

// config.json: read (missing required field, wrong type or absurd value -> Error naming file and field;
// hidden_act other than gelu_new / gelu_pytorch_tanh is refused) and written (Hugging Face keys; our own
// under "bigbird").
ModelConfig read_config(const std::string& file);
std::string config_json(const ModelConfig& config);
// Every field of config_json as "model.<key>" -> JSON text: what must not change when a training run goes on.
std::map<std::string, std::string> config_fields(const ModelConfig& config);

// Names as typed on the command line and stored in files; parse_* throw Error{usage} listing the names.
std::string name_of(AttentionPattern pattern);
std::string name_of(RandomMode mode);
std::string name_of(NormType norm);
AttentionPattern parse_attention_pattern(const std::string& name);
RandomMode parse_random_mode(const std::string& name);
NormType parse_norm_type(const std::string& name);

}  // namespace bigbird
