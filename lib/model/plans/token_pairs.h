// Which tokens meet, of systems that decide it token by token (decided_by_tokens()): each layer's groups of
// keys, one for each call of the network's attention. Pairs, keys of each query, graphs and pictures follow
// from the same groups, so that what is drawn is what is computed (docs/specification.md 1.12).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/types.h"
#include "lib/model/config.h"

namespace bigbird {

// Of attention bpt there are no groups: its lists (partition_lists.h) are asked for.
bool decided_by_tokens(AttentionPattern pattern);

// Tokens of a sequence as they are numbered here: global ones first, nodes of spans (bpt) last. Those of
// BigBird-ETC are an input of their own, as many as there are where no sentences are known; Longformer's are
// the sequence's first, as many as its rule says of all sequences: those of a question are up to the caller.
struct TokenNumbers {
  std::int64_t globals = 0;
  std::int64_t all = 0;
  std::int64_t stretch = 1;  // of BigBird-ETC: local tokens of one global token
  std::int64_t spans = 0;    // of bpt: nodes above the tokens, of `all`
};
TokenNumbers token_numbers(const ModelConfig& config, std::int64_t length);

enum class TokenKind : std::uint8_t { local, global, all };

// Keys of some queries in some heads: those of a kind, within distances, in one residue class, all at once.
// The groups of a head and a query have no key in common.
struct KeyGroup {
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
  TokenKind queries = TokenKind::local;  // not all
  TokenKind keys = TokenKind::local;
  std::int64_t step = 1;     // only tokens of equal numbers modulo it meet
  std::int64_t before = -1;  // keys at most so many of the class before the query, and after it; -1: any
  std::int64_t after = -1;
  bool itself = true;   // false: a query does not see its own key here
  bool linked = false;  // only local tokens and the global token of their stretch meet
  bool operator==(const KeyGroup&) const = default;
};
// Of attention routing those of its local heads. causal: the left-to-right form, in which nobody sees a later
// token; that of a config that is causal too.
std::vector<KeyGroup> key_groups(const ModelConfig& config, std::int64_t layer, bool causal = false);
// Of a layer's groups those of local queries over local keys: in a window, and in residue classes. One of
// each at most, the window's from head 0 on; no heads: there is none.
struct LocalGroups {
  KeyGroup window, classes;
  // Whether some head has both, which one softmax then runs over.
  bool merged() const { return window.heads > classes.first_head && classes.heads > 0; }
};
LocalGroups local_groups(const ModelConfig& config, std::int64_t layer, bool causal = false);

// Distances of the group as a kernel's rule, in rows of a window or of a residue class.
kernels::PairRule distances_of(const KeyGroup& group);

// The keys of a token in a group, ascending; none where the group has other queries.
std::vector<std::int32_t> keys_of(const KeyGroup& group, const TokenNumbers& tokens, std::int64_t query);
// Over all heads of a layer, pairs of a query and a key that meet.
std::int64_t visible_pairs(const ModelConfig& config, std::int64_t layer, std::int64_t length);
std::int64_t visible_pairs(const ModelConfig& config, std::int64_t layer, const TokenNumbers& tokens);

// Neighbouring heads that see the same.
struct TokenHeads {
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
  std::vector<std::vector<std::int32_t>> rows;  // rows[i] = keys of token i, ascending, each once
};
std::vector<TokenHeads> token_heads(const ModelConfig& config, std::int64_t layer, std::int64_t length,
                                    bool causal = false);

// How many pairs of a query in a block and a key in another meet, in one head; first by the group that is a
// window (of bpt: of tokens), then by all others: classes, global tokens, spans.
struct TokenCell {
  std::int32_t key_block = 0;
  std::int64_t in_window = 0;
  std::int64_t beyond = 0;
};
// cells[query block], ascending; cells without a pair are left out.
std::vector<std::vector<TokenCell>> token_cells(const ModelConfig& config, std::int64_t layer,
                                                std::int64_t head, std::int64_t length,
                                                std::int64_t block_size);

}  // namespace bigbird
