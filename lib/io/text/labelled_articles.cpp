// Labelled texts as news articles in the XML of SemEval-2019 task 4 (Hyperpartisan News Detection), whose
// labels lie in a file of their own; see labelled_texts.h. Parsed by expat as the lines come; entities of the
// file's own are not taken.
#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/text/labelled_sources.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {
namespace {

// The attributes of an <article> in the order of the file.
using XmlAttributes = std::vector<std::pair<std::string, std::string>>;

struct Article {
  XmlAttributes attributes;
  std::string
      text;  // without tags; <p>, </p> and <br> end a line; no line is empty or has blanks at its ends
  std::uint64_t line = 0;
};

// Every <article> below <articles>, in order. Error{bad_input}: what TextLines refuses; what is no XML, with
// line and column; another root; a document type; an end within the file.
class ArticleReader {
 public:
  explicit ArticleReader(TextInput input, bool replace_invalid = false);
  ~ArticleReader();
  ArticleReader(const ArticleReader&) = delete;
  ArticleReader& operator=(const ArticleReader&) = delete;

  bool next(Article& article);
  const std::string& path() const { return lines_.path(); }
  std::uint64_t replaced() const { return lines_.replaced(); }

 private:
  struct Parser;
  [[noreturn]] void refuse() const;

  TextLines lines_;
  std::unique_ptr<Parser> parser_;
  bool at_end_ = false;
};

// What ends a line when the tags are taken away.
bool ends_line(std::string_view element) {
  return element == "p" || element == "br";
}

// Lines without blanks at their ends, and without those that are nothing else.
std::string tidy_lines(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  std::string tidy;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    line = line.substr(0, line.find_last_not_of(blanks) + 1);
    if (line.empty()) continue;
    if (!tidy.empty()) tidy += '\n';
    tidy += line;
  }
  return tidy;
}

// expat takes an int of bytes at a time.
constexpr std::size_t most_at_once = std::size_t{1} << 20;

struct ArticleReader::Parser {
  Parser() : expat(XML_ParserCreate("UTF-8")) {  // TextLines has seen to that, whatever the file says it is
    if (expat == nullptr) throw std::bad_alloc();
    XML_SetUserData(expat, this);
    XML_SetElementHandler(expat, on_begin, on_end);
    XML_SetCharacterDataHandler(expat, on_text);
    XML_SetDoctypeDeclHandler(expat, on_doctype, nullptr);
  }
  ~Parser() { XML_ParserFree(expat); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  static Parser& of(void* data) { return *static_cast<Parser*>(data); }

  void stop(std::string why) {
    if (problem.empty()) problem = std::move(why);
    XML_StopParser(expat, XML_FALSE);
  }

  static void on_begin(void* data, const XML_Char* name, const XML_Char** attributes) {
    Parser& self = of(data);
    const std::string_view element = name;
    if (self.depth == 0 && element != "articles") {
      self.stop(fmt::format("begins with <{}>, not with <articles>", text_for_message(std::string(element))));
    } else if (self.depth == 1 && element == "article") {
      self.open = {};
      self.open.line = XML_GetCurrentLineNumber(self.expat);
      for (; *attributes != nullptr; attributes += 2)
        self.open.attributes.emplace_back(attributes[0], attributes[1]);
    } else if (self.depth == 1) {
      self.stop(fmt::format("<{}> is where an <article> should be", text_for_message(std::string(element))));
    } else if (ends_line(element)) {
      self.end_line();
    }
    ++self.depth;
  }

  static void on_end(void* data, const XML_Char* name) {
    Parser& self = of(data);
    --self.depth;
    if (self.depth == 1) {
      self.open.text = tidy_lines(self.open.text);
      self.done.push_back(std::move(self.open));
    } else if (ends_line(name)) {
      self.end_line();
    }
  }

  static void on_text(void* data, const XML_Char* text, int size) {
    Parser& self = of(data);
    if (self.depth < 2) return;
    self.open.text.append(text, static_cast<std::size_t>(size));
  }

  static void on_doctype(void* data, const XML_Char*, const XML_Char*, const XML_Char*, int) {
    of(data).stop("a document type (<!DOCTYPE>) is not read: it could make much of little");
  }

  void end_line() { open.text += '\n'; }

  XML_Parser expat;
  std::size_t depth = 0;
  Article open;
  std::deque<Article> done;
  std::string problem;
};

ArticleReader::ArticleReader(TextInput input, bool replace_invalid)
    : lines_(std::move(input), replace_invalid), parser_(std::make_unique<Parser>()) {}

ArticleReader::~ArticleReader() = default;

void ArticleReader::refuse() const {
  const XML_Parser expat = parser_->expat;
  std::string place = fmt::format("{}:{}", path(), XML_GetCurrentLineNumber(expat));
  std::string why = parser_->problem;
  if (why.empty()) {
    place += fmt::format(":{}", XML_GetCurrentColumnNumber(expat) + 1);
    why = XML_ErrorString(XML_GetErrorCode(expat));
  }
  throw_bad_input(
      place + ": " + why,
      "articles are read in the form of SemEval-2019 task 4: <articles><article id=\"...\">text</article>");
}

bool ArticleReader::next(Article& article) {
  const auto parse = [&](std::string_view text, bool last) {
    do {
      const std::string_view part = text.substr(0, most_at_once);
      text.remove_prefix(part.size());
      const int final = last && text.empty() ? 1 : 0;
      if (XML_Parse(parser_->expat, part.data(), static_cast<int>(part.size()), final) != XML_STATUS_OK)
        refuse();
    } while (!text.empty());
  };
  while (parser_->done.empty() && !at_end_) {
    std::string_view line;
    at_end_ = !lines_.next(line);
    parse(at_end_ ? std::string_view() : line, at_end_);
    if (!at_end_) parse("\n", false);
  }
  if (parser_->done.empty()) return false;
  article = std::move(parser_->done.front());
  parser_->done.pop_front();
  return true;
}

constexpr const char* usual_label = "hyperpartisan";

const std::string* attribute(const Article& article, const std::string& name) {
  const auto found = std::find_if(article.attributes.begin(), article.attributes.end(),
                                  [&](const auto& one) { return one.first == name; });
  return found == article.attributes.end() ? nullptr : &found->second;
}

const std::string& id_of(const Article& article, const std::string& path) {
  const std::string* id = attribute(article, "id");
  if (id == nullptr || is_blank(*id)) {
    throw_bad_input(fmt::format("{}:{}: an <article> without an id", path, article.line),
                    "every article has one; its label is found by it");
  }
  return *id;
}

class ArticleSource : public LabelledTexts::Source {
 public:
  ArticleSource(TextInput input, const LabelledTextOptions& options)
      : Source(input.path(), options), reader_(std::move(input), options.replace_invalid) {
    const bool labels = options.labels != Labels::ignored && !options.label_files.empty();
    if (options.labels == Labels::required && options.label_files.empty()) {
      throw_bad_input(
          fmt::format("{}: articles without their labels", path()),
          message("these are in a file of their own (ground-truth-*.xml): set `label_files` to it"));
    }
    if (!labels) return;
    label_ = options.label_column.empty() ? usual_label : options.label_column;
    for (const std::string& file : options.label_files) read_labels(file);
  }

  bool read(LabelledText& row) override {
    if (!reader_.next(article_)) return false;
    row.place = fmt::format("{}:{}", path(), article_.line);
    row.id = id_of(article_, path());
    check_id(row.id, article_.line, 0);
    row.text = joined(options().text_column.empty() ? "text" : options().text_column);
    row.pair.reset();
    if (!options().pair_column.empty()) row.pair = joined(options().pair_column);
    row.labels.clear();
    row.label_is_list = false;
    if (label_.empty()) return true;
    const auto found = labels_.find(row.id);
    if (found != labels_.end()) {
      row.labels.push_back(found->second);
    } else if (options().labels == Labels::required) {
      throw_bad_input(fmt::format("{}: article '{}' has no label in {}", row.place, text_for_message(row.id),
                                  options().label_files.front()),
                      message("`label_files` is the file (or files) of these articles' labels"));
    }
    return true;
  }

  std::uint64_t replaced() const override { return reader_.replaced() + replaced_in_labels_; }
  std::string columns() const override {
    std::string text = "text: " + (options().text_column.empty() ? "text" : options().text_column);
    if (!options().pair_column.empty()) text += "; pair: " + options().pair_column;
    if (!label_.empty()) text += "; label: " + label_;
    return text + "; id: id";
  }

 private:
  // "title,text": attributes of the article and its text, joined by a blank.
  std::string joined(const std::string& columns) const {
    std::string text;
    bool first = true;
    for (const std::string& name : split_column_list(columns)) {
      const std::string* part = name == "text" ? &article_.text : attribute(article_, name);
      if (part == nullptr) missing(article_, name, path());
      if (!std::exchange(first, false)) text += ' ';
      text += *part;
    }
    return text;
  }

  [[noreturn]] static void missing(const Article& article, const std::string& name, const std::string& path) {
    std::string known = "text";
    for (const auto& [key, value] : article.attributes) known += ", " + text_for_message(key);
    throw_bad_input(fmt::format("{}:{}: the article has no '{}'", path, article.line, text_for_message(name)),
                    "there are: " + text_for_message(known, 300));
  }

  void read_labels(const std::string& file) {
    ArticleReader reader(TextInput(file), options().replace_invalid);
    for (Article article; reader.next(article);) {
      const std::string& id = id_of(article, file);
      const std::string* label = attribute(article, label_);
      if (label == nullptr) missing(article, label_, file);
      if (is_blank(*label)) {
        throw_bad_input(fmt::format("{}:{}: the label is empty (attribute '{}')", file, article.line,
                                    text_for_message(label_)),
                        message("every article needs a label; leave it out, or look at `label_column`"));
      }
      if (!labels_.emplace(id, *label).second) {
        throw_bad_input(
            fmt::format("{}:{}: the id '{}' has a label already", file, article.line, text_for_message(id)),
            "ids must differ, over all files of labels");
      }
    }
    replaced_in_labels_ += reader.replaced();
  }

  ArticleReader reader_;
  Article article_;
  std::string label_;  // the attribute; empty: labels are not read
  std::map<std::string, std::string> labels_;
  std::uint64_t replaced_in_labels_ = 0;
};

}  // namespace

std::unique_ptr<LabelledTexts::Source> open_article_source(TextInput input,
                                                           const LabelledTextOptions& options) {
  return std::make_unique<ArticleSource>(std::move(input), options);
}

}  // namespace bigbird
