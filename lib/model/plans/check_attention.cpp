// What an attention's options, and the model around it, have to be like; see patterns.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "kernels/types.h"
#include "lib/core/error.h"
#include "lib/model/plans/partition_lists.h"
#include "lib/model/plans/patterns.h"

namespace bigbird {
namespace {

// Entries of a list of rows are numbered in 32 bits.
constexpr std::int64_t most_entries = (std::int64_t{1} << 31) - 1;

[[noreturn]] void refuse_option(const std::string& where, const std::string& what, std::string hint) {
  throw_bad_input(where + ": " + what, std::move(hint));
}

void check_blockbert(const ModelConfig& config, const std::string& where) {
  const std::int64_t parts = config.attention_options.blockbert.parts;
  if (const std::string obstacle = blockbert_obstacle(config); !obstacle.empty()) {
    refuse_option(where, obstacle, "give one share for each part that is seen, fewer than there are heads");
  }
  const std::int64_t blocks = config.max_position_embeddings / config.block_size;
  if (parts > blocks) {
    refuse_option(where,
                  fmt::format("parts {} of at most {} blocks (max_position_embeddings {}, block_size {})",
                              parts, blocks, config.max_position_embeddings, config.block_size),
                  "a part is one block at least: take fewer parts, smaller blocks, or attention full");
  }
}

// Of both forms of the Sparse Transformer.
void check_stride(const ModelConfig& config, const std::string& where) {
  const SparseOptions& options = config.attention_options.sparse;
  if (options.stride >= config.max_position_embeddings) {
    refuse_option(where,
                  fmt::format("stride {} of max_position_embeddings {}", options.stride,
                              config.max_position_embeddings),
                  "inputs of one chunk take full attention: take a shorter stride, or attention full");
  }
  const bool fixed = config.attention == AttentionPattern::sparse_fixed;
  const char* const sets = fixed ? "the chunk and one for the summary" : "the band and one for the stride";
  if (options.heads_as == HeadsAs::split && config.num_attention_heads < 2) {
    refuse_option(where, "heads_as split with num_attention_heads 1",
                  fmt::format("a head for {} are needed: take merged or layers", sets));
  }
  if (options.heads_as == HeadsAs::layers && config.num_hidden_layers < 2) {
    refuse_option(where, "heads_as layers with num_hidden_layers 1",
                  fmt::format("a layer for {} are needed: take merged or split", sets));
  }
}

void check_sparse_strided(const ModelConfig& config, const std::string& where) {
  if (config.attention_options.sparse.stride < 2) {
    refuse_option(where, "stride 1 of sparse-strided",
                  "every token would see all: take a longer stride, or attention full");
  }
  check_stride(config, where);
}

void check_sparse_fixed(const ModelConfig& config, const std::string& where) {
  const SparseOptions& options = config.attention_options.sparse;
  const std::int64_t summary = sparse_summary(config);
  for (const auto& [key, tokens] : {std::pair{"stride", options.stride}, std::pair{"summary", summary}}) {
    if (tokens % config.block_size == 0) continue;
    refuse_option(where,
                  fmt::format("{} {} is not a multiple of block_size {}", key, tokens, config.block_size),
                  fmt::format("lists are of whole blocks: take {}, or a block_size that divides it",
                              (tokens / config.block_size + 1) * config.block_size));
  }
  if (summary * options.summary_patterns > options.stride) {
    refuse_option(
        where,
        fmt::format("summary_patterns {} of summary {} are more than the stride {}", options.summary_patterns,
                    summary, options.stride),
        "each pattern has its own tokens of a chunk: take fewer, a shorter summary or a longer stride");
  }
  if (summary == options.stride) {
    refuse_option(where, fmt::format("summary {} is the whole stride", summary),
                  "that is full attention: take a shorter summary or a longer stride");
  }
  check_stride(config, where);
}

void check_dilation(const ModelConfig& config, const std::string& where) {
  const LongformerOptions& options = config.attention_options.longformer;
  const auto given = static_cast<std::int64_t>(options.dilations.size());
  if (given != 1 && given != config.num_hidden_layers) {
    refuse_option(where,
                  fmt::format("dilation names {} numbers for {} layers", given, config.num_hidden_layers),
                  "give one number for all layers, or one for each");
  }
  if (options.dilated_heads > config.num_attention_heads) {
    refuse_option(where,
                  fmt::format("dilated_heads {} of num_attention_heads {}", options.dilated_heads,
                              config.num_attention_heads),
                  "the last heads are dilated: as many as there are at most");
  }
  const bool dilated = *std::max_element(options.dilations.begin(), options.dilations.end()) > 1;
  if (dilated == (options.dilated_heads > 0)) return;
  refuse_option(where,
                dilated ? fmt::format("dilation {} of no head", fmt::join(options.dilations, ":"))
                        : fmt::format("dilated_heads {} with dilation 1", options.dilated_heads),
                "dilation sets how far apart, dilated_heads in how many heads: give both, or neither");
}

void check_longformer(const ModelConfig& config, const std::string& where) {
  const std::vector<std::int64_t>& windows = config.attention_options.longformer.windows;
  const auto given = static_cast<std::int64_t>(windows.size());
  if (given != 1 && given != config.num_hidden_layers) {
    throw_bad_input(
        fmt::format("{}: window names {} windows for {} layers", where, given, config.num_hidden_layers),
        "give one window for all layers, or one for each");
  }
  for (const std::int64_t window : windows) {
    if (window < 2 || window % 2 != 0) {
      throw_bad_input(fmt::format("{}: a window of {} has no two halves", where, window),
                      "windows are even, 2 or more: half of one is on each side of a token");
    }
  }
  check_dilation(config, where);
  const std::int64_t globals = config.attention_options.longformer.global_first;
  if (globals < 0 || globals > config.max_position_embeddings) {
    throw_bad_input(fmt::format("{}: {} global tokens of at most {} positions", where, globals,
                                config.max_position_embeddings),
                    "fewer global tokens than a sequence has positions");
  }
}

void check_etc(const ModelConfig& config, const std::string& where) {
  const EtcOptions& options = config.attention_options.etc;
  if (options.distance == 0 && options.labels > 0) {
    throw_bad_input(
        fmt::format("{}: relative_labels is {}, but relative_distance is 0", where, options.labels),
        "without labels there are no tables of them: leave relative_labels out");
  }
  if (const std::int64_t least = 2 * options.distance + 3;
      options.distance > 0 && etc_labels(options) < least) {
    throw_bad_input(fmt::format("{}: relative_labels is {}: too small for relative_distance {}", where,
                                etc_labels(options), options.distance),
                    fmt::format("{} labels at least, {} for documents of several parts", least, least + 1));
  }
  if (etc_labels(options) > EtcOptions::most_labels) {
    throw_bad_input(
        fmt::format("{}: {} labels, of at most {}", where, etc_labels(options), EtcOptions::most_labels),
        "take a smaller relative_distance");
  }
  if (config.norm_type != NormType::postnorm || config.embedding_norm != EmbeddingNorm::before_dropout) {
    throw_bad_input(where + ": attention etc with other LayerNorms than BERT's",
                    "BigBird-ETC is post-LN, with a LayerNorm of the embeddings before dropout");
  }
  if (config.position_type == PositionType::rotary) {
    throw_bad_input(where + ": attention etc has no rotary positions",
                    "take positions none, which leaves them to the labels, or absolute ones");
  }
  if (config.head == HeadType::pretraining || config.has_decoder()) {
    throw_bad_input(fmt::format("{}: attention etc has no head {}", where, name_of(config.head)),
                    "its models learn masked tokens (masked_lm), or a task of text or DNA");
  }
  if (!config.use_bias || !config.output_bias || config.type_vocab_size < 2) {
    throw_bad_input(
        where + ": attention etc without biases of its projections, or with fewer than 2 token types",
        "BigBird-ETC has both; its files have 16 token types");
  }
}

void check_bpt(const ModelConfig& config, const std::string& where) {
  const BptOptions& options = config.attention_options.bpt;
  if (partition_labels(options) > kernels::most_labels) {
    throw_bad_input(
        fmt::format("{}: {} labels, of at most {}", where, partition_labels(options), kernels::most_labels),
        "take fewer contextual nodes, or a smaller clip_levels");
  }
  if (most_partition_entries(config.max_position_embeddings, config.max_position_embeddings, options) >
      most_entries) {
    throw_bad_input(fmt::format("{}: the lists of {} tokens with contextual {} have more than {} entries",
                                where, config.max_position_embeddings, options.contextual, most_entries),
                    "take fewer contextual nodes, or shorter sequences");
  }
  if (config.norm_type != NormType::postnorm || config.embedding_norm != EmbeddingNorm::after_dropout) {
    throw_bad_input(where + ": attention bpt with other LayerNorms than its own",
                    "BP-Transformer is post-LN, with a LayerNorm of the embeddings after dropout");
  }
  if (config.position_type != PositionType::none) {
    throw_bad_input(where + ": attention bpt has labels and no positions",
                    "take positions none: labels of pairs stand for distances");
  }
  if (config.has_decoder()) {
    throw_bad_input(fmt::format("{}: attention bpt has no head {}", where, name_of(config.head)),
                    "its models learn masked tokens, or a task of text or DNA");
  }
}

void check_recurrent(const ModelConfig& config, const std::string& where) {
  const RecurrentOptions& options = config.attention_options.recurrent;
  if (!config.causal) {
    throw_bad_input(
        fmt::format("{}: attention {} of a model that is not causal", where, name_of(config.attention)),
        message("it reads left to right: take `objective` clm, or another `attention`"));
  }
  if (config.position_type != PositionType::none) {
    throw_bad_input(fmt::format("{}: attention {} with {} positions", where, name_of(config.attention),
                                name_of(config.position_type)),
                    "distances between tokens stand for positions: take positions none");
  }
  if (config.norm_type != NormType::postnorm || config.use_bias) {
    throw_bad_input(fmt::format("{}: attention {} with {}", where, name_of(config.attention),
                                config.use_bias ? "biases of queries, keys and values"
                                                : "LayerNorms before the parts of a layer"),
                    has_spans(config)
                        ? "Adaptive-Span is post-LN, and its projections have no biases"
                        : "Transformer-XL is post-LN, and has biases of content and of distance instead");
  }
  if (config.has_decoder() || config.has_mlm()) {
    throw_bad_input(fmt::format("{}: attention {} has no head {}", where, name_of(config.attention),
                                name_of(config.head)),
                    "its models learn next tokens (causal_lm), or classes");
  }
  const CompressiveOptions& compressive = config.attention_options.compressive;
  if (compresses(config) && options.memory < compressive.rate) {
    refuse_option(where, fmt::format("memory {} with rate {}", options.memory, compressive.rate),
                  "a memory holds at least the tokens that one compressed row is made of");
  }
  if (options.same_length && options.memory == 0) {
    refuse_option(where, "same_length with memory 0", "with it a token sees as many as the memory holds");
  }
}

void check_performer(const ModelConfig& config, const std::string& where) {
  const FeatureProjection projection = feature_projection(config);
  const FeatureMap kernel = config.attention_options.performer.kernel;
  const bool of_softmax = kernel == FeatureMap::positive || kernel == FeatureMap::trigonometric;
  if (of_softmax && projection == FeatureProjection::none) {
    refuse_option(where, "projection none of a kernel of softmax",
                  "its features are of a random projection: take another one, or kernel relu or elu1");
  }
  if (projection == FeatureProjection::hadamard && (config.head_size() & (config.head_size() - 1)) != 0) {
    throw_bad_input(
        fmt::format("{}: projection hadamard with heads of {} columns", where, config.head_size()),
        "Hadamard matrices have a power of 2 of rows here: take another projection, or other heads");
  }
  if (config.has_decoder()) {
    throw_bad_input(fmt::format("{}: attention performer has no head {}", where, name_of(config.head)),
                    "its models learn masked or next tokens, or a task of text or DNA");
  }
}

void check_reformer(const ModelConfig& config, const std::string& where) {
  const std::vector<std::int64_t>& buckets = config.attention_options.reformer.buckets;
  const std::string typed = fmt::format("buckets {}", fmt::join(buckets, ":"));
  if (buckets.size() > 2)
    refuse_option(where, typed + " are more than two factors", "give their number, or two factors of it");
  if (std::any_of(buckets.begin(), buckets.end(), [](std::int64_t n) { return n < 2 || n % 2 != 0; })) {
    refuse_option(where, typed + " do not divide into halves",
                  "a rotation and its opposite give two buckets: take even numbers");
  }
  const std::int64_t hashes = config.attention_options.reformer.hashes;
  if (hashes > ReformerOptions::most_hashes) {
    refuse_option(where, fmt::format("hashes {} of at most {}", hashes, ReformerOptions::most_hashes),
                  "8 come close to full attention");
  }
  if (!buckets.empty() &&
      buckets[0] > ReformerOptions::most_buckets / (buckets.size() == 2 ? buckets[1] : 1)) {
    refuse_option(where, fmt::format("{} are more than {}", typed, ReformerOptions::most_buckets),
                  "take about two for a chunk of tokens");
  }
  if (config.use_bias) {
    throw_bad_input(where + ": attention reformer with biases of queries and values",
                    "Reformer has one projection for queries and keys, without biases: pretrain a fresh one");
  }
  if (is_reversible(config) && (config.norm_type != NormType::prenorm || config.has_stem())) {
    refuse_option(where, fmt::format("reversible with {}", config.has_stem() ? "a stem" : "post-LN layers"),
                  "two streams are pre-LN, of whole tokens: leave reversible off");
  }
  if (is_reversible(config) && config.predicts_next() && config.tie_word_embeddings) {
    throw_bad_input(where + ": reversible layers predict next tokens by the word table",
                    "two streams are wider than it: set tie_word_embeddings to false");
  }
  if (config.has_decoder()) {
    throw_bad_input(fmt::format("{}: attention reformer has no head {}", where, name_of(config.head)),
                    "its models learn masked or next tokens, or a task of text or DNA");
  }
}

void check_routing(const ModelConfig& config, const std::string& where) {
  const std::int64_t local = local_heads(config), heads = config.num_attention_heads;
  if (local >= heads) {
    refuse_option(where, fmt::format("local_heads {} of num_attention_heads {}", local, heads),
                  "leave at least one head to be routed");
  }
  if (config.has_decoder() || config.has_stem()) {
    throw_bad_input(
        fmt::format("{}: attention routing has no {}", where,
                    config.has_stem() ? std::string("stem") : fmt::format("head {}", name_of(config.head))),
        "its models learn masked or next tokens, or a task of text or DNA, token by token");
  }
}

std::string causal_system_names() {
  std::vector<std::string> names;
  for (const AttentionSystem& system : attention_systems()) {
    if (system.causal) names.emplace_back(system.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void check_causal(const ModelConfig& config, const std::string& where) {
  if (!system_of(config.attention).causal || config.random_mode == RandomMode::file) {
    throw_bad_input(fmt::format("{}: attention {} looks ahead, and a causal model does not", where,
                                name_of(config.attention)),
                    message("take an `attention` with a left-to-right form: {}", causal_system_names()));
  }
  if (config.attention == AttentionPattern::longformer && longformer_globals(config).any()) {
    throw_bad_input(where + ": global tokens of longformer look ahead, and a causal model does not",
                    message("take `global` none"));
  }
  if (config.has_stem())
    throw_bad_input(where + ": the filters of a stem look ahead, and a causal model does not",
                    message("leave `stem_stride` out"));
}

}  // namespace

void check_attention(const ModelConfig& config, const std::string& where) {
  if (config.attention == AttentionPattern::longformer) check_longformer(config, where);
  if (config.attention == AttentionPattern::etc) check_etc(config, where);
  if (is_recurrent(config)) check_recurrent(config, where);
  if (config.causal) check_causal(config, where);
  if (config.attention == AttentionPattern::bpt) check_bpt(config, where);
  if (config.attention != AttentionPattern::etc && config.attention != AttentionPattern::bpt &&
      !is_recurrent(config) && config.position_type == PositionType::none) {
    throw_bad_input(fmt::format("{}: attention {} without positions", where, name_of(config.attention)),
                    "take absolute or rotary positions: without them the order of tokens is lost");
  }
  if (config.attention == AttentionPattern::performer) check_performer(config, where);
  if (config.attention == AttentionPattern::reformer) check_reformer(config, where);
  if (config.attention == AttentionPattern::routing) check_routing(config, where);
  if (config.attention == AttentionPattern::blockbert) check_blockbert(config, where);
  if (config.attention == AttentionPattern::sparse_fixed) check_sparse_fixed(config, where);
  if (config.attention == AttentionPattern::sparse_strided) check_sparse_strided(config, where);
}

}  // namespace bigbird
