// Private to lib/io/text: the forms behind TextDocuments (documents.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "lib/io/text/documents.h"
#include "lib/io/text/text_input.h"

namespace bigbird {

// The documents of one file.
class TextDocuments::Source {
 public:
  Source() = default;
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  // The next document, which may have no lines; false at the end.
  virtual bool read(TextDocument& document) = 0;
  virtual std::uint64_t replaced() const = 0;
};

// Blocks between blank lines, lines (one_per_line), or the file as a whole.
std::unique_ptr<TextDocuments::Source> open_plain_documents(TextInput input,
                                                            const TextDocumentOptions& options,
                                                            bool whole_file);
std::unique_ptr<TextDocuments::Source> open_json_documents(TextInput input,
                                                           const TextDocumentOptions& options);
std::unique_ptr<TextDocuments::Source> open_wiki_extracts(TextInput input,
                                                          const TextDocumentOptions& options);
std::unique_ptr<TextDocuments::Source> open_wikitext(TextInput input, const TextDocumentOptions& options);

// The text of a title of level 1, "Title" of " = Title = "; empty for any other line.
std::string_view wikitext_title(std::string_view line);
// A line that opens a document of WikiExtractor.
bool is_wiki_extract_begin(std::string_view line);

}  // namespace bigbird
