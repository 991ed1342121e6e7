// The oldest models of DNA beside an evaluation: each base given the K before it, K from 1 to 12, counted in
// the documents of training shards and read in those of held-out ones, whatever their tokens are. Of the base
// b after a context c of K bases, with c' its last K - 1 ones:
//
//   p_K(b | c) = (count(c b) + T(c) p_{K-1}(b | c')) / (count(c) + T(c))
//
// T(c): how many different bases were seen after c; p_{-1} is 1/4, and a context that was never seen leaves
// p_{K-1} as it is. Source: Witten and Bell 1991, method C, interpolated as Chen and Goodman 1998 have it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "lib/data/token_shards.h"

namespace bigbird {

class Tokenizer;

class MarkovModels {
 public:
  static constexpr int highest_order = 12;
  // A counter of 4 bytes for each context and base of each order: 358 MB, of which memory is taken where
  // something is counted.
  static constexpr std::uint64_t bytes = ((std::uint64_t{1} << (2 * highest_order + 4)) - 4) / 3 * 4;

  MarkovModels();

  // Letters of one strand; any other than A, C, G and T has no base, and ends the contexts. Letters after
  // what came before in the same document, which break_context() ends.
  void count(std::string_view letters);
  void break_context();
  // The tokens of NgramModel (evaluator.h) as bases; specials and [UNK] break the context.
  void count(const TokenShards& shards, const Tokenizer& tokenizer, std::uint64_t max_tokens,
             std::uint64_t seed);
  // That were counted.
  std::uint64_t bases();

  // Sums over the bases of all documents; [K] for orders from 0 to 12.
  struct Bits {
    std::array<double, highest_order + 1> bits{};
    std::uint64_t bases = 0;
    double per_base(int order) const {
      return bits[static_cast<std::size_t>(order)] / static_cast<double>(bases);
    }
    int best_order() const;  // from 1 on, of the fewest bits; the lower one of equals
  };
  // Where fewer than K bases stand before a base, it is given these.
  Bits score(const TokenShards& shards, const Tokenizer& tokenizer);
  Bits score(const std::vector<std::string_view>& documents);

 private:
  struct Freed {
    void operator()(std::uint32_t* counters) const { std::free(counters); }
  };
  // Of order K: [4^K contexts, 4 bases].
  using Counters = std::unique_ptr<std::uint32_t[], Freed>;

  void append(std::string_view letters);
  void flush();
  void add_bits(Bits& sums) const;

  std::array<Counters, highest_order + 1> counters_;
  std::vector<std::uint8_t> codes_;  // 0 to 3, or a break; not counted yet, from the end of a document on
  std::uint64_t bases_ = 0;
};

}  // namespace bigbird
