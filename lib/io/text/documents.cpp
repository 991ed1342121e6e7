// Documents of running text from several inputs; see documents.h.
#include "lib/io/text/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"
#include "lib/io/text/document_sources.h"
#include "lib/io/text/folder_files.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<DocumentFormat, const char*>, 5> document_formats{
    {{DocumentFormat::automatic, "auto"},
     {DocumentFormat::plain, "plain"},
     {DocumentFormat::jsonl, "jsonl"},
     {DocumentFormat::wikiextractor, "wikiextractor"},
     {DocumentFormat::wikitext, "wikitext"}}};

// As much as is looked through for a line that is not blank.
constexpr std::size_t longest_look = 1 << 20;

// Of {"a": or {} or { alone: an object of JSON begins.
bool begins_json_object(std::string_view line) {
  if (line.front() != '{') return false;
  const std::size_t next = line.find_first_not_of(" \t", 1);
  return next == std::string_view::npos || line[next] == '"' || line[next] == '}';
}

DocumentFormat document_format_of(TextInput& input) {
  for (std::size_t size = 1 << 12;; size *= 4) {
    std::string_view window = input.peek(size);
    const bool all = window.size() < size || size >= longest_look;
    while (!window.empty()) {
      const std::size_t end = window.find('\n');
      if (end == std::string_view::npos && !all) break;
      std::string_view line = window.substr(0, end);
      window.remove_prefix(end == std::string_view::npos ? window.size() : end + 1);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (is_blank(line)) continue;
      if (line.front() == ' ' && !wikitext_title(line).empty()) return DocumentFormat::wikitext;
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      if (line.empty()) return DocumentFormat::plain;
      if (begins_json_object(line)) return DocumentFormat::jsonl;
      return is_wiki_extract_begin(line) ? DocumentFormat::wikiextractor : DocumentFormat::plain;
    }
    if (all) return DocumentFormat::plain;
  }
}

}  // namespace

const char* document_format_name(DocumentFormat format) {
  return find_name(document_formats, format);
}

DocumentFormat parse_document_format(const std::string& name) {
  return parse_name(document_formats, name, "format of documents");
}

struct TextDocuments::State {
  struct Input {
    std::string path;
    std::string name;    // of its documents, in a folder
    bool whole = false;  // one document
  };

  void add(const std::string& path);
  bool open_next();

  TextDocumentOptions options;
  std::deque<Input> inputs;
  Input current;
  std::unique_ptr<Source> source;
  std::uint64_t documents = 0;
  std::uint64_t blank = 0;
  std::uint64_t replaced = 0;
};

void TextDocuments::State::add(const std::string& path) {
  if (path == "-" || !folder_exists(path)) {
    inputs.push_back({path, "", false});
    return;
  }
  const std::vector<std::string> files = files_below(path);
  const bool texts =
      (options.format == DocumentFormat::plain || options.format == DocumentFormat::automatic) &&
      std::any_of(files.begin(), files.end(), is_text_file_name);
  std::size_t added = 0;
  for (const std::string& file : files) {
    if (texts && !is_text_file_name(file)) continue;
    const bool whole = texts && !options.one_per_line;
    inputs.push_back({path + "/" + file, whole ? file : "", whole});
    ++added;
  }
  if (added == 0 || (options.format == DocumentFormat::plain && !texts)) {
    throw_bad_input(fmt::format("{}: no {} in this folder or below", path,
                                options.format == DocumentFormat::plain ? ".txt files" : "files"),
                    "give a folder of .txt files, or the files themselves");
  }
}

bool TextDocuments::State::open_next() {
  if (inputs.empty()) return false;
  current = std::move(inputs.front());
  inputs.pop_front();
  TextInput input(current.path);
  DocumentFormat format = options.format;
  if (current.whole || options.one_per_line) format = DocumentFormat::plain;
  if (format == DocumentFormat::automatic) {
    std::string_view name = current.path;
    if (has_suffix(current.path, ".gz")) name.remove_suffix(3);
    const bool json = has_suffix(std::string(name), ".jsonl") || has_suffix(std::string(name), ".json");
    format = json ? DocumentFormat::jsonl : document_format_of(input);
  }
  switch (format) {
    case DocumentFormat::jsonl:
      source = open_json_documents(std::move(input), options);
      break;
    case DocumentFormat::wikiextractor:
      source = open_wiki_extracts(std::move(input), options);
      break;
    case DocumentFormat::wikitext:
      source = open_wikitext(std::move(input), options);
      break;
    case DocumentFormat::automatic:
    case DocumentFormat::plain:
      source = open_plain_documents(std::move(input), options, current.whole);
      break;
  }
  return true;
}

TextDocuments::TextDocuments(const std::vector<std::string>& inputs, const TextDocumentOptions& options)
    : state_(std::make_unique<State>()) {
  state_->options = options;
  const bool plain = options.format == DocumentFormat::plain || options.format == DocumentFormat::automatic;
  if (options.one_per_line && !plain) {
    throw_usage(message("`one_per_line` with `format` {}, which has documents of its own",
                        document_format_name(options.format)),
                "leave one of the two out");
  }
  for (const std::string& path : inputs) state_->add(path);
}

TextDocuments::~TextDocuments() = default;
TextDocuments::TextDocuments(TextDocuments&&) noexcept = default;
TextDocuments& TextDocuments::operator=(TextDocuments&&) noexcept = default;

bool TextDocuments::next(TextDocument& document) {
  State& state = *state_;
  for (;;) {
    if (!state.source && !state.open_next()) return false;
    document.name.clear();
    document.place.clear();
    document.lines.clear();
    if (!state.source->read(document)) {
      state.replaced += state.source->replaced();
      state.source.reset();
    } else if (document.lines.empty()) {
      ++state.blank;
    } else {
      if (!state.current.name.empty()) document.name = state.current.name;
      if (document.name.empty()) document.name = document.place;
      ++state.documents;
      return true;
    }
  }
}

std::uint64_t TextDocuments::documents() const {
  return state_->documents;
}
std::uint64_t TextDocuments::blank() const {
  return state_->blank;
}
std::uint64_t TextDocuments::replaced() const {
  return state_->replaced + (state_->source ? state_->source->replaced() : 0);
}

}  // namespace bigbird
