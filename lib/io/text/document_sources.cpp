// The forms of documents: blocks and lines, JSON, WikiExtractor, wikitext; see documents.h.
#include "lib/io/text/document_sources.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {
namespace {

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

  std::uint64_t replaced() const override { return lines_.replaced(); }

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
    const std::string& path = records_.path();
    document.place =
        records_.is_list() ? record_place(path, record_) : fmt::format("{}:{}", path, record_.line);
    nlohmann::json object;
    try {
      object = nlohmann::json::parse(record_.json);
    } catch (const nlohmann::json::exception& error) {
      throw_json_error(path, record_, error);
    }
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

  std::uint64_t replaced() const override { return records_.replaced(); }

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

  std::uint64_t replaced() const override { return lines_.replaced(); }

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

  std::uint64_t replaced() const override { return lines_.replaced(); }

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

std::string_view wikitext_title(std::string_view line) {
  line = strip_white_space(line);
  if (line.size() < 5 || line.substr(0, 2) != "= " || line.substr(line.size() - 2) != " =") return {};
  line = line.substr(2, line.size() - 4);
  const bool deeper =
      line.substr(0, 2) == "= " || line.substr(line.size() - std::min<std::size_t>(line.size(), 2)) == " =";
  return deeper ? std::string_view() : strip_white_space(line);
}

bool is_wiki_extract_begin(std::string_view line) {
  line = strip_white_space(line);
  return line.substr(0, 5) == "<doc " && line.back() == '>' && line.find(" id=\"") != std::string_view::npos;
}

std::unique_ptr<TextDocuments::Source> open_plain_documents(TextInput input,
                                                            const TextDocumentOptions& options,
                                                            bool whole_file) {
  return std::make_unique<PlainDocuments>(std::move(input), options, whole_file);
}

std::unique_ptr<TextDocuments::Source> open_json_documents(TextInput input,
                                                           const TextDocumentOptions& options) {
  return std::make_unique<JsonDocuments>(std::move(input), options);
}

std::unique_ptr<TextDocuments::Source> open_wiki_extracts(TextInput input,
                                                          const TextDocumentOptions& options) {
  return std::make_unique<WikiExtracts>(std::move(input), options);
}

std::unique_ptr<TextDocuments::Source> open_wikitext(TextInput input, const TextDocumentOptions& options) {
  return std::make_unique<Wikitext>(std::move(input), options);
}

}  // namespace bigbird
