// A DNA tokenizer and token shards small enough for tests of seconds, with something to learn in them.
// Header-only: the including test links bigbird_data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/core/rng.h"
#include "lib/data/token_shards.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "tests/support/support.h"

namespace bigbird::testing {

// FOLDER/spiece.model with the letters and all sixteen pairs of ACGT: 26 pieces, ids 5..25 ordinary.
inline void write_tiny_tokenizer(const std::filesystem::path& folder, std::size_t learnt = 16) {
  std::filesystem::create_directories(folder);
  std::vector<std::string> pieces;
  for (const char a : std::string("ACGT")) {
    for (const char b : std::string("ACGT")) pieces.push_back({a, b});
  }
  pieces.resize(learnt);
  write_text(folder / "spiece.model", serialize_sentencepiece_model(make_dna_model(pieces, 8)));
}

struct TinyShards {
  std::size_t documents = 12;
  std::size_t sentences = 10;  // of every document
  std::size_t longest = 20;    // tokens of a sentence: longest / 2 to longest
  std::uint64_t seed = 1;
};

// A document uses five of the ordinary tokens, three times out of four in turn: so its other tokens, and the
// neighbour most of all, tell much about a token, and a document can be told from another.
inline void write_tiny_shards(const std::string& prefix, const std::filesystem::path& tokenizer_folder,
                              const TinyShards& shape = {}) {
  const auto tokenizer = load_tokenizer(tokenizer_folder.string());
  const auto ordinary = static_cast<std::uint32_t>(tokenizer->vocab_size()) - 5;
  TokenShardWriter writer(prefix, tokenizer->vocab_size());
  for (std::size_t d = 0; d < shape.documents; ++d) {
    CounterRng rng(shape.seed, Purpose::test, d);
    const auto first = static_cast<std::uint32_t>(5 * (d % 4));
    std::vector<std::uint32_t> ids;
    std::vector<std::uint32_t> lengths;
    std::uint64_t bases = 0;
    std::uint32_t turn = 0;
    for (std::size_t s = 0; s < shape.sentences; ++s) {
      const std::size_t length =
          shape.longest / 2 + static_cast<std::size_t>(rng.below(shape.longest / 2 + 1));
      for (std::size_t i = 0; i < length; ++i) {
        turn = rng.below(4) == 0 ? static_cast<std::uint32_t>(rng.below(5)) : (turn + 1) % 5;
        const std::uint32_t token = 5 + (first + turn) % ordinary;
        ids.push_back(token);
        bases += tokenizer->piece_length(token);
      }
      lengths.push_back(static_cast<std::uint32_t>(length));
    }
    writer.add_document(ids, lengths, bases);
  }
  writer.finish(tokenizer->digest(), nullptr);
}

}  // namespace bigbird::testing
