// The keys of one token at a time, of a model that reads left to right: what its layers' attention lets a
// token see of those before it, for a step that reads a token alone with keys and values of the others kept.
// The same pairs that the model's plans bring together in a pass over all tokens (docs/specification.md 1.10,
// 1.12): of a sequence of as many tokens as the model has positions, whatever the length of the text. A
// shorter one of sparse-fixed may take full attention there (PlanCache), which is the same to heads that have
// a chunk. Of a model with a memory (is_recurrent()) they are the pairs of a stream that is read in segments
// of one token: what is remembered, and of Transformer-XL the token itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/plans/token_pairs.h"

namespace bigbird {

// Whether attention of this system is known token by token, without anything but the tokens of the text.
bool has_causal_keys(AttentionPattern pattern);

class CausalKeys {
 public:
  // Neighbouring heads that see the same, by the number of their list.
  struct Heads {
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::size_t list = 0;
  };

  // Error{runtime} naming the system for a model that is not causal, or without has_causal_keys(). reaches:
  // of each layer with spans the largest distance that one of its heads sees; empty: as far as they may grow.
  explicit CausalKeys(const ModelConfig& config, std::span<const std::int64_t> reaches = {});

  // Of a layer, heads ascending, all of them.
  const std::vector<Heads>& heads(std::int64_t layer) const {
    return layers_[static_cast<std::size_t>(layer)];
  }
  // Different lists over all layers and heads.
  std::size_t lists() const { return lists_.size(); }
  // Appends the positions that token `query` sees, itself among them where it does, each once; there may be
  // none.
  void append(std::size_t list, std::int64_t query, std::vector<std::int32_t>& keys) const;

 private:
  // Every token, or those of blocks, or of groups, or so many before a token, with or without itself.
  struct List {
    bool all = false;
    std::int64_t before = -1;
    bool itself = false;
    std::vector<std::vector<std::int32_t>> blocks;  // [query block] -> key blocks
    std::vector<KeyGroup> groups;
    bool operator==(const List&) const = default;
  };

  // Heads that have the list of the heads before them are taken together with them.
  void add(std::int64_t layer, std::int64_t first, std::int64_t count, List list);

  ModelConfig config_;
  std::vector<List> lists_;
  std::vector<std::vector<Heads>> layers_;
};

}  // namespace bigbird
