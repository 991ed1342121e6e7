// Articles of SemEval-2019 task 4, through expat; see labelled_articles.h.
#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/text/labelled_articles.h"

namespace bigbird {
namespace {

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

}  // namespace

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
      self.stop(fmt::format("<{}> stands where an <article> should", text_for_message(std::string(element))));
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

}  // namespace bigbird
