// Options on running text; see document_options.h.
#include "apps/document_options.h"

namespace bigbird::apps {

void DocumentOptions::add(Verb& verb) {
  CLI::App& app = verb.app();
  app.add_option("IN", inputs_, "Files (.gz too), folders of *.txt, or - for stdin, in this order")
      ->required()
      ->type_name("IN");
  app.add_option("--format", format_,
                 "plain (documents between blank lines), jsonl, wikiextractor or wikitext; auto: told by the "
                 "first line");
  app.add_flag("--one-per-line", options_.one_per_line, "Every line of plain text is a document");
  app.add_option("--field", options_.field, "Of JSON objects, the one that holds the text");
  app.add_flag("--replace-invalid", options_.replace_invalid,
               "Put U+FFFD where bytes are no UTF-8; else an error");
}

TextDocumentOptions DocumentOptions::documents() const {
  TextDocumentOptions result = options_;
  if (format_ != "auto") result.format = parse_document_format(format_);
  return result;
}

}  // namespace bigbird::apps
