// Private to lib/io/text: news articles in the XML of SemEval-2019 task 4 (Hyperpartisan News Detection), and
// the file of their labels. Parsed by expat as the lines come; entities of the file's own are not taken.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/io/text/text_lines.h"

namespace bigbird {

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

}  // namespace bigbird
