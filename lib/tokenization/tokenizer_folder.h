// The tokenizer files of a folder that is written, for transformers too.
#pragma once

#include <cstdint>
#include <string>

#include "lib/tokenization/text_encoding.h"

namespace bigbird {

// The member of "bigbird" in tokenizer_config.json that holds the SHA-256 of a tokenizer.json which this
// program has written from the files beside it: they are read, not it.
inline constexpr const char* repeats_key = "tokenizer_json";

struct TokenizerFolderOptions {
  std::int64_t positions = 0;  // of the model: model_max_length; 0: as it is
  // What is done to texts before they are encoded, which a tokenizer.json then does in transformers.
  TextEncodingOptions encoding{.white_space = WhiteSpace::keep};
  bool second_type = false;  // the second text of a pair has token type 1
};

// Copies the tokenizer's files of folder `from` into `to` (which may be the same), with a tokenizer.json and
// a tokenizer_config.json by which AutoTokenizer of transformers 4 and 5 gives the ids of
// load_tokenizer(from): its own tokenizer.json where that is what is read, else one that is made. Word and
// character models of SentencePiece, which no tokenizer.json stands for, and what load_tokenizer() does not
// read, are copied as they are; the first with a warning.
void write_tokenizer_files(const std::string& from, const std::string& to,
                           const TokenizerFolderOptions& options = {});

}  // namespace bigbird
