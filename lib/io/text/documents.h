// Documents of running text to pretrain on, streamed from files, folders and the standard input.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bigbird {

enum class DocumentFormat {
  automatic,
  plain,          // a document is a block between blank lines
  jsonl,          // a document is the string `field` of an object; a list of objects is read as well
  wikiextractor,  // <doc id=... url=... title=...> ... </doc>; a first line that repeats the title is dropped
  wikitext        // a document ends before the next " = Title = "; " @-@ " and <unk> are kept
};

// The name in options and messages ("wikiextractor"); Error{usage} for another.
const char* document_format_name(DocumentFormat format);
DocumentFormat parse_document_format(const std::string& name);

struct TextDocumentOptions {
  DocumentFormat format = DocumentFormat::automatic;
  bool one_per_line = false;   // plain: every line is a document
  std::string field = "text";  // jsonl
  bool replace_invalid = false;
};

// Its lines are the sentences: as in the file, white space and HTML entities kept, none of them blank. A
// title of wikitext is the first line of its document.
struct TextDocument {
  std::string
      name;  // its title or id where it has one (`title`, `id`), else "FILE:LINE"; of a folder the file
  std::vector<std::string> lines;
  std::string place;  // "FILE:LINE" of its begin; "FILE:LINE:COLUMN" in a list of JSON
};

// Inputs are read in the order given: a file, `.gz`, "-", or a folder. A folder is every *.txt and *.txt.gz
// below it by name (paths relative to it, bytes compared), each one document as a whole, blank lines left
// out, unless a format, or one_per_line, is given; without any, or with a format other than plain, it is all
// its files by name, whose format is looked for in each.
//
// `automatic` looks at the first line that is not blank: `{"` or `{` alone is jsonl, "<doc " with id= is
// wikiextractor, " = Title = " is wikitext, everything else plain.
//
// Error{bad_input}: what TextLines and JsonRecords refuse; a record without the field, or where it is no
// string; <doc> inside of <doc>, text outside of one, a file that ends inside; wikitext that does not begin
// with a title; no files in a folder. Error{usage}: one_per_line with a format that has its own documents.
class TextDocuments {
 public:
  explicit TextDocuments(const std::vector<std::string>& inputs, const TextDocumentOptions& options = {});
  ~TextDocuments();
  TextDocuments(const TextDocuments&) = delete;
  TextDocuments& operator=(const TextDocuments&) = delete;

  // The next document that is not blank; false at the end of the last input.
  bool next(TextDocument& document);
  // Documents of nothing but white space (or without a line) that were left out so far.
  std::uint64_t blank() const;

  class Source;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bigbird
