// The tensors of a model by their role in the computation: pointers into an arena in ParameterLayout order.
// The same struct serves parameters and gradients; only the base of the arena differs.
#pragma once

#include <array>
#include <vector>

#include "kernels/types.h"
#include "lib/model/config.h"
#include "lib/model/network/layout.h"

namespace bigbird {

// As parameters or as gradients, whichever of the two an operation asks for.
struct LinearTensors {
  float* weight = nullptr;  // [out, in]
  float* bias = nullptr;    // null where the layer has none
  kernels::Index in = 0;
  kernels::Index out = 0;
  bool exact = false;  // of kernels::Linear
  bool fresh = false;  // of kernels::LinearGradients

  operator kernels::Linear() const { return {weight, bias, in, out, 0, exact}; }
  operator kernels::LinearGradients() const { return {weight, bias, fresh}; }
};

// The layer of one of its outputs alone.
inline LinearTensors output_of(const LinearTensors& layer, kernels::Index output) {
  return {layer.weight + output * layer.in, layer.bias + output, layer.in, 1, layer.exact};
}

struct NormTensors {
  float* weight = nullptr;
  float* bias = nullptr;
  float epsilon = 0.0f;
  kernels::Index width = 0;

  operator kernels::Norm() const { return {weight, bias, epsilon, width}; }
  operator kernels::NormGradients() const { return {weight, bias}; }
};

struct StemTensors {
  float* convolution = nullptr;  // [kernel, V, channels]; null without a stem
  float* bias = nullptr;         // [channels]
  kernels::Index kernel = 0, vocabulary = 0, channels = 0, stride = 0;
  LinearTensors dense;   // [C, stride channels]
  LinearTensors spread;  // [stride C, C]; of a head of masked tokens
};

struct EmbeddingTensors {
  float* word = nullptr;      // [V, C]
  float* position = nullptr;  // [max_position_embeddings, C]; null for rotary positions
  float* type = nullptr;      // [type_vocab_size, C]
  NormTensors norm;           // null without one
  StemTensors stem = {};
  // Of global tokens (AttentionPattern::etc), which share the other tables.
  float* global_position = nullptr;
  NormTensors global_norm = {};
};

struct AttentionTensors {
  LinearTensors qkv;     // [3C, C]: query, key and value are neighbours in the arena
  LinearTensors output;  // [C, C]
  NormTensors norm;
  // Of global tokens (AttentionPattern::longformer): their queries, and all tokens' keys and values for them.
  LinearTensors global_query = {};      // [C, C]
  LinearTensors global_key_value = {};  // [2C, C]: neighbours in the arena
  float* label_weight = nullptr;        // [labels, D] of AttentionPattern::bpt, the same for all heads
  float* features = nullptr;            // [M, D] of AttentionPattern::performer, likewise; null without
  float* centroid_sums = nullptr;       // [H, k, D] of AttentionPattern::routing, of its H routed heads
  float* centroid_counts = nullptr;     // [H, k]; both in gradients what a batch adds
  // Of a layer with a memory (attention_recurrent.h), whose qkv is null.
  LinearTensors query = {};      // [C, C] with the bias of content [C]
  LinearTensors key_value = {};  // [2C, C]: neighbours in the arena
  LinearTensors position = {};   // [C, C]; of spans the table of distances [S, D], of all layers
  LinearTensors biases = {};     // [2, C]: of content, then of distance; where they are tied, of all layers
  float* spans = nullptr;        // [H] of adaptive_span.h; null of dynamic ones
  LinearTensors span = {};       // [H, C] of dynamic ones
  std::array<LinearTensors, 3> compression = {};  // [C, rate C] of compressive.h: of conv the first alone
};

struct FeedForwardTensors {
  LinearTensors inner;   // [F, C]; of gated ones [2F, C]
  LinearTensors output;  // [C, F]
  NormTensors norm;
};

// One of the two inputs of BigBird-ETC in a layer. What both share is the same memory in both.
struct EtcSideTensors {
  LinearTensors query;      // [C, C]
  LinearTensors key_value;  // [4C, C], or [2C, C] where one set of projections serves all (etc_columns)
  LinearTensors output;     // [C, C]
  NormTensors norm;
  float* relative_weight = nullptr;  // [labels, H, D]; null without labels, as is the next
  float* relative_bias = nullptr;    // [labels, H]
  FeedForwardTensors feed_forward;
};

struct LayerTensors {
  AttentionTensors attention;  // null of BigBird-ETC, as the next
  FeedForwardTensors feed_forward;
  std::array<EtcSideTensors, 2> sides = {};  // BigBird-ETC: long, global
};

// Queries of one stack, keys and values of another.
struct CrossAttentionTensors {
  LinearTensors query;      // [C, C]
  LinearTensors key_value;  // [2C, C]: neighbours in the arena
  LinearTensors output;     // [C, C]
  NormTensors norm;
};

struct DecoderLayerTensors {
  AttentionTensors attention;
  CrossAttentionTensors cross_attention;  // of HIBERT, which has an added row in its place, the norm alone
  FeedForwardTensors feed_forward;
};

struct DecoderTensors {
  // The encoder's word table, positions and a LayerNorm of its own; in a coupled model all is the encoder's,
  // and so are attention and feed_forward of each layer: among gradients those of both uses add up.
  EmbeddingTensors embeddings;
  std::vector<DecoderLayerTensors> layers;
  NormTensors final_norm;  // null without one
  LinearTensors output;    // [V, C]: the word table; its bias, where it has one, has no gradient
};

struct MaskedHeadTensors {
  LinearTensors transform;  // [C, C]
  NormTensors norm;
  LinearTensors decoder;  // [V, C]: the word table, with a bias of its own
};

// Heads on the pooled first token.
struct PooledHeadTensors {
  LinearTensors pooler;         // [C, C]
  LinearTensors next_sentence;  // [2, C]; pretraining only
};

struct ClassificationHeadTensors {
  LinearTensors dense;   // [C, C]
  LinearTensors output;  // [num_labels, C]
};

struct QuestionHeadTensors {
  FeedForwardTensors block;  // null in a plain head
  LinearTensors output;      // [2, C]: start and end
};

struct AnswerHeadTensors {
  LinearTensors token;  // [scores, C]
  LinearTensors type;   // [num_labels, C]; null without types
};

// HIBERT: the second encoder, and labels of sentences.
struct DocumentTensors {
  const float* sinusoids = nullptr;  // of the places of sentences; no parameter
  std::vector<LayerTensors> layers;
  LinearTensors labels;  // [2, C]; HeadType::sentence_labels
};

// Projections of predicted sentences.
struct ContrastTensors {
  LinearTensors context;  // [C, C]
  LinearTensors target;   // [C, C]
};

struct ModelTensors {
  EmbeddingTensors embeddings;
  std::vector<LayerTensors> layers;
  NormTensors final_norm;    // null without one
  float* spans = nullptr;    // [L, H] of adaptive_span.h
  MaskedHeadTensors masked;  // each filled for the heads that have it
  PooledHeadTensors pooled;
  ClassificationHeadTensors classification;
  QuestionHeadTensors question;
  AnswerHeadTensors answers;
  ContrastTensors contrast;
  DocumentTensors documents;
  DecoderTensors decoder;
};

// The weights of an encoder's layers whose gradient one product makes in a backward pass, in the order of the
// arena: it can be written where it would be added to zeros. None of models whose weights are used twice
// (BigBird-ETC, a coupled decoder).
std::vector<LinearTensors*> written_once(const ModelConfig& config, ModelTensors& tensors);
// Marks those among the gradients at `base` as fresh. Their places, and all others of `count` floats.
struct GradientRanges {
  std::vector<kernels::FloatRange> written, added_to;
};
GradientRanges mark_written_once(const ModelConfig& config, const float* base, kernels::Index count,
                                 ModelTensors& gradients);

// base: the arena of layout.count() floats; not owned. A tensor that has no gradient has a place among the
// gradients all the same, which stays 0.
ModelTensors model_tensors(const ModelConfig& config, const ParameterLayout& layout, float* base);

}  // namespace bigbird
