// lib/model holds what a model is (config.h), with plans of attention in plans, the network in network, and
// its folder on disk in folder. Each includes what stands before it. Devices are reached by kernels/backend.h
// alone.
//
// What a model is: the fields of Hugging Face's config.json (docs/specification.md 2.3) and the few of our
// own beside them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/types.h"
#include "lib/model/attention_systems.h"

namespace bigbird {

// Where random blocks come from, and when attention is full instead (docs/specification.md 1.3 and 1.4).
enum class RandomMode {
  google,    // the published code, training and evaluation alike: "old" plan at 1024/2048/3072/4096 tokens,
             // the plan path elsewhere
  hf_train,  // Hugging Face in train mode: 2048 tokens takes the plan path, and the old plan is drawn for
             // max_position_embeddings
  hf_eval,   // Hugging Face in eval mode: block 0, r times
  none,      // no random blocks
  file,      // every list comes from ModelConfig::plan
};

enum class NormType { postnorm, prenorm };

// Where the LayerNorm of the embeddings stands. BigBird normalises after dropout, BERT before; the pre-LN
// BigBird of the paper's authors has none, GENA-LM's pre-LN models have BERT's.
enum class EmbeddingNorm { none, after_dropout, before_dropout };

// hidden_act of config.json: gelu_new (tanh form, BigBird's), gelu (erf form, BERT's and GENA-LM's), relu or
// silu.
using kernels::Activation;

enum class PositionType {
  absolute,    // a learned table, added to the embeddings
  rotary,      // queries and keys turned (Su et al. 2021): the first rotary_dim of each head, in halves as
               // GPT-NeoX does
  none,        // labels of pairs tell distances (AttentionPattern::etc and bpt)
  sinusoidal,  // a fixed table, added to the embeddings (lib/model/network/hierarchy.h)
};

// What a model of this norm type has unless its config says otherwise: post-LN after_dropout, pre-LN none.
EmbeddingNorm usual_embedding_norm(NormType norm);

class PlanTable;      // lib/model/plans/plan_table.h
struct Quantization;  // lib/model/quantization.h

// The output heads that a model folder can hold.
enum class HeadType {
  encoder,             // BigBirdModel: hidden states and the pooled [CLS]
  pretraining,         // BigBirdForPreTraining: MLM (tied to the word table) and NSP
  masked_lm,           // BigBirdForMaskedLM: MLM alone
  causal_lm,           // ours: every token predicts the next one by the word table, and sees none behind it
  classification,      // BigBirdForSequenceClassification: [CLS] -> dropout -> dense -> gelu -> dropout ->
                       // out_proj
  question_answering,  // BigBirdForQuestionAnswering: dropout -> feed-forward block -> start and end logits
  structured_answers,  // ours, for Natural Questions, HotpotQA and WikiHop (docs/specification.md 3.4): dense
                       // layers give scores to every token, and to [CLS] the type of the answer
  generation,          // a decoder, tied to the word table: BigBirdPegasusForConditionalGeneration, or ours
  // HIBERT (Zhang et al. 2019), whose sequences are the sentences of documents, for which a second encoder
  // stands on the first: a decoder writes sentences that were masked, or each sentence gets a label.
  masked_sentences,
  sentence_labels,
  token_classification,  // BigBirdForTokenClassification: dropout and a dense layer on every token that is
                         // to get a class
};

// Whose layers the heads for classes and for spans have, where there are two of the same purpose.
enum class HeadForm {
  bigbird,  // as HeadType says
  roberta,  // RoBERTa's and Longformer's: tanh in place of gelu before out_proj; one dense layer for spans,
            // without dropout, whose logits the question's tokens have too
};

// The loss of a classification head, as config.json's problem_type names it (docs/specification.md 3.2).
enum class ProblemType {
  single_label,  // integer label, cross entropy
  multi_label,   // 0/1 per label, binary cross entropy on logits
  regression,    // float label, mean squared error
};

// A score that a structured_answers head gives to every token, and what competes in its loss.
struct TokenScore {
  std::string name;     // "short_start", "candidate" ...
  bool softmax = true;  // false: a sigmoid of its own at every token
  bool operator==(const TokenScore&) const = default;
};
inline constexpr std::size_t most_token_scores = 4;

// The stack that writes (HeadType::generation): causal attention over what is written, cross-attention over
// the last hidden state of the encoder, whose width, activation, kind of norms and word table it shares. It
// has no token types.
struct DecoderConfig {
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 3072;
  std::int64_t start_token_id = 2;  // what stands before the first token
  // Rows of its own table of positions; 0: as many as the encoder's has (ModelConfig::decoder_positions()).
  std::int64_t positions = 0;
  // The decoder computes with the encoder's layers, positions and LayerNorms: only cross-attention is its own
  // (BigBird-RoBERTa of the paper, couple_encoder_decoder in the published code). The three sizes above are
  // then the encoder's, and `positions` is 0.
  bool coupled = false;
  // LayerDrop (Fan et al. 2019): how often a training pass leaves out a layer of the encoder and of the
  // decoder.
  double encoder_layer_drop = 0.0;
  double layer_drop = 0.0;
  bool operator==(const DecoderConfig&) const = default;
};

// The second encoder of HIBERT, over the vectors of a document's sentences: layers as the first encoder's.
struct DocumentConfig {
  std::int64_t num_hidden_layers = 6;
  std::int64_t sentences = 30;        // most of a document
  std::int64_t sentence_length = 51;  // most tokens of a sentence, its end included
  bool operator==(const DocumentConfig&) const = default;
};

// What a head of classes reads of a sequence (HeadForm::bigbird): the state of its first token, as
// transformers has it, or the mean over all of its tokens, or over so many in the middle.
struct HeadPooling {
  enum class Kind { first, mean, middle };
  Kind kind = Kind::first;
  std::int64_t tokens = 0;  // of middle
  bool operator==(const HeadPooling&) const = default;
};

// A convolution over single tokens, which are bases, that makes one row of the layers of every `stride`
// tokens (lib/model/network/stem.h).
struct StemConfig {
  std::int64_t kernel = 15;  // tokens that a filter sees, odd
  std::int64_t channels = 128;
  std::int64_t stride = 0;  // 0: no stem
  bool operator==(const StemConfig&) const = default;
};
// The tables of its filters have a row for each letter.
inline constexpr std::int64_t most_stem_letters = 64;

struct ModelConfig {
  std::int64_t vocab_size = 50358;
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 3072;
  std::int64_t max_position_embeddings = 4096;
  std::int64_t type_vocab_size = 2;  // 0: no token types
  std::int64_t block_size = 64;
  std::int64_t num_random_blocks = 3;
  std::int64_t num_labels = 2;  // has_classes(); structured_answers, from 0 on
  std::int64_t pad_token_id = 0;
  std::int64_t bos_token_id = 1;
  std::int64_t eos_token_id = 2;
  std::int64_t sep_token_id = 66;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;  // full attention only
  double classifier_dropout = -1.0;           // negative: null in the file, hidden_dropout_prob is used
  double initializer_range = 0.02;
  double layer_norm_eps = 1e-12;
  bool use_bias = true;           // q, k, v biases
  bool output_bias = true;        // of attention's output product
  bool feed_forward_bias = true;  // of both products of a layer's feed-forward part
  // The first of these gives an input and a gate: the second reads activation(input) * gate (Shazeer 2020).
  bool gated_feed_forward = false;
  bool rescale_embeddings = false;  // word embedding times sqrt(hidden_size)
  // False: the masked-token head, or the decoder, has an output table of its own beside the word table.
  bool tie_word_embeddings = true;
  // Left to right: no token sees one behind it. With the head that predicts the next token; a task's head may
  // stand on such layers too.
  bool causal = false;
  AttentionPattern attention = AttentionPattern::bigbird;
  AttentionOptions attention_options;  // of systems that have any
  RandomMode random_mode = RandomMode::google;
  NormType norm_type = NormType::postnorm;
  bool final_norm = true;  // pre-LN only: a LayerNorm after the last layer
  EmbeddingNorm embedding_norm = EmbeddingNorm::after_dropout;
  Activation activation = Activation::gelu_tanh;  // of the feed-forward layers and the heads
  std::optional<Activation> head_activation;      // of the masked-token head, where it is another
  // ESM's token dropout (docs/specification.md 2.15): the word row of mask_token_id is zeros as an input, and
  // those of a sequence are multiplied by 0.88 / (1 - its share of that token).
  bool token_dropout = false;
  std::int64_t mask_token_id = -1;  // of models in ESM's form, which has_esm_form(); -1: all others
  PositionType position_type = PositionType::absolute;
  std::int64_t rotary_dim = 0;  // of every head, even, at most head_size; rotary only
  double rotary_base = 10000.0;
  StemConfig stem;  // with one the word table is the masked-token head's alone
  HeadType head = HeadType::pretraining;
  HeadForm head_form = HeadForm::bigbird;
  bool pooler = true;   // encoder: false where the folder of a BERT has none
  HeadPooling pooling;  // classification
  ProblemType problem_type = ProblemType::single_label;
  double positive_weight = 1.0;  // of the labels that are 1 in the multi-label loss (PyTorch's pos_weight)
  std::vector<std::string> label_names;  // num_labels of them, or none: LABEL_0, LABEL_1 ...
  // structured_answers only: one to four scores per token. Its types of answers at [CLS] are label_names, of
  // which there are then num_labels, or none and num_labels is 0.
  std::vector<TokenScore> token_scores;
  DecoderConfig decoder;                  // generation and masked_sentences only
  DocumentConfig documents;               // has_documents() only
  std::shared_ptr<const PlanTable> plan;  // random_mode file only
  // Tokens that every input is padded to, a multiple of block_size; 0: each input to its own multiple.
  // Outputs depend on the padded length (docs/specification.md 1.2), so a fine-tuned model keeps the one it
  // was trained with.
  std::int64_t input_length = 0;
  // SHA-256 of the tokenizer the model was trained with (digest() of lib/tokenization/tokenizer.h); empty
  // when unknown.
  std::string tokenizer_digest;
  // transformers' class of a folder whose head is not read (BigBirdForMultipleChoice); empty for all
  // others. `head` is then what can be had of it: encoder, or generation where it has a decoder.
  std::string foreign_class;
  // Null: no layer is int8. The parameters of such layers are integers times scales exactly, and lose this
  // name when they are changed: training starts from them, and writes folders without it.
  std::shared_ptr<const Quantization> quantization;

  std::int64_t head_size() const { return hidden_size / num_attention_heads; }
  // Outputs of the first product of a feed-forward part.
  std::int64_t inner_outputs() const { return (gated_feed_forward ? 2 : 1) * intermediate_size; }
  Activation masked_head_activation() const { return head_activation.value_or(activation); }
  bool pools() const { return head == HeadType::classification && pooling.kind != HeadPooling::Kind::first; }
  bool has_classes() const {
    return head == HeadType::classification || head == HeadType::token_classification;
  }
  // Whether the head reads Batch::output_spans.
  bool reads_spans() const { return pools() || head == HeadType::token_classification; }
  bool has_stem() const { return stem.stride > 0; }
  std::int64_t tokens_of_a_row() const { return has_stem() ? stem.stride : 1; }
  bool has_final_norm() const { return norm_type == NormType::prenorm && final_norm; }
  // transformers gives every head of BigBird's but question answering a pooler, of which only the first two
  // use it, and Longformer's heads none.
  bool has_pooler() const {
    if (uses_pooler()) return true;
    return !has_esm_form() && attention != AttentionPattern::longformer &&
           attention != AttentionPattern::etc && (head == HeadType::masked_lm || has_classes());
  }
  // A model of transformers' esm: its heads have no pooler, and its config names [MASK].
  bool has_esm_form() const { return mask_token_id >= 0; }
  bool uses_pooler() const {
    return attention != AttentionPattern::etc &&
           ((head == HeadType::encoder && pooler) || head == HeadType::pretraining);
  }
  bool has_plain_question_head() const {
    return head == HeadType::question_answering && head_form == HeadForm::roberta;
  }
  bool has_decoder() const { return head == HeadType::generation; }
  bool has_documents() const { return writes_sentences() || head == HeadType::sentence_labels; }
  bool writes_sentences() const { return head == HeadType::masked_sentences; }
  // Of texts, or of masked sentences.
  bool has_any_decoder() const { return has_decoder() || writes_sentences(); }
  bool predicts_next() const { return head == HeadType::causal_lm; }
  bool is_coupled() const { return has_decoder() && decoder.coupled; }
  // How many tokens a decoder can write, its start token among them.
  std::int64_t decoder_positions() const {
    return decoder.positions > 0 ? decoder.positions : max_position_embeddings;
  }
  bool has_own_output_table() const {
    return !tie_word_embeddings && (has_mlm() || predicts_next() || has_any_decoder());
  }
  // Projections of sentences that are predicted (BigBird-ETC, contrastive predictive coding).
  bool has_contrast() const {
    return attention == AttentionPattern::etc && attention_options.etc.cpc && has_mlm();
  }
  bool has_mlm() const { return head == HeadType::pretraining || head == HeadType::masked_lm; }
};

// Whether Hugging Face's longformer can hold this architecture: AttentionPattern::longformer in RoBERTa's
// layers, no dilated heads, pad token 1, from which positions are counted there, and a head that it has.
bool is_longformer_architecture(const ModelConfig& config);

// Whether a model computes what Hugging Face's led does (Longformer-Encoder-Decoder): BART's two stacks, the
// encoder with AttentionPattern::longformer without dilated heads. Its texts stand between <s> and </s>.
bool computes_as_led(const ModelConfig& config);
// Whether its led can hold this architecture: that, and no int8 layers.
bool is_led_architecture(const ModelConfig& config);

// Whether Hugging Face's esm can hold this architecture: has_esm_form(), with layers and a head that it has.
bool is_esm_architecture(const ModelConfig& config);

// Whether Hugging Face's bert or roberta can hold this architecture: full attention, post-LN with the dropout
// of the embeddings after their LayerNorm, absolute positions, and a head that the class has in RoBERTa's
// form. An encoder without a pooler has no class there.
bool is_bert_architecture(const ModelConfig& config);

// Whether Hugging Face's bert, roberta, longformer, led or esm can hold this architecture, or its big_bird
// (post-LN, absolute positions, its LayerNorms, a head that it has), or its bigbird_pegasus (pre-LN with a
// decoder of its own weights), the last two with attention of BigBird's family. Other models are written with
// model_type "bigbird_extended", which transformers refuses by name instead of computing something else.
bool is_huggingface_architecture(const ModelConfig& config);

// What models of attention bpt have in common: a LayerNorm of the embeddings after dropout, no positions,
// nothing random.
void become_bpt(ModelConfig& config);

// What the layers of a model with a stem see, whose tokens are its rows: fewer of them in a block, a position
// table, an input. As it is without a stem.
ModelConfig trunk_config(const ModelConfig& config);

// Names as typed on the command line and stored in files; parse_* throw Error{usage} listing the names.
std::string name_of(RandomMode mode);
std::string name_of(NormType norm);
std::string name_of(EmbeddingNorm norm);
std::string name_of(PositionType position);
std::string name_of(HeadType head);  // "encoder", "pretraining", ...
std::string name_of(HeadForm form);
std::string name_of(const HeadPooling& pooling);  // "cls", "mean", "middle:200"
HeadPooling parse_head_pooling(const std::string& name);
RandomMode parse_random_mode(const std::string& name);
NormType parse_norm_type(const std::string& name);
EmbeddingNorm parse_embedding_norm(const std::string& name);
PositionType parse_position_type(const std::string& name);
HeadForm parse_head_form(const std::string& name);

}  // namespace bigbird
