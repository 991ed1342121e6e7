// What attention is as a graph of tokens, and what a layer of it costs: the columns of
// `bigbird attention --compare` (docs/specification.md 1.11).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/config.h"

namespace bigbird {

// Of the undirected simple graph of tokens: an edge where either sees the other, no loops, and all pairs
// within a block.
struct TokenGraph {
  std::int64_t tokens = 0;
  double mean_degree = 0;
  // Mean over tokens of the share of pairs of neighbours that are neighbours (Watts and Strogatz 1998); 0
  // where a token has fewer than two.
  double clustering = 0;
  // Shortest paths between tokens; pairs without one are counted and left out of the mean.
  double mean_path = 0;
  std::int64_t longest_path = 0;
  std::int64_t unreachable_pairs = 0;  // unordered
  // Of the random walk's eigenvalues 1 = l_1 >= l_2 >= ... >= l_n: 1 - l_2, and 1 - max(|l_2|, |l_n|).
  double gap = 0;
  double two_sided_gap = 0;
};

// rows[i] = key blocks of query block i. Exact; dense in the blocks: n^2 / 8 bytes for bits, n^3 / 64
// operations on words of them, and, up to 512 blocks, n^3 for all eigenvalues, of more only the ends of their
// spectrum are sought. With a block_size of 1 these are tokens: some seconds for 4,096.
TokenGraph token_graph(const std::vector<std::vector<std::int32_t>>& rows, std::int64_t block_size);

// Layers after which every token can have met every other, each layer one step along the edges of all its
// heads beside what a token keeps of itself: layers[k][head] = rows. Once the last is used, the layers are
// taken from the first again. 0: never.
std::int64_t layers_to_connect(const std::vector<std::vector<std::vector<std::vector<std::int32_t>>>>& layers,
                               std::int64_t block_size);

// A layer of a system at one length, in whole blocks. Systems that decide by tokens (token_pairs.h) are
// counted and measured by tokens.
struct AttentionFacts {
  std::int64_t tokens = 0;  // of the sequence; BigBird-ETC has global ones besides, bpt nodes of spans
  std::string full_reason;  // why attention is full at this length; empty where it is not
  // Keys that a query sees in a head, each once (of bpt: that a token sees), and pairs over all heads. Of
  // layers that differ the mean of all, or, where they differ in turn (HeadsAs::layers), of two.
  double mean_keys = 0;
  std::int64_t most_keys = 0;
  double visible_pairs = 0;
  // For scores and weighted values, 2 hidden_size a pair and over the heads; repeats count.
  double multiply_adds = 0;
  // Keys and values in fp32 that the blocks of queries read, and what the scores would take if they were kept
  // (the kernels keep one number a query instead).
  double bytes_read = 0;
  double bytes_of_scores = 0;
  std::int64_t layers = 0;  // layers_to_connect(), of bpt of the tokens
  TokenGraph head;          // of the first head
  TokenGraph all_heads;     // of all heads of the layer, of layers that differ of all layers
};
AttentionFacts attention_facts(const ModelConfig& config, std::int64_t blocks);

// shares[query block][key block]: of the pairs of their tokens, over all heads of a layer, how many meet,
// within 0 and 1. For pictures; in blocks of block_size tokens, of BigBird-ETC the global ones first.
std::vector<std::vector<double>> block_shares(const ModelConfig& config, std::int64_t layer,
                                              std::int64_t blocks);

}  // namespace bigbird
