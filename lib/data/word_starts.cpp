// Where words begin in a text vocabulary; see word_starts.h.
#include "lib/data/word_starts.h"

#include <algorithm>
#include <cstdint>

#include "lib/core/error.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

std::vector<bool> word_starts(const Tokenizer& tokenizer) {
  std::vector<bool> starts(tokenizer.vocab_size());
  for (std::uint32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    starts[id] = !tokenizer.is_special(id) && tokenizer.piece(id).starts_with(tokenizer.word_start());
  }
  if (std::find(starts.begin(), starts.end(), true) == starts.end()) {
    throw_bad_input("no piece of the tokenizer begins a word (opens with the sign of a blank)",
                    "whole words need a text vocabulary: take the one that the text shards were made with");
  }
  return starts;
}

}  // namespace bigbird
