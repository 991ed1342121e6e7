// A SentencePiece model as a tokenizer.json: what transformers converts it to, and what keeps the library's
// own ids.
#pragma once

#include <string>

#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_json.h"

namespace bigbird {

// Whose conversion: BigBirdConverter or PegasusConverter of transformers 4.57.1 (convert_slow_tokenizer.py).
enum class ConvertedClass { bigbird, pegasus };

// What transformers' fast tokenizer of a unigram or BPE model does: white space off the right end, runs of
// U+0020 as one word sign, a word sign in front, words cut before every word sign, and each word segmented by
// itself; bytes of unknown characters are not used, and a table of characters is. Error{bad_input} "WHERE:
// ..." for pieces that are empty or stand twice, and for a damaged table.
TokenizerJson converted_definition(const SentencePieceModel& model, const SpecialIds& special,
                                   ConvertedClass converted, const std::string& where);

// The library's ids of a BPE model without a table of characters, of DNA and of text: it drops U+0020 at both
// ends and in runs, puts a word sign in front, falls back to bytes. Names of special pieces that stand in a
// text are ids, as transformers has it. DNA in small letters is read in capital ones.
TokenizerJson library_definition(const SentencePieceModel& model, const SpecialIds& special,
                                 const std::string& where);

}  // namespace bigbird
