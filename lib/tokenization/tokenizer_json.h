// Hugging Face's tokenizer.json, the part of it that DNA tokenizers (GENA-LM's among them) use, in plain
// structures. Anything else in a file is refused by name: no field that changes ids is ever passed over.
//
// Read: added_tokens; normalizer null, Strip, Replace, Sequence; pre_tokenizer null, Split (Isolated,
// Removed), Sequence; post_processor null, BertProcessing, TemplateProcessing of the form [CLS] A [SEP];
// model BPE. A pattern is a String, or a Regex of the kind in text_steps.h. truncation, padding and decoder
// do not touch ids and are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tokenization/added_tokens.h"
#include "lib/tokenization/bpe_encoder.h"
#include "lib/tokenization/text_steps.h"

namespace bigbird {

struct TokenizerJson {
  std::vector<std::string> pieces;  // by id, without holes
  std::vector<AddedToken> added;
  std::vector<BpeMerge> merges;  // ids of pieces, best rank first
  std::uint32_t unknown = 0;
  bool fuse_unknown = false;  // neighbouring unknown characters are one id
  std::vector<NormalizerStep> normalizer;
  std::vector<SplitStep> splits;
  // What the post-processor puts around a text; without one, the caller knows them by name.
  std::optional<std::uint32_t> cls;
  std::optional<std::uint32_t> sep;
};

// Error{bad_input} "WHERE: ..." for bytes that are no JSON, for what is not understood (by name), and for
// vocabularies that contradict themselves: ids with holes or twice, more than 16,777,216 pieces, merges of
// pieces that are not there, or whose result is not, or of characters beyond ASCII.
TokenizerJson parse_tokenizer_json(std::string_view bytes, const std::string& where);

}  // namespace bigbird
