// Tokenizing a whole source: to shards, or printed. Same bytes for any number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/data/sentence_source.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"

namespace bigbird {

class Tokenizer;

struct TokenizeSummary {
  std::uint64_t documents = 0;
  std::uint64_t sentences = 0;
  std::uint64_t bases = 0;  // bytes for text
  std::uint64_t tokens = 0;
  std::uint64_t iupac_replaced = 0;
};

// Writes PREFIX.bin, .idx and .json (lib/data/token_shards.h). tokens_per_shard 0: one shard. Memory: a batch
// of 16 Mb with its ids on top of the longest document (a sentence is never cut), and 4 bytes for each
// sentence of the shards in hand. Error{bad_input} for a source without documents; nothing is left behind
// then.
TokenizeSummary tokenize_to_shards(const SourceOptions& source, const Tokenizer& tokenizer,
                                   const std::string& prefix, std::uint64_t tokens_per_shard,
                                   const std::optional<Provenance>& provenance);

enum class PrintFormat {
  ids,     // a line per sentence or window
  pieces,  // the same with the pieces' letters
  bed      // a line per token: its bases as BED6, name = the piece; genomic sources only
};

// On strand - a token's bases are placed where they lie on the forward strand, and tokens come in reading
// order.
TokenizeSummary print_tokens(const SourceOptions& source, const Tokenizer& tokenizer, PrintFormat format,
                             OutputStream& out);

}  // namespace bigbird
