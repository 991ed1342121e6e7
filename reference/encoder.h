// A whole BigBird encoder with its heads in double precision, forward and backward, without dropout.
// Layer order as in BERT (post-LN) or pre-LN; parameters go by their Hugging Face names.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/attention.h"
#include "reference/hashed_attention.h"
#include "reference/layers.h"
#include "reference/random_features.h"
#include "reference/tensor.h"

namespace bigbird::reference {

// By Hugging Face name: row-major values, Linear weights (out, in). A model without a bias, without a
// position table, or without one of the two LayerNorms below simply has no such entry.
using Parameters = std::map<std::string, Vector>;

struct EncoderConfig {
  std::size_t vocabulary = 0;
  std::size_t hidden = 0;
  std::size_t layers = 0;
  std::size_t heads = 0;
  std::size_t intermediate = 0;
  std::size_t positions = 0;
  std::size_t types = 2;
  std::size_t block_size = 0;
  double layer_norm_epsilon = 1e-12;
  bool pre_layer_norm = false;
  bool rescale_embeddings = false;  // word embedding times sqrt(hidden)
  Activation activation = Activation::gelu_tanh;
  // Of the masked-token head, where it is another.
  std::optional<Activation> head_activation = {};
  // The first product of feed-forward layers gives an input and a gate (gated_forward() of layers.h).
  bool gated = false;
  // ESM's token dropout (docs/specification.md 2.15): the embedding of the token mask_token is zeros, and
  // those of all tokens of a sequence are multiplied by 0.88 / (1 - the share of it among the real ones).
  bool token_dropout = false;
  std::size_t mask_token = 0;
  // Rotary positions (Su et al. 2021): at position p of its sequence the pair (i, i + rotary_dim / 2) of
  // every head's query and key is turned by p * rotary_base^(-2 i / rotary_dim). 0: not turned.
  std::size_t rotary_dim = 0;
  double rotary_base = 10000.0;
  // A stem: bert.embeddings.stem.convolution over the letters of a sequence, an activation, and
  // bert.embeddings.stem.dense over what stem_stride of them give side by side: a row of the layers. The head
  // of masked tokens reads activation(cls.predictions.spread), stem_stride rows of it for each. 0: none.
  std::size_t stem_stride = 0;
  std::size_t stem_kernel = 0;
  // Attention by features (random_features.h) over the real tokens of a sequence, in place of plans. The
  // projection of a layer is its parameter attention.self.features, where there is one.
  bool by_features = false;
  FeatureAttention features = {};
  // Attention within chunks of hashed tokens (hashed_attention.h), likewise; a layer has no key then.
  bool by_hash = false;
  std::size_t chunk = 0;
  bool causal_hash = false;
  // [rounds] of a head of a layer, and the factors of the buckets of a sequence of so many tokens.
  std::function<std::vector<Matrix>(std::size_t layer, std::size_t head)> rotations = {};
  std::function<std::array<std::size_t, 2>(std::size_t length)> bucket_factors = {};
  // Heads with a window of tokens on each side, of causal ones before alone, then heads that are routed
  // (routed_attention.h), likewise. Their centroids are smoothed from the parameters attention.self.centroids
  // .sums and .counts, whose gradients are what queries and keys add.
  bool by_routes = false;
  std::size_t local_heads = 0;
  std::size_t local_window = 0;
  std::size_t cluster_window = 0;
  bool causal_routes = false;
  // Two streams, of which a layer changes one by its attention over the other, then the other one by its
  // feed-forward part (Gomez et al. 2017), of pre-LN; heads read both side by side.
  bool reversible = false;
};

// LayerNorms that a model may have: of the embeddings, and of the output of the stack (under a name of this
// project).
inline constexpr const char* embedding_layer_norm = "bert.embeddings.LayerNorm";
inline constexpr const char* final_layer_norm = "bert.encoder.LayerNorm";

// Sequences laid end to end, each padded to a multiple of the block size; rows of all matrices are these
// tokens.
struct Sequences {
  // Of a model with a stem: ids of the letters of all sequences, stem_stride for each of their rows, and how
  // many of each sequence are no padding. All else is of the rows, whose ids are not read.
  std::vector<std::size_t> letters;
  std::vector<std::size_t> letter_counts;
  std::vector<std::size_t> ids;             // all tokens
  std::vector<std::size_t> types;           // all tokens
  std::vector<std::size_t> padded_lengths;  // per sequence; they add up to the number of tokens
  std::vector<std::size_t> valid_lengths;   // per sequence, <= padded length
  // Rows whose mean the head of classes reads, for each of its outputs; empty: the first row of each
  // sequence.
  std::vector<std::vector<std::size_t>> outputs;
  std::vector<std::size_t> query_lengths;         // per sequence or none: AttentionShape::query_length
  std::vector<std::vector<AttentionPlan>> plans;  // [sequence][layer]
};

struct PretrainingLabels {
  std::vector<std::int64_t> masked;         // all tokens: the id to predict, or ignored_label (losses.h)
  std::vector<std::int64_t> next_sentence;  // per sequence: 0 follows, 1 random, or ignored_label
};

struct PretrainingResult {
  std::vector<Matrix> hidden_states;  // (tokens, hidden): after the embeddings, then after every layer
  Matrix last_hidden_state;           // the last of them, after the final LayerNorm where there is one
  Matrix pooled;                      // (sequences, hidden)
  Matrix prediction_logits;           // (tokens, vocabulary)
  Matrix relationship_logits;         // (sequences, 2)
  double masked_loss = 0.0;           // mean over labelled tokens of the whole batch
  double next_sentence_loss = 0.0;    // mean over labelled sequences
  double loss = 0.0;                  // their sum
  Parameters gradients;  // of loss, one entry per parameter; the tied word table holds both of its uses
};
// Masked-language-model head (tied to the word table) and next-sentence head (Hugging Face
// BigBirdForPreTraining).
PretrainingResult pretraining(const EncoderConfig& config, const Parameters& parameters,
                              const Sequences& sequences, const PretrainingLabels& labels);

// Hugging Face BigBirdForMaskedLM: the first of the two heads alone.
struct MaskedResult {
  Matrix logits;  // (tokens, vocabulary)
  double loss = 0.0;
  Parameters gradients;
};
MaskedResult masked_tokens(const EncoderConfig& config, const Parameters& parameters,
                           const Sequences& sequences, const std::vector<std::int64_t>& labels);

// Hugging Face BigBirdModel: no loss.
struct EncoderResult {
  Matrix last_hidden_state;  // (tokens, hidden)
  Matrix pooled;             // (sequences, hidden)
};
EncoderResult encoder(const EncoderConfig& config, const Parameters& parameters, const Sequences& sequences);

// All per sequence. The tokens of a question but the first lose 1e6 in both logits.
struct QuestionLabels {
  std::vector<std::size_t> question_lengths;
  std::vector<std::size_t> competing;  // tokens, from the first on, that the softmax runs over
  std::vector<std::int64_t> starts;    // positions, or ignored_label
  std::vector<std::int64_t> ends;
};
struct QuestionResult {
  Matrix logits;      // (tokens, 2): start and end
  double loss = 0.0;  // half of the mean over starts and of the mean over ends
  Parameters gradients;
};
// Hugging Face BigBirdForQuestionAnswering: LayerNorm(x + W2 gelu(W1 x)), then two logits for every token.
QuestionResult question_answering(const EncoderConfig& config, const Parameters& parameters,
                                  const Sequences& sequences, const QuestionLabels& labels);

// What is right of one score that tokens have, in groups that a softmax runs over (choice_cross_entropy in
// losses.h) or whose rows are marked one by one (mark_cross_entropy).
// With `parts`, the sums of as many logits compete: those of rows i, i + n / parts, i + 2 n / parts ...
struct TokenGroup {
  std::vector<std::size_t> rows;  // of all tokens
  std::vector<bool> right;
  std::size_t parts = 1;
};
struct TokenScoreLabels {
  bool softmax = true;
  std::vector<TokenGroup> groups;
};
// With several right starts and ends: question_answering() over groups instead of whole sequences. The loss
// is half of the mean over the groups of the starts with a right row and of that of the ends.
QuestionResult question_answering(const EncoderConfig& config, const Parameters& parameters,
                                  const Sequences& sequences,
                                  const std::vector<std::size_t>& question_lengths,
                                  const std::vector<TokenScoreLabels>& sides);

struct StructuredLabels {
  std::vector<TokenScoreLabels> scores;
  std::vector<std::int64_t> types;  // per sequence, or ignored_label; empty: the head has none
};
struct StructuredResult {
  Matrix logits;       // (tokens, scores)
  Matrix type_logits;  // (sequences, types)
  // The mean over all softmax groups with a right row and all types together, plus for every score without
  // softmax the mean over its groups.
  double loss = 0.0;
  Parameters gradients;
};
// The heads of Natural Questions, HotpotQA and WikiHop (docs/specification.md 3.4): a dense layer
// answer_scores.token on every token, and one answer_scores.type on the first.
StructuredResult structured_answers(const EncoderConfig& config, const Parameters& parameters,
                                    const Sequences& sequences, const StructuredLabels& labels);

enum class ClassificationLoss { cross_entropy, binary_cross_entropy, mean_squared_error };
struct ClassificationLabels {
  ClassificationLoss kind = ClassificationLoss::cross_entropy;
  std::vector<std::int64_t> classes;  // cross_entropy: per sequence
  Matrix targets;                     // the other two: (sequences, outputs)
  double positive_weight = 1.0;       // binary_cross_entropy
};

struct ClassificationResult {
  Matrix last_hidden_state;  // (tokens, hidden)
  Matrix logits;             // (sequences, outputs)
  double loss = 0.0;
  Parameters gradients;
};
// Hugging Face BigBirdForSequenceClassification: [CLS] -> classifier.dense -> gelu -> classifier.out_proj. No
// pooler.
ClassificationResult classification(const EncoderConfig& config, const Parameters& parameters,
                                    const Sequences& sequences, const ClassificationLabels& labels);

// Hugging Face BigBirdForTokenClassification: a dense layer `classifier` on the tokens `rows` (of all tokens
// of all sequences), one class each, or ignored_label. logits: (rows, outputs).
ClassificationResult token_classification(const EncoderConfig& config, const Parameters& parameters,
                                          const Sequences& sequences, const std::vector<std::size_t>& rows,
                                          const std::vector<std::int64_t>& classes);

}  // namespace bigbird::reference
