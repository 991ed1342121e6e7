// Where words begin in a text vocabulary: a word is a piece that carries the sign of a blank in front, and
// what follows up to the next one (google-research/bigbird, pretrain/run_pretraining.py:
// word_start_subtoken).
#pragma once

#include <vector>

namespace bigbird {

class Tokenizer;

// Per id: the piece opens with Tokenizer::word_start(). Special pieces begin no word. Error{bad_input} when
// no piece does, as in DNA vocabularies.
std::vector<bool> word_starts(const Tokenizer& tokenizer);

}  // namespace bigbird
