// Words a sentence, idioms, and the form of help; see plain_english.h.
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

constexpr std::size_t text_column = 34;  // of --help (apps/help.cpp)
const std::string default_mark = "(default: ";

bool is_verb(const std::string& word) {
  static const std::set<std::string> verbs = {
      "Accept", "Add",   "Append", "Average", "Begin",   "Carry",   "Compare", "Convert",   "Copy",
      "Count",  "Cut",   "Draw",   "Drop",    "End",     "Fit",     "Go",      "Ignore",    "Keep",
      "Leave",  "Let",   "Lift",   "Make",    "Merge",   "Measure", "Move",    "Print",     "Put",
      "Read",   "Scan",  "Set",    "Refuse",  "Replace", "Score",   "Search",  "Recompute", "Show",
      "Skip",   "Split", "Stop",   "Take",    "Train",   "Treat",   "Try",     "Turn",      "Write"};
  return verbs.count(word) > 0;
}

// What a text about a value does not begin with: words that begin a sentence, or point at another text.
bool begins_no_noun(const std::string& word) {
  static const std::set<std::string> others = {
      "A",    "Also", "An",   "Any",  "At",      "By",   "Each", "Else",  "Every",  "For",  "From",
      "Give", "How",  "If",   "In",   "Instead", "Its",  "It",   "No",    "Not",    "Of",   "On",
      "Only", "So",   "That", "The",  "Their",   "They", "This", "Those", "To",     "What", "When",
      "Up",   "Use",  "With", "Then", "These",   "Who",  "Why",  "Where", "Whether"};
  return others.count(word) > 0 || is_verb(word);
}

// `words` in `text`, and not in a part of a word.
bool has_words(const std::string& text, const std::string& words) {
  for (std::size_t at = 0; (at = text.find(words, at)) != std::string::npos; ++at) {
    const std::size_t end = at + words.size();
    if ((at == 0 || !is_letter_or_digit(text[at - 1])) &&
        (end == text.size() || !is_letter_or_digit(text[end])))
      return true;
  }
  return false;
}

// Behind the parenthesis that closes the one at `begin`.
std::size_t end_of_parentheses(const std::string& text, std::size_t begin) {
  std::size_t open = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '(') ++open;
    if (text[i] == ')' && --open == 0) return i + 1;
  }
  return std::string::npos;
}

// "-@,--threads INT=auto ... (required)" without a text.
HelpEntry entry_of(const std::string& head) {
  HelpEntry entry;
  std::istringstream in(head);
  in >> entry.name;
  for (std::string word; in >> word;) {
    if (word != "..." && word != "(required)") entry.value += (entry.value.empty() ? "" : " ") + word;
  }
  int inside = 0;  // the "=" of "[NAME=]FILE" begins no default
  for (std::size_t i = 0; i < entry.value.size(); ++i) {
    const char c = entry.value[i];
    inside += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (c != '=' || inside > 0) continue;
    entry.constant = entry.value.substr(i + 1);
    entry.value.erase(i);
  }
  return entry;
}

}  // namespace

std::vector<HelpEntry> entries_of(const std::string& help) {
  std::vector<HelpEntry> entries;
  const std::vector<std::string> lines = lines_of(help);
  const std::string text_indent(text_column, ' ');
  const auto is_text = [&](std::size_t i) { return i < lines.size() && lines[i].starts_with(text_indent); };
  const auto usage = std::find_if(lines.begin(), lines.end(),
                                  [](const std::string& line) { return line.starts_with("Usage:"); });
  const auto begin = static_cast<std::size_t>(usage == lines.end() ? 0 : usage - lines.begin());
  for (std::size_t i = begin; i < lines.size(); ++i) {
    if (lines[i].starts_with("Verbs that begin")) break;
    if (!lines[i].starts_with("  ") || is_text(i)) continue;
    const bool below = is_text(i + 1);
    entries.push_back(entry_of(below ? lines[i] : lines[i].substr(0, text_column)));
    const std::string& text = below ? lines[i + 1] : lines[i];
    entries.back().text = text.substr(std::min(text_column, text.size()));
  }
  return entries;
}

std::vector<std::string> faults_of(const HelpEntry& entry) {
  std::vector<std::string> faults;
  const std::string& text = entry.text;
  const auto fault = [&](const std::string& what) {
    faults.push_back(entry.name + ": " + what + ": " + text);
  };
  const auto end = std::find_if_not(text.begin(), text.end(), is_letter_or_digit);
  const std::string first(text.begin(), end);
  if (first.empty() || std::islower(static_cast<unsigned char>(first[0])) != 0)
    fault("does not begin with a capital or a digit");
  const bool is_flag = entry.value.empty() && entry.name[0] == '-';
  if (is_flag && !is_verb(first)) fault("a flag begins with a verb");
  if (!is_flag && begins_no_noun(first)) fault("does not begin with what it sets");
  if (text.ends_with('.') && !text.ends_with(" ...")) fault("ends with a full stop");

  const std::size_t at = text.find(default_mark);
  const bool tells = at != std::string::npos;
  if (tells && end_of_parentheses(text, at) != text.size()) fault("does not end with its default");
  if (tells && !entry.constant.empty() && entry.constant != "auto") fault("tells a default that is printed");
  if (!tells && entry.constant == "auto") fault("does not tell what auto is");
  const std::string before = lower(text.substr(0, at));
  for (const char* other :
       {"default", "else", "otherwise", "without it", "without them", "when not given", "where not given",
        "if not given", "if none is given", "unless given", "when left out", "when absent", "if absent"}) {
    if (has_words(before, other)) fault("tells a default in other words (" + std::string(other) + ")");
  }
  return faults;
}

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
