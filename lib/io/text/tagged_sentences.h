// Sentences whose words have labels, as taggers are trained on them (named entities, parts of speech):
// CoNLL's columns, CoNLL-U, and JSON with lists of words and labels. Streamed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/io/text/labelled_texts.h"

namespace bigbird {

// automatic: by the path, .conllu, and .json, .jsonl or .ndjson (each also with .gz); else conll.
enum class TaggedFormat { automatic, conll, conllu, jsonl };
TaggedFormat tagged_format_of(const std::string& path);  // none of them is automatic

struct TaggedSentenceOptions {
  TaggedFormat format = TaggedFormat::automatic;
  // Of CoNLL a number from 1: where they are empty the first column and the last, of CoNLL-U FORM and UPOS (2
  // and 4). Of JSON a field: words in `tokens`, else `words`; labels in `labels`, else `tags`, `ner_tags`,
  // `pos_tags`.
  std::string token_column;
  std::string label_column;
  Labels labels = Labels::required;
};

struct TaggedSentence {
  std::string id;  // of JSON the field `id`, else the number of the sentence from 0
  std::vector<std::string> words;
  std::vector<std::string> labels;  // one each, or none at all
  std::string place;                // "FILE:LINE" of its first word
};

// CoNLL: a word a line, columns between tabs or blanks (tabs where the first line has one), an empty line
// behind each sentence. Lines that begin with -DOCSTART- are no words, nor are lines of provenance at the
// begin ("##bigbird_version=..."). CoNLL-U: lines that begin with # are no words, nor are those of several
// tokens (1-2) and of empty nodes (1.1). JSON: a record for each line, or an element of the one list of the
// file; labels are strings or whole numbers.
//
// Error{bad_input} FILE:LINE: a line with another number of columns than the first, or without the one that
// is asked for; labels that are not as many as words; what JsonRecords and LineReader refuse; bytes that are
// no UTF-8. Error{usage}: a column that is no number from 1 on.
class TaggedSentences {
 public:
  explicit TaggedSentences(const std::string& path, const TaggedSentenceOptions& options = {});
  ~TaggedSentences();
  TaggedSentences(const TaggedSentences&) = delete;
  TaggedSentences& operator=(const TaggedSentences&) = delete;

  bool next(TaggedSentence& sentence);

  class Source;

 private:
  std::unique_ptr<Source> source_;
};

}  // namespace bigbird
