// The byte-level BPE of GPT-2 and RoBERTa as files hold it: vocab.json with merges.txt, or a tokenizer.json
// whose pre_tokenizer is ByteLevel. Pieces are written in GPT-2's stand-ins for bytes (byte_level_bpe.h).
//
// Of a tokenizer.json: added_tokens; normalizer null; pre_tokenizer ByteLevel with its regular expression;
// post_processor null, RobertaProcessing or ByteLevel; model BPE. Anything else that changes ids or offsets
// is refused by name. truncation, padding and decoder are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tokenization/added_tokens.h"
#include "lib/tokenization/bpe_encoder.h"

namespace bigbird {

struct ByteLevelDefinition {
  std::vector<std::string> pieces;  // by id, without holes
  std::vector<AddedToken> added;
  std::vector<BpeMerge> merges;  // ids of pieces, best rank first
  // A text that does not begin with a blank gets one.
  bool add_prefix_space = false;
  // Blanks at both ends of a piece are no part of its offsets (Roberta's post-processor).
  bool trim_offsets = true;
  // As far as the file itself says which they are.
  std::optional<std::uint32_t> unknown;
  std::optional<std::uint32_t> cls;
  std::optional<std::uint32_t> sep;
};

// Whether bytes are a tokenizer.json whose pre_tokenizer is ByteLevel itself.
bool is_byte_level_json(std::string_view bytes);

// Error{bad_input} "WHERE: ...": bytes that are no JSON, what is not understood (by name), ids with holes or
// twice, more than 16,777,216 pieces or merges, merges twice, of pieces that are not there, or whose result
// is not.
ByteLevelDefinition parse_byte_level_json(std::string_view bytes, const std::string& where);

// The same from vocab.json (an object of pieces and ids) and merges.txt (a pair a line, best first, below a
// line "#version: ..." that may be missing). `added` is the text of added_tokens.json, empty without one:
// more pieces and ids, which are looked for in texts and are not special.
ByteLevelDefinition parse_byte_level_files(std::string_view vocabulary, const std::string& vocabulary_where,
                                           std::string_view merges, const std::string& merges_where,
                                           std::string_view added = {}, const std::string& added_where = {});

// A tokenizer.json of the same ids and places as RobertaTokenizerFast's of the files: `mask` takes the blank
// before it along. `definition` has cls and sep.
struct SpecialIds;
struct TokenizerJsonAdditions;
std::string byte_level_json_text(const ByteLevelDefinition& definition, const SpecialIds& special,
                                 const TokenizerJsonAdditions& additions);

}  // namespace bigbird
