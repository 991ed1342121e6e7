// lib/text/summarize holds summaries: pairs to train on, a model that writes, line breaks as the published
// models have them, ROUGE over a data set.
//
// Documents and summaries as a model with a decoder reads them: pieces with the end behind them
// (docs/specification.md 2.6 and 5.6). And line breaks as BigBird-Pegasus reads and writes them: its
// vocabulary turns a newline into a blank, and has a piece "<n>" for it. The published code rewrites texts
// around the tokenizer; these are its two rewritings, on bytes, where white space is ASCII's as in RE2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/config.h"

namespace bigbird {

class Tokenizer;

struct PairEncoding {
  std::int64_t length = 0;         // most tokens of a document, its end included
  bool document_end = true;        // a document has an end; the published code's have none
  std::int64_t target_length = 0;  // of a summary
  bool line_marks = true;          // newlines are "<n>" for the model (with_line_marks); else they are blanks
  std::int32_t end = 1;
  std::optional<std::int32_t> begin;  // in front of documents and summaries
};

// What a model reads: the published code gives its coupled one documents without an end, and blanks for
// newlines; LED's texts have <s> in front as well, and newlines of their own; all others read as
// transformers' BigBird-Pegasus does, newlines as asked for.
PairEncoding pair_encoding(const ModelConfig& config, std::int64_t length, bool line_marks);

struct EncodedDocument {
  std::vector<std::int32_t> ids;  // with the end behind it, where it has one
  bool cut = false;               // it was longer, and lost tokens at its end
  bool blank = false;             // it has no token
};

// A document keeps its end when it is cut, as in transformers. A summary loses it, as in the published code:
// what is not there is not the end.
EncodedDocument encode_document(const Tokenizer& tokenizer, std::string_view text,
                                const PairEncoding& encoding);
EncodedDocument encode_summary(const Tokenizer& tokenizer, std::string_view text,
                               const PairEncoding& encoding);

// Before the tokenizer: every newline becomes "<n>"; then the blank before each mark, a stretch without white
// space from < or [ to the last > or ] in it with something between, is dropped (one blank). That takes
// citations along: "see [12]," becomes "see[12],".
std::string with_line_marks(std::string_view text);

// Behind it: a blank before every such mark, then "<n>" becomes a newline. Not the inverse: blanks around a
// line break stay, " first .<n> second ." reads " first . \n second .".
std::string without_line_marks(std::string_view text);

// Every `from`, which is not empty, becomes `to`, from left to right.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace bigbird
