// lib/model holds what a model is: config.h, and here its attention; below plans, network and folder. The
// systems are one table: files, options, help, documents and `bigbird attention --compare` follow it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/feature_batch.h"

namespace bigbird {

struct ModelConfig;
using kernels::FeatureMap;

// What a row sees. Most are block plans alone; sparse_strided, longformer, etc, transformer_xl,
// adaptive_span, compressive and routing's local heads have rules for pairs of tokens as well
// (lib/model/plans/token_pairs.h), bpt has lists for every token alone (partition_lists.h).
enum class AttentionPattern {
  bigbird,         // ITC (paper section 2 and Fig. 1): global first and last block, window of 3, r random
  full,            // every block
  window,          // window of 3 only
  random,          // r random only, plus the row's own block
  window_random,   // window of 3 and r random, no global blocks
  star,            // the graph of the paper's Definition 1: block 0 sees all and is seen by all
  blockbert,       // Qiu et al. 2020: parts of a sequence, each of which sees one part, by head
  sparse_fixed,    // Child et al. 2019, fixed: the own chunk, and the last columns of every chunk
  sparse_strided,  // Child et al. 2019, strided: a band of tokens, and every l-th token from the own one on
  longformer,      // Beltagy et al. 2020: a window of tokens, and global tokens with projections of their own
  etc,             // BigBird-ETC, Ainslie et al. 2020: two inputs, long and global, and labels of pairs
  bpt,             // BP-Transformer, Ye et al. 2019: tokens and the spans of a binary tree over them
  transformer_xl,  // Dai et al. 2019: left to right, over a memory of earlier segments, by distances
  adaptive_span,   // Sukhbaatar et al. 2019: as far back as every head has learned to look
  compressive,     // Rae et al. 2019: transformer_xl, whose memory is compressed when it is full
  performer,       // Choromanski et al. 2020: every token, by products of random features
  reformer,        // Kitaev et al. 2020: tokens that random rotations hash to neighbouring buckets
  routing,         // Roy et al. 2021: tokens near the same centroid; other heads a window of tokens
};

// What the options of a system are, one struct for each that has any. A model has those of its own system;
// the others are left at their defaults, and in no file.
struct BlockBertOptions {
  std::int64_t parts = 2;
  // Shares of the heads: the first sees its own part, the next the part after it, and so on. Empty: the
  // published ones (10:2; from 3 parts on all but one each of 12), rounded to the heads there are.
  std::vector<std::int64_t> head_split;
  bool operator==(const BlockBertOptions&) const = default;
};

enum class HeadsAs {
  merged,  // every head sees both sets: its chunk and the summary, or its band and the stride
  split,   // the first half of the heads, rounded up, sees the first set, the others the second
  layers,  // even layers see the first set, odd ones the second
};

struct SparseOptions {
  std::int64_t stride = 128;          // tokens of a chunk, or of one side of the band with the token itself
  std::int64_t summary = 0;           // tokens of its summary; 0: one block
  std::int64_t summary_patterns = 1;  // heads take turns between so many groups of columns
  HeadsAs heads_as = HeadsAs::merged;
  bool operator==(const SparseOptions&) const = default;
};

// Which tokens of a sequence are global where no number of first ones is given.
enum class GlobalRule {
  task,  // those that transformers takes by default: for classes the first token, for answers the question,
         // else none
  none,
  question,  // those before the first separator, but at least the first token
};

struct LongformerOptions {
  // Tokens of the window beside the token itself, half of them on each side; of every layer, or one for each.
  std::vector<std::int64_t> windows{512};
  std::int64_t global_first = 0;  // so many first tokens of a sequence are global; 0: what the rule says
  GlobalRule global_rule = GlobalRule::task;
  // Of the last dilated_heads heads the window has every m-th token, m of every layer, or one for each.
  std::vector<std::int64_t> dilations{1};
  std::int64_t dilated_heads = 0;
  bool operator==(const LongformerOptions&) const = default;
};

enum class EtcProjections {
  separate,  // queries of both inputs; keys and values for each of the four pairs of inputs
  by_query,  // keys and values by the input whose queries read them (share_kv_projections of etcmodel)
  shared,    // one query, key and value for all (share_qkv_projections)
};

struct EtcOptions {
  std::int64_t radius = 84;    // a long token sees so many tokens on each side
  std::int64_t distance = 12;  // the largest one with a label of its own; 0: no labels
  std::int64_t labels = 0;     // rows of each table of labels; 0: 2 distance + 8
  std::int64_t globals = 256;  // global tokens of a sequence at most
  // Where no sentences are known, so many tokens share a global one.
  std::int64_t stretch = 32;
  EtcProjections projections = EtcProjections::separate;
  bool shared_output = false;       // one output projection of attention for both inputs
  bool shared_feed_forward = true;  // one feed-forward part with its LayerNorm
  bool hard_g2l = false;            // a global token sees the long tokens alone that it is linked to,
  bool hard_l2g = false;            // and a long token those global ones
  bool cpc = false;                 // projections for predicting masked sentences
  static constexpr std::int64_t most_labels = 256;
  bool operator==(const EtcOptions&) const = default;
};

struct BptOptions {
  std::int64_t contextual = 4;   // nodes that a token sees on each side of every level
  std::int64_t clip_levels = 5;  // levels from this one on share their labels
  bool operator==(const BptOptions&) const = default;
};

struct RecurrentOptions {
  // Last inputs of a layer that its next segment sees; 0: none. Of compressive as well, not the others.
  std::int64_t memory = 512;
  std::int64_t clamp = 0;    // larger distances count as this one; 0: none does
  bool same_length = false;  // every token sees as many as the memory holds, its own among them
  bool untie = false;        // biases of content and of distance in every layer, not one pair for all
  bool operator==(const RecurrentOptions&) const = default;
};

// What becomes of rows that a full memory has no place for.
enum class Compression {
  conv,       // a learned product of each window of rows
  dilated,    // three of them one after another, over rows 1, 2 and 4 apart
  mean,       // of each window
  max,        // of each window, column by column
  most_used,  // those rows that had the most weight
};

struct CompressiveOptions {
  std::int64_t compressed = 512;  // compressed rows of a layer that its next segment sees
  std::int64_t rate = 2;          // rows that one is made of
  Compression compression = Compression::conv;
  bool operator==(const CompressiveOptions&) const = default;
};

struct SpanOptions {
  std::int64_t max_span = 1024;  // S: no head sees further back; and what a layer's memory holds
  std::int64_t ramp = 32;        // R: distances over which a weight falls from 1 to 0
  double span_loss = 2e-6;       // what a token of mean span adds to the loss, for each layer
  bool dynamic = false;          // every token has spans of its own, made of its input
  bool operator==(const SpanOptions&) const = default;
};

// Where the rows of W come from (lib/model/network/random_features.h).
enum class FeatureProjection {
  usual,     // gauss for the two maps of softmax, none for the others
  gauss,     // orthogonal rows of square blocks, as long as rows of normal numbers are
  givens,    // the same of random rotations of pairs of axes
  hadamard,  // the same of Hadamard matrices and random signs
  iid,       // normal numbers
  none,      // the maps take queries and keys themselves
};

struct PerformerOptions {
  std::int64_t features = 256;  // M, rows of W
  FeatureMap kernel = FeatureMap::positive;
  FeatureProjection projection = FeatureProjection::usual;
  std::int64_t redraw = 1000;  // updates between two draws of W in training; 0: it stays
  bool operator==(const PerformerOptions&) const = default;
};

struct ReformerOptions {
  std::int64_t chunk = 64;  // sorted tokens that see each other, and those of the chunk before
  std::int64_t hashes = 2;  // rounds, each with rotations of its own
  // Buckets of a round, or two factors of them; even numbers. Empty: by the length, as transformers does.
  std::vector<std::int64_t> buckets = {};
  // Two streams, each of which a half of a layer changes, and which a way back computes again.
  bool reversible = false;
  static constexpr std::int64_t most_hashes = 64;
  static constexpr std::int64_t most_buckets = std::int64_t{1} << 20;  // of a round, their product
  bool operator==(const ReformerOptions&) const = default;
};

struct RoutingOptions {
  std::int64_t clusters = 8;        // k, of every routed head
  std::int64_t window = 512;        // w, tokens of one, those nearest to its centroid
  std::int64_t local_heads = -1;    // heads that see a window instead, the first ones; -1: half of them
  std::int64_t local_window = 256;  // tokens that these see on each side
  double commitment = 1e-4;         // part of the loss for tokens' distances from their centroids
  double decay = 0.999;             // of the moving averages that centroids are
  bool operator==(const RoutingOptions&) const = default;
};

struct AttentionOptions {
  BlockBertOptions blockbert = {};
  SparseOptions sparse = {};
  LongformerOptions longformer = {};
  EtcOptions etc = {};
  BptOptions bpt = {};
  RecurrentOptions recurrent = {};
  CompressiveOptions compressive = {};
  SpanOptions spans = {};
  PerformerOptions performer = {};
  ReformerOptions reformer = {};
  RoutingOptions routing = {};
  bool operator==(const AttentionOptions&) const = default;
};

// An option of a system: "head_split" of bigbird.attention_options in config.json, and, with dashes, of the
// command line.
struct AttentionOption {
  // In JSON a whole number, an array of them, a text, a text that is one of `names` or "first:N", and a
  // number.
  enum class Type { count, counts, name, first, number };

  const char* key;
  const char* value;  // what --help calls its value
  const char* help;
  const char* otherwise;  // the default, in words
  Type type = Type::count;
  std::int64_t least = 1, most = 1;  // of a count, of each of several, and of a number
  std::vector<const char*> names;    // that a name may be
  // As a model has it, with the default made out: "128", "10:2", "merged".
  std::string (*shown)(const ModelConfig& config);
  // Of a text that has been checked against the above.
  void (*set)(AttentionOptions& options, const std::string& text);

  std::string flag() const;  // the key as it is typed
  // Puts a text as it is typed into the options. Error{usage} naming `where` for one that is none.
  void parse(AttentionOptions& options, const std::string& typed, const std::string& where) const;
};

struct AttentionSystem {
  AttentionPattern pattern;
  const char* name;    // as typed, and in config.json
  const char* family;  // whose it is
  const char* sees;    // what a query sees, for the documents
  bool random;         // draws random blocks (num_random_blocks, random_mode)
  // Its lists are those of the tokens that a sequence has, so that padding more changes nothing; the others'
  // are those of the padded length (docs/specification.md 1.2).
  bool by_own_length;
  bool causal;  // has a left-to-right form
  bool cuda;    // computed on CUDA devices too
  std::vector<AttentionOption> options;
};

const std::vector<AttentionSystem>& attention_systems();
const AttentionSystem& system_of(AttentionPattern pattern);

// Names as typed on the command line and stored in files; parse_* throws Error{usage} listing the names.
std::string name_of(AttentionPattern pattern);
AttentionPattern parse_attention_pattern(const std::string& name);
// "bigbird, full, ... or sparse-fixed".
std::string attention_system_names();
// Rows of each table of labels of a model of BigBird-ETC; 0 without labels.
std::int64_t etc_labels(const EtcOptions& options);

// Whether the layers of a model read what came before, by distances: of Transformer-XL, Adaptive-Span and
// Compressive Transformer (lib/model/network/attention_recurrent.h).
bool is_recurrent(const ModelConfig& config);
// Whether every head has a span of its own (lib/model/network/adaptive_span.h), and whether it has another
// for every token.
bool has_spans(const ModelConfig& config);
bool has_dynamic_spans(const ModelConfig& config);
// Whether what a memory has no place for is compressed (lib/model/network/compressive.h), and whether how is
// learned.
bool compresses(const ModelConfig& config);
bool learns_compression(const ModelConfig& config);
// Of a layer's last inputs so many are remembered, compressed ones too.
std::int64_t remembered_rows(const ModelConfig& config);
// Keys at most so many rows before a query, within a segment and of what is remembered; -1: all. Of spans the
// longest that they may become.
std::int64_t rows_before(const ModelConfig& config);
// Of performer: where its projection comes from, and its rows, as many as a head has columns without one.
FeatureProjection feature_projection(const ModelConfig& config);
std::int64_t projected_features(const ModelConfig& config);
// Numbers that a query or a key becomes.
std::int64_t features_of_a_row(const ModelConfig& config);
// A token of a layer, over all heads: its features, what it adds to the sums, and what it takes of them.
std::int64_t feature_multiply_adds(const ModelConfig& config);
// Of reformer: chunks of a round; the tokens of one all see each other.
std::int64_t reformer_chunks(const ModelConfig& config, std::int64_t length);
// The factors of the buckets of a sequence of so many tokens; the second is 0 where there is one.
std::array<std::int64_t, 2> reformer_buckets(const ModelConfig& config, std::int64_t length);
// Keys that a query of such a sequence meets, over all rounds and with repeats; and what a token takes in a
// layer, over all heads: its buckets, scores and weighted values.
std::int64_t reformer_keys(const ModelConfig& config, std::int64_t length);
std::int64_t reformer_multiply_adds(const ModelConfig& config, std::int64_t length);
// Of routing: heads with a window, the first ones, and the others.
std::int64_t local_heads(const ModelConfig& config);
std::int64_t routed_heads(const ModelConfig& config);
// Pairs of a routed head in such a sequence, cluster by cluster; and what a token takes in a layer, over all
// heads, for centroids, scores and weighted values, beside its local heads.
std::int64_t routed_pairs(const ModelConfig& config, std::int64_t length);
std::int64_t routing_multiply_adds(const ModelConfig& config, std::int64_t length);
// Whether a model has two streams of states (lib/model/network/reversible.h), and the columns that its heads
// read: of both.
bool is_reversible(const ModelConfig& config);
std::int64_t head_width(const ModelConfig& config);
// Whether queries are keys as well, so that a layer has one projection for both.
bool shares_queries(const ModelConfig& config);
// What a fresh model has. Recurrent ones: post-LN as published, no positions, no biases of projections;
// Transformer-XL vectors of tokens times the root of the width. Reformer and Routing Transformer: pre-LN, no
// biases of projections.
void become_recurrent(ModelConfig& config);
void become_prenorm(ModelConfig& config);
// The same by its attention; others stay as they are.
void become_published(ModelConfig& config);

// The options of a model's attention as "parts 2, head_split 10:2"; empty where its system has none.
std::string attention_options_text(const ModelConfig& config);

// Of blockbert: how many heads have each shift, together num_attention_heads; and what keeps the model's
// head_split from that, empty where nothing does.
std::vector<std::int64_t> blockbert_heads(const ModelConfig& config);
std::string blockbert_obstacle(const ModelConfig& config);
// Of sparse-fixed: tokens of the summary.
std::int64_t sparse_summary(const ModelConfig& config);
// Of longformer: the window of a layer, and how far apart its tokens are in dilated heads.
std::int64_t longformer_window(const ModelConfig& config, std::int64_t layer);
std::int64_t longformer_dilation(const ModelConfig& config, std::int64_t layer);
// Of longformer, with the rule of the model's task made out: so many first tokens, or those of the question.
struct LongformerGlobals {
  std::int64_t first = 0;
  bool question = false;

  bool any() const { return first > 0 || question; }
};
LongformerGlobals longformer_globals(const ModelConfig& config);

}  // namespace bigbird
