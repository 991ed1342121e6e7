// Questions of HotpotQA as BigBird-ETC reads them, after generate_tf_examples_lib.py
// (google-research/etcmodel, hotpotqa): long tokens [CLS] question, and of each paragraph its title and its
// sentences, without separators; paragraphs do not see each other. Global tokens are one for [CLS], which the
// type of the answer is read at and which sees all long tokens under a hard mask; one for each token of the
// question; and one for each paragraph, followed by those of its title and its sentences. Types of long
// tokens say what they are of, global ones have type 0.
//
// Other than etcmodel, which leaves out a sentence that does not fit and goes on with the next: an input ends
// before the first title or sentence that does not fit, tokens of either kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/text/qa/hotpotqa/questions.h"
#include "lib/text/qa/two_inputs.h"

namespace bigbird {

struct HotpotLimits {
  std::size_t length = 4096;      // long tokens
  std::size_t globals = 256;      // global ones
  std::size_t max_question = 64;  // tokens of the question that are kept
};

// HotpotSegment::mark is the global token of the title or sentence. Error{usage} where a question leaves no
// room. `unknown`, where given, counts what was encoded.
EncodedHotpot hotpot_two_inputs(const HotpotQuestion& example, const HotpotLimits& limits, const PartIds& ids,
                                const Tokenizer& tokenizer, const TextEncodingOptions& encoding,
                                UnknownTally* unknown = nullptr);

// [global tokens] 1 for the sentences that support the answer, and for the titles and paragraphs of which one
// does: what is right of the sigmoid of every global token.
std::vector<std::uint8_t> supporting_globals(const HotpotQuestion& example, const EncodedHotpot& input);

}  // namespace bigbird
