// Questions of WikiHop as BigBird-ETC reads them, after data_utils.py (google-research/etcmodel, wikihop):
// long tokens are the candidates, the query and the sentences of the supports, without [CLS] and [SEP];
// candidates, the query and supports do not see each other. Global tokens are one for each candidate, one for
// each token of the query, and one for each support, followed by those of its sentences. A candidate is also
// linked to every place in a sentence where its tokens stand. Candidates are in small letters; tokens are
// compared in small letters, of a vocabulary with capitals piece by piece (etcmodel's has none). Of two
// candidates at one token the later one has the link.
//
// An input is one for a question. What does not fit is dropped sentence by sentence: the last one of the
// support that has most of them, until tokens, global tokens and the number of sentences are within their
// limits; of supports with as many, of that which lost its last one first, or stands first. etcmodel knows no
// limit of global tokens here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/text/qa/two_inputs.h"
#include "lib/text/qa/wikihop/questions.h"

namespace bigbird {

struct WikiHopLimits {
  std::size_t length = 4096;    // long tokens
  std::size_t globals = 430;    // global ones
  std::size_t sentences = 200;  // of all supports
};

class WikiHopTwoInputs {
 public:
  // The tokenizer must outlive it.
  WikiHopTwoInputs(const Tokenizer& tokenizer, const TextEncodingOptions& encoding);

  // One window, whose candidate_marks are numbers of global tokens. Error{usage} where candidates and query
  // leave no room. `unknown`, where given, counts.
  EncodedWikiHop encode(const WikiHopQuestion& example, const WikiHopLimits& limits,
                        UnknownTally* unknown = nullptr) const;

 private:
  using Ids = std::vector<std::uint32_t>;
  Ids ids_of(std::string_view text, UnknownTally* unknown) const;
  Ids in_small_letters(const Ids& ids) const;

  const Tokenizer& tokenizer_;
  TextEncodingOptions encoding_;
  PartIds part_ids_;
  Ids small_letters_;  // of each piece the first one that is the same in small letters
};

// How many sentences of each support are kept, of those that have `tokens` each.
std::vector<std::size_t> kept_sentences(const std::vector<std::vector<std::size_t>>& tokens,
                                        std::size_t most_sentences, std::size_t most_tokens);

}  // namespace bigbird
