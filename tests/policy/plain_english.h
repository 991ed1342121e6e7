// How plain the English of a text is: words a sentence, idioms that cost a reader a second pass, the width of
// its lines, and the form of an option's help (docs/style.md).
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

// An option or argument of --help: "-@,--threads INT=auto" and its text.
struct HelpEntry {
  std::string name;      // "-@,--threads"; "VCF"
  std::string value;     // "INT"; empty for a flag
  std::string constant;  // "auto", the default that is printed; may be empty
  std::string text;
};

// Of --help as a pipe gets it, each text in one line; from `Usage:` on, where there is one.
std::vector<HelpEntry> entries_of(const std::string& help);

// What is wrong with an entry's text, empty for nothing. It begins with a capital or a digit: a flag's with a
// verb, another's with what it sets and no verb, article or "Where". Its last words, without a full stop, are
// "(default: ...)" where a default is told that is no printed constant; what =auto is, is told there always.
std::vector<std::string> faults_of(const HelpEntry& entry);

}  // namespace bigbird::policy
