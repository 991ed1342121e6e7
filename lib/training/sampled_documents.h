// Which tokens a baseline of an evaluation counts: those of documents in a random order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lib/core/rng.h"
#include "lib/data/token_shards.h"

namespace bigbird {

// Calls body(tokens, count) for documents in a random order keyed by the seed, of which the first `count` are
// taken, until max_tokens are (0: all).
template <typename Body>
void for_each_sampled_document(const TokenShards& shards, std::uint64_t max_tokens, std::uint64_t seed,
                               const Body& body) {
  std::uint64_t left = max_tokens == 0 ? shards.token_count() : std::min(max_tokens, shards.token_count());
  const RandomPermutation order(seed, Purpose::pretrain_order, 0, shards.document_count());
  for (std::uint64_t i = 0; i < shards.document_count() && left > 0; ++i) {
    const TokenView tokens = shards.document_tokens(order(i));
    const std::uint64_t count = std::min<std::uint64_t>(left, tokens.size());
    body(tokens, static_cast<std::size_t>(count));
    left -= count;
  }
}

}  // namespace bigbird
