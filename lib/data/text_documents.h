// Documents of text to token shards: what `pretrain` and `evaluate` read. Same bytes for any number of
// threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/io/files/provenance.h"
#include "lib/io/text/documents.h"
#include "lib/tokenization/text_encoding.h"

namespace bigbird {

class Tokenizer;

struct TextShardOptions {
  std::string prefix;                  // of the files to write (token_shards.h)
  std::string source = "the input";    // what messages call all texts together
  std::uint64_t tokens_per_shard = 0;  // 0: one shard
  bool join = true;                    // samples hold several documents where they fit (joined_documents.h)
  TextEncodingOptions encoding;
  std::optional<Provenance> provenance;
};

struct TextShardSummary {
  std::uint64_t documents = 0;
  std::uint64_t blank_documents = 0;  // left out: white space only, or nothing that the tokenizer keeps
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;  // of the lines, and one for the end of each
  std::uint64_t tokens = 0;
  UnknownTally unknown;

  double bytes_per_token() const;
};

// A sentence of the shards is a line of a document. Lines are encoded one by one as if the documents stood in
// one line: a tokenizer that puts no blank before a text (RoBERTa's) is given one for the line end before it.
// Bytes of a document are those of its lines and line ends, which a word's first piece stands for together
// with its letters.
//
// Memory: a batch of 8 MB of text with its ids on top of the longest document, and 4 bytes for each line of
// the shards in hand. Error{bad_input}: as TextDocuments; no document with a token. Nothing is left behind
// then.
TextShardSummary text_to_shards(TextDocuments& documents, const Tokenizer& tokenizer,
                                const TextShardOptions& options);

}  // namespace bigbird
