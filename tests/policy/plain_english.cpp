// Words a sentence and idioms; see plain_english.h.
#include "tests/policy/plain_english.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>

#include "tests/policy/lines.h"

namespace bigbird::policy {
namespace {

constexpr std::size_t widest_line = 110;

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

std::string lower(std::string word) {
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

// Blank-separated words that have a letter or a digit, small, without the signs around them; {} too.
std::vector<std::string> spoken_words(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    const auto begin = std::find_if(word.begin(), word.end(), is_letter_or_digit);
    if (begin == word.end()) {
      if (word.find("{}") != std::string::npos) words.emplace_back("{}");  // a message's word
      continue;
    }
    const auto end = std::find_if(word.rbegin(), word.rend(), is_letter_or_digit).base();
    words.push_back(lower(std::string(begin, end)));
  }
  return words;
}

// Links are their text, code spans one word; no signs of emphasis.
std::string plain(std::string text) {
  static const std::regex image(R"(!\[[^\]]*\]\([^)]*\))"), link(R"(\[([^\]]*)\]\([^)]*\))"), code("`[^`]*`"),
      emphasis(R"(\*\*|__)"), blanks(R"(\s+)");
  text = std::regex_replace(text, image, "");
  text = std::regex_replace(text, link, "$1");
  text = std::regex_replace(text, code, "CODE");
  text = std::regex_replace(text, emphasis, "");
  return std::regex_replace(text, blanks, " ");
}

bool ends_in_abbreviation(const std::string& text) {
  for (const char* one : {"e.g.", "i.e.", "et al.", "vs.", "cf.", "no.", "approx."}) {
    const std::string end = one;
    if (text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0)
      return true;
  }
  return false;
}

bool begins_an_item(const std::string& trimmed) {
  static const std::regex marker(R"(^([-*+]|\d+\.)\s)");
  return std::regex_search(trimmed, marker) || trimmed.rfind('>', 0) == 0;
}

std::string without_marker(const std::string& paragraph) {
  static const std::regex marker(R"(^\s*([-*+]|\d+\.|>)\s+)");
  return std::regex_replace(paragraph, marker, "");
}

}  // namespace

std::vector<std::string> idioms_of(const std::string& sentence) {
  static const std::set<std::string> single = {"say",  "says",   "said",  "saying", "tell",   "tells",
                                               "told", "stands", "stood", "behind", "lie",    "lies",
                                               "lay",  "lying",  "alone", "beside", "besides"};
  static const std::set<std::string> to_be = {"is", "are", "was", "were"};
  static const std::set<std::string> after_no = {"longer", "more", "less"};
  const std::vector<std::string> words = spoken_words(sentence);
  const std::size_t first_letter = std::min(sentence.find_first_not_of(" \"'("), sentence.size());
  const bool opens_with_of = sentence.compare(first_letter, 3, "Of ") == 0;  // "{} of {}" does not
  std::vector<std::string> found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    const bool pointing = (words[i] == "that" || words[i] == "those") && next == "of";
    const bool is_no = to_be.count(words[i]) > 0 && next == "no" && (i == 0 || words[i - 1] != "there") &&
                       (i + 2 >= words.size() || after_no.count(words[i + 2]) == 0);
    const bool of_first = i == 0 && opens_with_of;
    if (single.count(words[i]) == 0 && !pointing && !is_no && !of_first) continue;
    std::string around;
    for (std::size_t k = i < 3 ? 0 : i - 3; k < std::min(words.size(), i + 4); ++k)
      around += (around.empty() ? "" : " ") + words[k];
    found.push_back(around);
  }
  return found;
}

std::vector<std::string> sentences_of(const std::string& prose) {
  const std::string text = plain(prose);
  std::vector<std::string> sentences;
  std::size_t begin = 0;
  const auto end_at = [&](std::size_t end) {
    const std::string sentence = text.substr(begin, end - begin);
    if (!spoken_words(sentence).empty()) sentences.push_back(sentence);
    begin = end;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::string(".!?:").find(text[i]) == std::string::npos) continue;
    std::size_t next = i + 1;
    while (next < text.size() && std::string(")\"'").find(text[next]) != std::string::npos) ++next;
    if (next >= text.size() || text[next] != ' ') continue;
    while (next < text.size() && std::string(" \"'(").find(text[next]) != std::string::npos) ++next;
    const bool opens = next < text.size() && (std::isupper(static_cast<unsigned char>(text[next])) != 0 ||
                                              std::isdigit(static_cast<unsigned char>(text[next])) != 0);
    if (opens && !ends_in_abbreviation(text.substr(begin, i + 1 - begin))) end_at(i + 1);
  }
  end_at(text.size());
  return sentences;
}

double PageEnglish::mean() const {
  if (lengths.empty()) return 0;
  return static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0})) /
         static_cast<double>(lengths.size());
}

std::size_t PageEnglish::percentile_90() const {
  return lengths.empty() ? 0 : lengths[(lengths.size() - 1) * 9 / 10];
}

PageEnglish english_of(const std::string& path, const std::string& markdown) {
  PageEnglish page;
  std::string paragraph;
  std::size_t first = 0;
  const auto note = [&](const std::string& sentence, std::size_t line) {
    for (const std::string& idiom : idioms_of(sentence))
      page.idioms.push_back(path + ":" + std::to_string(line) + ": " + idiom);
  };
  const auto end_paragraph = [&] {
    for (const std::string& sentence : sentences_of(without_marker(paragraph))) {
      page.lengths.push_back(spoken_words(sentence).size());
      note(sentence, first);
    }
    paragraph.clear();
  };
  bool in_code = false;
  const std::vector<std::string> lines = lines_of(markdown);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    const std::string trimmed = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    const bool fence = trimmed.rfind("```", 0) == 0;
    const bool indented_code = paragraph.empty() && line.rfind("    ", 0) == 0;
    const bool table = trimmed.rfind('|', 0) == 0;
    const bool other = trimmed.empty() || trimmed.rfind('#', 0) == 0 || trimmed.rfind("![", 0) == 0 ||
                       trimmed.rfind('<', 0) == 0 || trimmed.rfind("---", 0) == 0;
    if (fence) in_code = !in_code;
    if (fence || in_code || indented_code || table || other) {
      end_paragraph();
      if (table && !in_code) note(plain(trimmed), i + 1);
      continue;
    }
    const auto columns = static_cast<std::size_t>(std::count_if(
        line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
    if (columns > widest_line)
      page.long_lines.push_back(path + ":" + std::to_string(i + 1) + ": " + std::to_string(columns) +
                                " columns");
    if (begins_an_item(trimmed)) end_paragraph();
    if (paragraph.empty()) first = i + 1;
    paragraph += line + " ";
  }
  end_paragraph();
  std::sort(page.lengths.begin(), page.lengths.end());
  return page;
}

}  // namespace bigbird::policy
