// Activation memory, planned: every buffer of a pass is a slice of one arena whose size follows from the
// batch limits. The plan that is printed and the pointers that are used come from the same walk over the same
// table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"
#include "lib/model/network/losses.h"
#include "lib/model/network/model_limits.h"

namespace bigbird {

// Hands out aligned slices in order. Without a base it only counts, and every slice is null.
class Arena {
 public:
  // Rows of whole cache lines on every device.
  static constexpr std::size_t alignment = 256;

  explicit Arena(std::byte* base, kernels::ElementType type = kernels::ElementType::fp32)
      : base_(base), operands_(type), stream_(type) {}
  Arena(std::byte* base, const kernels::Backend& backend)
      : base_(base), operands_(backend.element_type()), stream_(backend.stream_type()) {}

  // `what` is the row of the memory table that the slice counts towards.
  kernels::Values values(const std::string& what, std::int64_t count) { return values(what, count, stream_); }
  kernels::Values values(const std::string& what, std::int64_t count, kernels::ElementType type);
  // How Backend::element_type() has what products and attention alone read, and how all else is.
  kernels::ElementType operands() const { return operands_; }
  kernels::ElementType stream() const { return stream_; }
  float* floats(const std::string& what, std::int64_t count);
  std::int32_t* integers(const std::string& what, std::int64_t count);
  std::uint64_t* keys(const std::string& what, std::int64_t count);
  void* bytes(const std::string& what, std::size_t count);
  void* bytes(const std::string& what, std::size_t count, kernels::ElementType type);

  std::size_t used() const { return used_; }
  const std::vector<MemoryRow>& rows() const { return rows_; }

 private:
  std::byte* base_;
  kernels::ElementType operands_;
  kernels::ElementType stream_;
  std::size_t used_ = 0;
  std::vector<MemoryRow> rows_;
};

using kernels::NormState;

// What rotary positions are turned by, shared by all layers; null for absolute positions.
struct RotaryTable {
  const std::int32_t* positions = nullptr;  // [T]
  float* table = nullptr;                   // [longest sequence, rotary_dim], encoder.h
};

// Of one layer, what its global tokens (attention_windowed.h) have; all null without any. G rows of them.
struct GlobalActivations {
  kernels::Values key_value;     // [T, 2C] of all tokens, for global queries
  kernels::Values query;         // [G, C]
  kernels::Values of_keys;       // [G, 3C] rows of qkv: what local queries see of global tokens
  kernels::Values context;       // [G, C]
  float* log_sum_exp = nullptr;  // [H, G]; null in inference
};

// Of a model with two streams (reversible.h); all null of others. `joined` is both side by side, what heads
// read; what a half of a layer adds to a stream is its branch.
struct ReversibleActivations {
  kernels::Values first, second;                    // [T, C]
  kernels::Values joined;                           // [T, 2C]
  kernels::Values branch;                           // [T, C]
  kernels::Values first_gradient, second_gradient;  // [T, C]; training only

  // In the order of Activations::states: what the embeddings give, a place of a final LayerNorm where nothing
  // is kept, and what the layers give.
  std::vector<kernels::Values> states() const { return {first, normed, joined}; }
  kernels::Values normed;  // [T, 2C]; null in training
};

// Of attention over residue classes (residue_classes.h), shared by all layers, in the classes' order; all
// null without any. S steps are different ones.
struct ResidueClassActivations {
  // [S, T] as ResidueClasses has them, those of a batch end to end.
  std::int32_t* rows = nullptr;
  std::int32_t* places = nullptr;
  std::int32_t* query_groups = nullptr;
  std::int32_t* key_groups = nullptr;
  kernels::Values qkv;             // [T, 3C]
  kernels::Values context;         // [T, C]
  float* sums = nullptr;           // [H, T]
  kernels::Values dcontext, dqkv;  // gradients; training only
};

// Shared by all layers with windows.
struct WindowedActivations {
  std::int32_t* rows = nullptr;  // [G]; this and the next as WindowedPass has them
  std::uint8_t* hidden = nullptr;
  std::int32_t* query_groups = nullptr;
  std::int32_t* key_groups = nullptr;  // [T] zeros
  std::int32_t* positions = nullptr;   // [G] of the gathered rows; null where positions are not rotary
  float* sums = nullptr;               // [H, T]; in training the layers' own
  float* second_sums = nullptr;        // [H, T] of the second group of keys
  kernels::Values second;              // [T, C] its output, then its gradient of the queries
  kernels::Values gathered;            // [G, C] input rows of global tokens, then their gradient
  kernels::Values dof_keys, dcontext, dquery, dkey_value;  // gradients; training only
  ResidueClassActivations classes;
};

// Shared by all layers of BigBird-ETC; what no batch has is null. T long tokens, G global ones.
struct EtcActivations {
  std::int32_t* links = nullptr;            // [3, T] of long tokens
  std::int32_t* global_links = nullptr;     // [3, G] every global token's own number, three times
  std::int32_t* segments = nullptr;         // [T]
  std::int32_t* examples = nullptr;         // [T]
  std::int32_t* global_examples = nullptr;  // [G]
  std::int32_t* parts = nullptr;            // [G]
  std::uint8_t* free = nullptr;             // [T]
  std::uint8_t* global_free = nullptr;      // [G]
  float* sums = nullptr;                    // [H, T + G]; in training the layers' own
  float* second_sums = nullptr;             // [H, max(T, G)] of the other input's keys
  kernels::Values second;                   // [max(T, G), C] their output, then their gradient of the queries
  kernels::Values dkey_value;               // [max(T, G), 2C] of keys that two calls share; training only
};

// Shared by all layers of BP-Transformer (attention_rows.h); all null without. N rows, E entries of lists.
struct RowsActivations {
  std::int32_t* rows = nullptr;         // [E]; this and the next two as kernels::RowAttention has them
  std::int32_t* offsets = nullptr;      // [N + 1]
  std::int32_t* labels = nullptr;       // [E]
  std::int32_t* queries = nullptr;      // [E]; this and the next two as kernels::RowsByKey has them; training
  std::int32_t* key_offsets = nullptr;  // [N + 1]
  std::int32_t* key_labels = nullptr;   // [E]
  float* products = nullptr;            // kernels::RowAttentionGradients; training only, as the next
  float* label_parts = nullptr;
};

// What compresses memories (compressive.h), shared by all layers but for what is said; all null of other
// models. T tokens, c rows of which one is made; rows of sequences lie behind each other.
struct CompressiveActivations {
  std::int64_t rows = 0;           // T
  kernels::Values sources;         // [T, C] rows that are compressed
  kernels::Values fresh;           // [L, T / c, C] what they became; of a model without gradients [T / c, C]
  std::int32_t* first = nullptr;   // [T / c] c rows each: kernels::RowSpans of all windows
  std::int32_t* length = nullptr;  // [T / c]
  kernels::Values windows;         // [T, c C] what the products of dilated read
  kernels::Values between[2];      // [T, C] what the first two of them give
  // The reconstruction of learned ones, in training. Keys and values are padded to whole blocks, T rows.
  kernels::Values input, query;                                // [T, C]
  kernels::Values old_key_value;                               // [T, 2C]
  kernels::Values keys, key_value;                             // [T, C], [T, 2C] of compressed rows
  float *wanted = nullptr, *made = nullptr, *dmade = nullptr;  // [T, C]
  float *wanted_sums = nullptr, *made_sums = nullptr;          // [H, T]
  float* losses = nullptr;                                     // [L, T]
  float* scales = nullptr;                                     // [sequences]
  kernels::Values dquery, dkey_value, dkeys, dwindows;         // [T, C], [T, 2C], [T, C], [T, c C]
};

// What takes the weights of keys out of a backward pass (key_weights() of attention_recurrent.h).
struct KeyWeightActivations {
  kernels::Values ones;    // [C]
  kernels::Values dquery;  // [T, C], which nobody reads
  float* sums = nullptr;   // [H, T] of scores; in training each layer's own
};

// Shared by all layers with a memory (attention_recurrent.h). K rows are those of memories and segments
// together, R labels; numbers of the host's choice are rounded to the type of what products read. Of
// Transformer-XL and of spans (adaptive_span.h) each has its own; the others' are null.
struct RecurrentActivations {
  kernels::Values remembered;    // [L, streams, M, C]; null where no stream is kept
  kernels::Values sinusoids;     // [R, C]
  kernels::Values distances;     // [R, C] the same through the dropout of a pass
  kernels::Values rows;          // [K, C] a layer's memories and its input
  kernels::Values signs;         // [2] -1, 1
  kernels::Values difference;    // [C] the bias of distance less that of content; then its gradient
  float* by_head = nullptr;      // [H, C] the same, each head's part in a row of its own among zeros
  std::int64_t labels = 0;       // R
  float* by_distance = nullptr;  // [R, C] of spans: the table of distances, the same for each head
  float* span_biases = nullptr;  // [L, R, H]; null of dynamic spans
  float* span_logits = nullptr;  // [L, T, H] of dynamic spans; rows of a layer: span_rows
  std::int64_t span_rows = 0;    // T
  // Gradients; training only.
  kernels::Values dkey_value;           // [K, 2C]
  float* dweight = nullptr;             // [R, C]
  float* dbias = nullptr;               // [R, H]
  float* dby_head = nullptr;            // [H, C]; of spans [H, H]
  float* span_slopes = nullptr;         // [L, R, H]: what a gradient of span_biases is for that of z
  float* span_loss_gradient = nullptr;  // [L, H] of a pass; of dynamic spans one number, of any logit's span
  float* dspan_logits = nullptr;        // [T, H]
  CompressiveActivations compressive;
  KeyWeightActivations weighing;
};

// What sorts tokens into chunks (attention_clusters.h), of all layers; all null of other models.
struct ClusterActivations {
  float* rotations = nullptr;     // [L, H, hashes, columns, D]
  std::int32_t* order = nullptr;  // [L, H, places]; one of all layers where none is kept
  std::int64_t rotations_of_layer = 0, order_of_layer = 0;

  ClusterActivations of_layer(std::int64_t layer) const {
    if (rotations == nullptr) return *this;
    return {rotations + layer * rotations_of_layer, order + layer * order_of_layer, 0, 0};
  }
};

// Where tokens go (attention_routing.h), of all layers; all null of other models. `kinds`: queries, and keys
// where they are not the same. H are the routed heads.
struct RoutingActivations {
  float* centroids = nullptr;     // [L, H, k, D]
  std::int32_t* order = nullptr;  // [L, kinds, H, places]; one layer's of all where none is kept, as the next
  float* log_sum_exp = nullptr;   // [L, H, places]; this and the next in training
  std::int32_t* nearest = nullptr;  // [L, kinds, H, T]
  float* distances = nullptr;       // [L, kinds, H, T], of every layer
  float* weight = nullptr;          // [1] what a square weighs in the loss
  std::int64_t kinds = 1, centroids_of_layer = 0, places_of_layer = 0, tokens_of_layer = 0,
               distances_of_layer = 0;

  RoutingActivations of_layer(std::int64_t layer) const {
    RoutingActivations of = *this;
    if (order == nullptr) return of;
    of.centroids += layer * centroids_of_layer;
    of.order += layer * kinds * places_of_layer;
    if (log_sum_exp == nullptr) return of;
    of.log_sum_exp += layer * places_of_layer;
    of.nearest += layer * tokens_of_layer;
    of.distances += layer * distances_of_layer;
    return of;
  }
};

// Post-LN: input -> qkv -> context -> sum -> norm (the output). Pre-LN: input -> norm -> qkv -> context ->
// sum (the output).
struct AttentionActivations {
  // [T, 3C]; query and key after their rotation. Where queries are keys [T, 2C], queries and values.
  // BigBird-ETC: queries [T, C], then keys and values [T, 4C] or [T, 2C]; of a layer with a memory [T, C] and
  // [K, 2C].
  kernels::Values qkv;
  kernels::Values context;       // [T, C]
  float* log_sum_exp = nullptr;  // [H, T]; null in inference
  kernels::Values sum;           // [T, C]: input + dropout(output product)
  kernels::Values norm;          // [T, C]
  NormState norm_state;          // null in inference
  RotaryTable rotations;
  GlobalActivations global;
  WindowedActivations windowed;
  EtcActivations etc;
  RowsActivations lists;
  RecurrentActivations recurrent;
  ClusterActivations clusters;
  RoutingActivations routing;
  float* relative_weight = nullptr;  // [R, C] what labels of distances are; null without, as the next
  float* relative_bias = nullptr;    // [R, H]
};

// The same order: input -> inner -> sum -> norm, or input -> norm -> inner -> sum.
struct FeedForwardActivations {
  kernels::Values pre;    // [T, F] before gelu; null in inference. Of gated ones [T, 2F], there too
  kernels::Values inner;  // [T, F] of the forward pass alone; in training a part of the backward workspace
  kernels::Values sum;    // [T, C]
  kernels::Values norm;   // [T, C]
  NormState norm_state;
  bool keeps_inner = false;  // inner is the layer's own, there for the backward pass
};

struct LayerActivations {
  AttentionActivations attention;
  FeedForwardActivations feed_forward;
};

// The order of AttentionActivations; T' are the decoder's rows, T the encoder's.
struct CrossAttentionActivations {
  kernels::Values query;         // [T', C]
  kernels::Values key_value;     // [T, 2C]
  kernels::Values context;       // [T', C]
  float* log_sum_exp = nullptr;  // [H, T']; null in inference
  kernels::Values sum;           // [T', C]
  kernels::Values norm;          // [T', C]
  NormState norm_state;
};

struct DecoderLayerActivations {
  LayerActivations self;  // as a layer of the encoder; its feed-forward part reads what `cross` gives
  CrossAttentionActivations cross;
};

// Of a model with a stem (stem.h); T' are single tokens, T rows.
struct StemActivations {
  std::int32_t* rows = nullptr;        // [kernel, T']
  kernels::Values pre, activated;      // [T', channels]
  kernels::Values gradient;            // [T', channels]; training only
  kernels::Values tokens_pre, tokens;  // [T', C]; of a head of masked tokens
  kernels::Values dtokens;             // [T', C]; training only
};

struct EmbeddingActivations {
  std::int32_t* ids = nullptr;           // [T]
  std::int32_t* types = nullptr;         // [T]
  std::int32_t* positions = nullptr;     // [T]
  float* word_scales = nullptr;          // [T] of token dropout; null without
  std::int32_t* updated_rows = nullptr;  // [T] ids of the rows that backward adds to; null in inference
  std::int32_t* orders = nullptr;        // [3, T] embedding_orders(); null where a backend takes none
  kernels::Values sum;                   // [T, C] what the LayerNorm reads; null without one
  kernels::Values offsets;               // [T, C] of Batch::embedding_offsets; null in models without
  StemActivations stem;
  NormState norm_state;
};

// Of the last layer, where it is computed at the rows alone that the head reads (head_rows.h); else null. R
// are at most most_head_rows().
struct HeadRowActivations {
  std::int32_t* tokens = nullptr;  // [R] their numbers in the batch
  kernels::Values input;           // [R, C] the layer's input
  kernels::Values context;         // [R, C] what its attention gave
};

// Masked rows only: M of them, with what masked_rows_of_pass() (pass.h) adds.
struct MaskedActivations {
  std::int32_t* rows = nullptr;         // [M]
  std::int32_t* labels = nullptr;       // [M]
  std::int32_t* predictions = nullptr;  // [M]
  kernels::Values gathered;             // [M, C]
  kernels::Values transform_pre;        // [M, C]
  kernels::Values transform;            // [M, C]
  kernels::Values norm;                 // [M, C]
  NormState norm_state;
  // [M, V], or in pieces of [logit_rows, V]; fp32 in inference; backward turns them into their gradient
  kernels::Values logits;
  std::int64_t logit_rows = 0;
  bool logits_in_pieces = false;  // their gradient is then taken in the forward pass
  float* losses = nullptr;        // [M]
};

struct PooledActivations {
  kernels::Values linear;  // [B, C] before tanh
  kernels::Values pooled;  // [B, C]
};

struct ClassificationActivations {
  kernels::Values dense_pre;  // [B, C] before gelu
  kernels::Values dense;      // [B, C] after gelu and dropout
};

// TokenTargets on the device; there are at most B groups.
struct TokenTargetActivations {
  std::int32_t* rows = nullptr;     // [T]
  std::int32_t* right = nullptr;    // [T]
  std::int32_t* offsets = nullptr;  // [B + 1]
  std::int32_t* parts = nullptr;    // [B] of the groups
  float* losses = nullptr;          // [B] of the groups
};

// Rows are tokens, so that the block works as a layer of the encoder does.
struct QuestionActivations {
  kernels::Values input;           // [T, C] after dropout; this and the block null in a plain head
  FeedForwardActivations block;    // sum and norm [T, C]
  float* penalty = nullptr;        // [T]: what is added to the logits of the question
  float* start = nullptr;          // [T] logits
  float* end = nullptr;            // [T]
  kernels::Values dstart, dend;    // [T] their gradients; null in inference
  std::int32_t* labels = nullptr;  // [2B]: starts, then ends
  float* losses = nullptr;         // [2B]
  std::array<TokenTargetActivations, 2> targets;  // several right starts and ends
};

// Of N pairs of sentences: the contexts, then the targets.
struct ContrastActivations {
  std::int32_t* rows = nullptr;         // [2N]
  kernels::Values gathered, projected;  // [2N, C]
  kernels::Values gradient;             // [2N, C] of `projected`, made on the host; training only
};

// One score of every token.
struct TokenScoreActivations {
  float* logits = nullptr;  // [T]
  kernels::Values dlogits;  // [T]; null in inference
  TokenTargetActivations targets;
};

// One row per sequence, at its first token; of a model that pools B are the outputs of a batch.
struct SequenceActivations {
  std::int32_t* rows = nullptr;         // [B]; of spans the first rows
  std::int32_t* row_counts = nullptr;   // [B]; null where the head reads no spans
  std::int32_t* labels = nullptr;       // [B]
  std::int32_t* predictions = nullptr;  // [B]
  kernels::Values gathered;             // [B, C]; classification: after dropout
  float* logits = nullptr;              // [B, classes]
  kernels::Values dlogits;              // [B, classes]; null in inference
  float* targets = nullptr;             // [B, classes]; multi-label and regression only
  float* losses = nullptr;              // [B]
};

// Gradients on their way down; training only.
struct BackwardWorkspace {
  // [T, C], of two streams [T, 2C]: gradient of a layer's output, then of its input
  kernels::Values gradient;
  kernels::Values branch;  // [T, C], of two streams [T, 2C]
  kernels::Values wide;    // [T, max(F, 4C)], of what products and attention alone read

  // What the gradient of a branch's input is added to, of pre-LN; null: `gradient`.
  kernels::Values other = nullptr;

  kernels::Values of_input() const { return other == nullptr ? gradient : other; }
  // Its place for a gradient as a head has them, [T, C] at most.
  kernels::Values wide_of_stream() const { return {wide.data(), gradient.type()}; }
};

// A decoder's own; its rows are T'.
struct DecoderActivations {
  EmbeddingActivations embeddings;
  std::vector<kernels::Values> states;  // as the encoder's
  std::vector<DecoderLayerActivations> layers;
  kernels::Values final_norm;
  NormState final_norm_state;
  std::int32_t* labels = nullptr;       // [T']
  std::int32_t* predictions = nullptr;  // [T']
  float* losses = nullptr;              // [T']
  // [T', V], or in pieces of [logit_rows, V]; fp32 in inference; backward turns them into their gradient
  kernels::Values logits;
  std::int64_t logit_rows = 0;
  bool logits_in_pieces = false;  // their gradient is then taken in the forward pass
  BackwardWorkspace workspace;
  kernels::Values key_value_gradient;  // [T, 2C]; training only

  kernels::Values last_hidden_state() const { return final_norm == nullptr ? states.back() : final_norm; }
};

// HIBERT's second encoder; its S rows are the sentences of a batch.
struct DocumentActivations {
  std::int32_t* ends = nullptr;         // [S] the row of the last token of each
  std::int32_t* places = nullptr;       // [S] 0.. within a document
  std::int32_t* target_rows = nullptr;  // [T'] the sentence that a decoder's row is given
  kernels::Values placed;               // [S, C] sinusoids of the places
  std::vector<kernels::Values> states;  // [L + 1]
  std::vector<LayerActivations> layers;
  BackwardWorkspace workspace;

  kernels::Values last_state() const { return states.back(); }
};

// What changes from pass to pass and is read on the device, so that recorded work can run again.
struct Scalars {
  std::uint64_t* dropout_seed = nullptr;
  float* loss_scales = nullptr;  // a LossScale

  const float* scale(Loss loss) const { return loss_scales + static_cast<std::size_t>(loss); }
};

struct Activations {
  Scalars scalars;
  EmbeddingActivations embeddings;
  RotaryTable rotations;
  WindowedActivations windowed;
  EtcActivations etc;
  RowsActivations lists;
  RecurrentActivations recurrent;
  ClusterActivations clusters;
  RoutingActivations routing;
  ReversibleActivations reversible;
  std::vector<kernels::Values> states;  // [L + 1]: the input of every layer, then the output of the last
  std::vector<LayerActivations> layers;
  HeadRowActivations head_rows;  // with them [T, ...] behind the last layer's attention is [R, ...]
  kernels::Values final_norm;    // [T, C]; null without a final LayerNorm
  NormState final_norm_state;
  SequenceActivations sequence;
  MaskedActivations masked;  // each filled for the heads that have it
  PooledActivations pooled;
  ClassificationActivations classification;
  QuestionActivations question;
  ContrastActivations contrast;
  std::vector<TokenScoreActivations> answers;  // one for each of ModelConfig::token_scores
  DecoderActivations decoder;
  DocumentActivations documents;
  float* sinusoids = nullptr;  // [positions, C] of PositionType::sinusoidal
  BackwardWorkspace workspace;

  // What the heads read.
  kernels::Values last_hidden_state() const { return final_norm == nullptr ? states.back() : final_norm; }
};

Activations plan_activations(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                             const ModelOptions& options, const kernels::Backend& backend);

// Zeros behind the parameters, for products over padded rows of logits, which read the bias of the
// vocabulary, one of the last, as if it had so many more (Linear::out_stride). The word table, the first of
// all, has the parameters behind it in their place.
std::int64_t floats_behind_parameters(const ModelConfig& config, const kernels::Backend& backend);

// All that a model holds on the device beside the backend's own.
struct ModelMemory {
  float* parameters = nullptr;
  float* gradients = nullptr;       // null in inference
  void* working_weights = nullptr;  // null where the backend reads the parameters themselves
  Activations activations;
};
ModelMemory plan_model(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                       const ModelOptions& options, const kernels::Backend& backend);

// Bytes of the arena that it takes.
std::size_t model_bytes(const kernels::Backend& backend, const ModelConfig& config, const BatchLimits& limits,
                        const ModelOptions& options);

// A piece of device memory with an owner, which releases it.
class DeviceMemory {
 public:
  DeviceMemory(kernels::Backend& backend, std::size_t bytes)
      : backend_(backend), memory_(static_cast<std::byte*>(backend.allocate(bytes))) {}
  ~DeviceMemory() { backend_.release(memory_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  std::byte* bytes() const { return memory_; }

 private:
  kernels::Backend& backend_;
  std::byte* memory_;
};

}  // namespace bigbird
