// How plain the English of a text is: words a sentence, idioms that cost a reader a second pass, and the
// width of its lines (docs/style.md).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bigbird::policy {

// The idioms of a sentence, each with the words around it: "says", "stands", "that of", "Of ..." as its first
// word, "behind", "lies", "alone", "beside", "is no" (but "there is no" and "is no longer").
std::vector<std::string> idioms_of(const std::string& sentence);

// Sentences of prose in Markdown: a `code span` is one word, of a link only its text is read. A sentence ends
// at . ! ? or : before a capital, a digit or a code span, and with its paragraph or list item.
std::vector<std::string> sentences_of(const std::string& prose);

struct PageEnglish {
  std::vector<std::size_t> lengths;  // words of each sentence, ascending; tables, code and headings have none
  std::vector<std::string> idioms;   // "path:line: words around it", of tables too
  std::vector<std::string> long_lines;  // "path:line: N columns", of prose with more than 110
  double mean() const;
  std::size_t percentile_90() const;
};

// `path` is what its findings begin with.
PageEnglish english_of(const std::string& path, const std::string& markdown);

}  // namespace bigbird::policy
