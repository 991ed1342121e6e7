// Documents of running text from several inputs, in blocks and lines, JSON, WikiExtractor and wikitext; see
// documents.h.
#include "lib/io/text/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/core/unicode.h"
#include "lib/io/files/file.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/text_input.h"
#include "lib/io/text/text_lines.h"

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
};

namespace {

constexpr std::array<std::pair<DocumentFormat, const char*>, 5> document_formats{
    {{DocumentFormat::automatic, "auto"},
     {DocumentFormat::plain, "plain"},
     {DocumentFormat::jsonl, "jsonl"},
     {DocumentFormat::wikiextractor, "wikiextractor"},
     {DocumentFormat::wikitext, "wikitext"}}};

// The text of a title of level 1, "Title" of " = Title = "; empty for any other line.
std::string_view wikitext_title(std::string_view line) {
  line = strip_white_space(line);
  if (line.size() < 5 || line.substr(0, 2) != "= " || line.substr(line.size() - 2) != " =") return {};
  line = line.substr(2, line.size() - 4);
  const bool deeper =
      line.substr(0, 2) == "= " || line.substr(line.size() - std::min<std::size_t>(line.size(), 2)) == " =";
  return deeper ? std::string_view() : strip_white_space(line);
}

// A line that opens a document of WikiExtractor.
bool is_wiki_extract_begin(std::string_view line) {
  line = strip_white_space(line);
  return line.substr(0, 5) == "<doc " && line.back() == '>' && line.find(" id=\"") != std::string_view::npos;
}

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

class PlainDocuments : public TextDocuments::Source {
 public:
  PlainDocuments(TextInput input, const TextDocumentOptions& options, bool whole_file)
      : lines_(std::move(input), options.replace_invalid),
        one_per_line_(options.one_per_line),
        whole_file_(whole_file) {}

  bool read(TextDocument& document) override {
    if (done_) return false;
    if (whole_file_) document.place = lines_.path() + ":1";
    for (std::string_view line; lines_.next(line);) {
      const bool blank = is_blank(line);
      if (document.place.empty() && (!blank || one_per_line_)) document.place = lines_.where();
      if (!blank) document.lines.emplace_back(line);
      if (one_per_line_ || (blank && !whole_file_ && !document.lines.empty())) return true;
    }
    done_ = true;
    return whole_file_ || !document.lines.empty();
  }

 private:
  TextLines lines_;
  bool one_per_line_;
  bool whole_file_;
  bool done_ = false;
};

class JsonDocuments : public TextDocuments::Source {
 public:
  JsonDocuments(TextInput input, const TextDocumentOptions& options)
      : records_(std::move(input), record_options(options)), field_(options.field) {}

  bool read(TextDocument& document) override {
    if (!records_.next(record_)) return false;
    document.place = records_.place_of(record_);
    const auto object = parse_record<nlohmann::json>(records_.path(), record_);
    if (object.is_object()) name_document(object, document);
    const std::string where = document.name.empty()
                                  ? document.place
                                  : fmt::format("{}: '{}'", document.place, text_for_message(document.name));
    if (!object.is_object() || !object.contains(field_)) {
      throw_bad_input(fmt::format("{}: no field '{}'", where, text_for_message(field_)),
                      object.is_object() ? message("set `field` to one of: ") + keys_of(object)
                                         : "a document looks like {\"text\": \"...\"}");
    }
    const nlohmann::json& text = object[field_];
    if (!text.is_string()) {
      throw_bad_input(fmt::format("{}: field '{}' is {}, not a string", where, text_for_message(field_),
                                  text.type_name()),
                      message("set `field` to the field that holds the text"));
    }
    add_lines(text.get_ref<const std::string&>(), document);
    return true;
  }

 private:
  static JsonRecordsOptions record_options(const TextDocumentOptions& options) {
    JsonRecordsOptions records;
    records.replace_invalid = options.replace_invalid;
    return records;
  }

  static void name_document(const nlohmann::json& object, TextDocument& document) {
    for (const char* key : {"title", "id"}) {
      const auto name = object.find(key);
      if (name == object.end() || !document.name.empty()) continue;
      if (name->is_string()) document.name = name->get<std::string>();
      if (name->is_number()) document.name = name->dump();
    }
  }

  static std::string keys_of(const nlohmann::json& object) {
    std::string keys;
    for (const auto& [key, value] : object.items())
      keys += (keys.empty() ? "" : ", ") + text_for_message(key);
    return text_for_message(keys, 300);
  }

  static void add_lines(std::string_view text, TextDocument& document) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (!is_blank(line)) document.lines.emplace_back(line);
    }
  }

  JsonRecords records_;
  JsonRecord record_;
  std::string field_;
};

// The value of an attribute of <doc ...>. Titles hold quotes as they are, so the last attribute, which they
// are, ends with the tag.
std::string_view doc_attribute(std::string_view tag, std::string_view name) {
  const std::string begin = fmt::format(" {}=\"", name);
  const std::size_t at = tag.find(begin);
  if (at == std::string_view::npos) return {};
  const std::string_view value = tag.substr(at + begin.size());
  const std::size_t end = name == "title" ? value.rfind("\">") : value.find('"');
  return value.substr(0, end == std::string_view::npos ? 0 : end);
}

// With the entities that WikiExtractor may have put into a title, or into the line that repeats it.
std::string without_entities(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 6> entities{
      {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}, {"&#x27;", '\''}, {"&amp;", '&'}}};
  std::string plain;
  while (!text.empty()) {
    std::size_t taken = 0;
    for (const auto& [entity, sign] : entities) {
      if (text.substr(0, entity.size()) != entity) continue;
      plain += sign;
      taken = entity.size();
      break;
    }
    if (taken == 0) plain += text.front();
    text.remove_prefix(taken == 0 ? 1 : taken);
  }
  return plain;
}

class WikiExtracts : public TextDocuments::Source {
 public:
  WikiExtracts(TextInput input, const TextDocumentOptions& options)
      : lines_(std::move(input), options.replace_invalid) {}

  bool read(TextDocument& document) override {
    std::string_view line;
    do {
      if (!lines_.next(line)) return false;
    } while (is_blank(line));
    if (!is_wiki_extract_begin(line)) {
      throw_bad_input(fmt::format("{}: text outside of <doc> ... </doc>", lines_.where()),
                      message("set `format` to what the file is, or take the line out"));
    }
    document.place = lines_.where();
    const std::string tag(strip_white_space(line));
    const std::string title(doc_attribute(tag, "title"));
    document.name = title.empty() ? std::string(doc_attribute(tag, "id")) : title;
    const std::string wanted = without_entities(strip_white_space(title));
    for (bool first = true; lines_.next(line);) {
      const std::string_view bare = strip_white_space(line);
      if (bare == "</doc>") return true;
      if (is_wiki_extract_begin(line)) {
        throw_bad_input(
            fmt::format("{}: <doc> inside of the one that begins at {}", lines_.where(), document.place),
            "a </doc> is missing: make the file again");
      }
      if (bare.empty()) continue;
      if (!first || wanted.empty() || without_entities(bare) != wanted) document.lines.emplace_back(line);
      first = false;
    }
    throw_bad_input(fmt::format("{}: the file ends inside of this <doc>", document.place),
                    "the file is cut off: copy or make it again");
  }

 private:
  TextLines lines_;
};

class Wikitext : public TextDocuments::Source {
 public:
  Wikitext(TextInput input, const TextDocumentOptions& options)
      : lines_(std::move(input), options.replace_invalid) {}

  bool read(TextDocument& document) override {
    std::string_view line;
    while (title_line_.empty()) {
      if (!lines_.next(line)) return false;
      if (is_blank(line)) continue;
      if (wikitext_title(line).empty()) {
        throw_bad_input(fmt::format("{}: wikitext does not begin with a title", lines_.where()),
                        message("a title is a line like \" = Title = \"; set `format` to what the file is"));
      }
      remember_title(line);
    }
    document.place = std::move(title_place_);
    document.name = wikitext_title(title_line_);
    document.lines.push_back(std::move(title_line_));
    title_line_.clear();
    // Titles have a blank line before them; a line of text that looks like one (a formula) has not.
    for (bool after_blank = false; lines_.next(line);) {
      const bool blank = is_blank(line);
      if (after_blank && !wikitext_title(line).empty()) {
        remember_title(line);
        break;
      }
      if (!blank) document.lines.emplace_back(line);
      after_blank = blank;
    }
    return true;
  }

 private:
  void remember_title(std::string_view line) {
    title_line_ = line;
    title_place_ = lines_.where();
  }

  TextLines lines_;
  std::string title_line_;  // of the document that comes next
  std::string title_place_;
};

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
  std::uint64_t blank = 0;
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
    const bool json = is_one_of(current.path, {".jsonl", ".json"});
    format = json ? DocumentFormat::jsonl : document_format_of(input);
  }
  switch (format) {
    case DocumentFormat::jsonl:
      source = std::make_unique<JsonDocuments>(std::move(input), options);
      break;
    case DocumentFormat::wikiextractor:
      source = std::make_unique<WikiExtracts>(std::move(input), options);
      break;
    case DocumentFormat::wikitext:
      source = std::make_unique<Wikitext>(std::move(input), options);
      break;
    case DocumentFormat::automatic:
    case DocumentFormat::plain:
      // Blocks between blank lines, lines (one_per_line), or the file as a whole.
      source = std::make_unique<PlainDocuments>(std::move(input), options, current.whole);
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

bool TextDocuments::next(TextDocument& document) {
  State& state = *state_;
  for (;;) {
    if (!state.source && !state.open_next()) return false;
    document.name.clear();
    document.place.clear();
    document.lines.clear();
    if (!state.source->read(document)) {
      state.source.reset();
    } else if (document.lines.empty()) {
      ++state.blank;
    } else {
      if (!state.current.name.empty()) document.name = state.current.name;
      if (document.name.empty()) document.name = document.place;
      return true;
    }
  }
}

std::uint64_t TextDocuments::blank() const {
  return state_->blank;
}

}  // namespace bigbird
