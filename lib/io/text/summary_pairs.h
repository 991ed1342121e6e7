// Documents and their summaries in the forms users have them: JSON Lines, CSV, TSV, plain lines, folders.
// What summarization trains on, predicts from and is measured against. Streamed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/io/text/delimited.h"

namespace bigbird {

enum class SummaryFormat {
  automatic,  // by the path: a folder; .csv; .tsv or .tab; .jsonl, .ndjson or .json; each also with .gz. "-"
              // and .txt by what they begin with: JSON; a table where the first line has several fields, one
              // of which names a field below; else lines
  jsonl,
  csv,
  tsv,
  lines,  // a summary, or a document, a line
  folder
};

// Which of the two a row must have. The other one is not looked at.
enum class SummaryParts { both, document, summary };

struct SummaryPairOptions {
  SummaryFormat format = SummaryFormat::automatic;
  SummaryParts parts = SummaryParts::both;
  // Fields or columns. Empty: the first that is there of
  //   document: article_text, article, document, source, text, dialogue, description, src
  //   summary:  abstract_text, summary, highlights, abstract, target, prediction, tgt
  //   id:       id, article_id, paper_id, else the number of the row from 0
  std::string document_field;
  std::string summary_field;
  std::string id_field;
  // A list in the field of the summary holds several summaries (SciTLDR), not the sentences of one.
  bool list_of_summaries = false;
  Quoting quoting = Quoting::automatic;  // of tables
  bool skip_bad = false;  // a record without a field, or of another type, is counted and passed over
  bool replace_invalid = false;
};

struct SummaryPair {
  std::string id;
  std::string document;                // empty where it is not asked for
  std::vector<std::string> summaries;  // one, or more with list_of_summaries; none where not asked for
  std::string place;  // "FILE:LINE", "FILE:LINE:COLUMN" in a list of JSON; of a folder the file
};

// A text is a string; or a list of sentences, which newlines join, each a string or a list of words, which
// blanks join. Sentences of a summary lose "<S>" and "</S>" around them, as Cohan et al. (2018) put there:
// their blanks stay, as in the published data sets.
//
// Folder: FOLDER/documents/NAME.txt beside FOLDER/summaries/NAME.txt (articles, source or News Articles;
// abstracts, target or Summaries), also in folders below, by name (bytes compared); where documents alone are
// asked for and there is no such folder, the *.txt of FOLDER. Ids are the names without .txt.
//
// Error{bad_input}: what JsonRecords, DelimitedReader and TextLines refuse; a field that is not there, with
// those that are; a field that is no text; an id twice; a document without its summary. Error{usage}: a
// format that the path does not tell; documents and summaries both from lines.
class SummaryPairs {
 public:
  explicit SummaryPairs(const std::string& path, const SummaryPairOptions& options = {});
  ~SummaryPairs();
  SummaryPairs(const SummaryPairs&) = delete;
  SummaryPairs& operator=(const SummaryPairs&) = delete;

  bool next(SummaryPair& pair);
  // Handed out so far; passed over by skip_bad, and the first of them as a message.
  std::uint64_t rows() const;
  std::uint64_t skipped() const;
  const std::string& first_skipped() const;

  class Source;

 private:
  std::unique_ptr<Source> source_;
};

}  // namespace bigbird
