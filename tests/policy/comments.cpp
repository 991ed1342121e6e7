// Citations, links and torn lines; see comments.h.
#include "tests/policy/comments.h"

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <sstream>
#include <string_view>

#include "tests/policy/lines.h"
#include "tests/support/support.h"

namespace bigbird::policy {
namespace {

std::string place(const std::string& path, std::size_t line) {
  return path + ":" + std::to_string(line + 1) + ": ";
}

// A line that holds nothing but a comment.
struct CommentLine {
  std::size_t column = 0;  // of the two slashes
  std::size_t indent = 0;  // blanks behind them
  std::string text;        // not empty
};

std::optional<CommentLine> comment_line(const std::string& line) {
  CommentLine comment;
  comment.column = line.find_first_not_of(' ');
  if (comment.column == std::string::npos || line.compare(comment.column, 2, "//") != 0) return std::nullopt;
  const std::size_t begin = line.find_first_not_of(' ', comment.column + 2);
  if (begin == std::string::npos) return std::nullopt;
  comment.indent = begin - comment.column - 2;
  comment.text = line.substr(begin);
  return comment;
}

// Two or more blanks between words: the gap before a table's next column. Its end, and its width.
struct Gap {
  std::size_t end = 0;
  std::size_t width = 0;
};
std::optional<Gap> first_gap(const std::string& text) {
  const std::size_t begin = text.find("  ");
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t end = text.find_first_not_of(' ', begin);
  return end == std::string::npos ? std::nullopt : std::optional<Gap>({end, end - begin});
}

bool ends_sentence(const std::string& text) {
  const std::size_t last = text.find_last_not_of("\"')`*]");
  return last != std::string::npos && std::string_view(".:;?!").find(text[last]) != std::string_view::npos;
}

std::string first_word(const std::string& text) {
  return text.substr(0, text.find(' '));
}

// Comments fill their lines to about 110 columns; this much may stay free.
constexpr std::size_t filled = 95;
constexpr std::size_t limit = 110;

// Whether a word that belongs behind this line of prose would have had room there.
bool stops_early(const std::string& line, const CommentLine& comment, const CommentLine& next) {
  if (comment.indent != 1 || next.indent != 1 || first_gap(comment.text) || ends_sentence(comment.text))
    return false;
  static const std::regex bullet("[-*]|[0-9]+\\.");
  const std::string word = first_word(next.text);
  return !std::regex_match(word, bullet) && line.size() + 1 + word.size() <= filled;
}

// Whether `next` is a row of a table that begins with the last words of the row before it.
bool runs_into(const std::string& line, const CommentLine& comment, const CommentLine& next) {
  if (comment.indent < 2 || comment.indent != next.indent || line.size() < filled) return false;
  const std::optional<Gap> column = first_gap(comment.text), shifted = first_gap(next.text);
  return column && shifted && shifted->width > 2 && shifted->end > column->end;
}

// Whether the comment holds nothing but the last words of the row before it, where the table goes on.
bool is_left_over(const std::string& line_before, const CommentLine& before, const CommentLine& comment,
                  const std::optional<CommentLine>& next) {
  constexpr std::size_t few_words = 40;
  return before.indent >= 2 && before.indent == comment.indent && line_before.size() >= 85 && next &&
         next->indent >= comment.indent && comment.text.size() <= few_words && !first_gap(comment.text) &&
         !ends_sentence(before.text) && before.text.find(" // ") == std::string::npos;
}

// The literal that a line holds and nothing else, with its quotes; empty for other lines.
std::string lone_literal(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  const std::size_t end = line.find_last_not_of(' ');
  if (begin == std::string::npos || end == begin || line[begin] != '"' || line[end] != '"' ||
      line[end - 1] == '\\')
    return {};
  for (std::size_t i = begin + 1; i < end; ++i) {
    if (line[i] == '"' && line[i - 1] != '\\') return {};
  }
  return line.substr(begin, end - begin + 1);
}

// Whether the line is a short piece in the middle of a literal, and is not meant to be a line of its text.
bool is_splinter(const std::string& before, const std::string& line, const std::string& next) {
  constexpr std::size_t splinter = 30;
  const std::string piece = lone_literal(line);
  if (piece.empty() || piece.size() > splinter) return false;
  const std::size_t end = before.find_last_not_of(' ');
  const std::size_t begin = next.find_first_not_of(' ');
  const bool between =
      end != std::string::npos && before[end] == '"' && begin != std::string::npos && next[begin] == '"';
  const auto breaks = [](const std::string& text) { return text.find("\\n\"") != std::string::npos; };
  return between && !breaks(before) && !breaks(piece);
}

// The text as one line, in which ends of lines and the comment signs behind them are a single blank; `lines`
// has the line of every character.
std::string joined_lines(const std::string& text, std::vector<std::size_t>& lines) {
  std::string joined;
  std::size_t number = 0;
  for (const std::string& line : lines_of(text)) {
    std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    if (line.compare(begin, 2, "//") == 0) begin += 2;
    if (begin < line.size() && line[begin] == '#') ++begin;
    begin = std::min(line.find_first_not_of(' ', begin), line.size());
    const std::string part = line.substr(begin) + " ";
    joined += part;
    lines.insert(lines.end(), part.size(), number++);
  }
  return joined;
}

}  // namespace

std::set<std::string> heading_numbers(const std::string& markdown) {
  static const std::regex heading("#+ ([0-9]+(\\.[0-9]+)*)\\.? .*");
  std::set<std::string> numbers;
  for (const std::string& line : lines_of(markdown)) {
    std::smatch match;
    if (std::regex_match(line, match, heading)) numbers.insert(match[1]);
  }
  return numbers;
}

Headings headings_of(const std::filesystem::path& root) {
  Headings headings;
  for (const auto& entry : std::filesystem::directory_iterator(root / "docs")) {
    if (entry.path().extension() != ".md") continue;
    headings["docs/" + entry.path().filename().string()] = heading_numbers(testing::read_text(entry.path()));
  }
  return headings;
}

std::vector<std::string> citation_violations(const std::string& path, const std::string& text,
                                             const Headings& headings) {
  std::vector<std::string> found;
  const auto holds = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (!holds("docs/") && !holds("specification") && !holds("design:")) return found;
  std::vector<std::size_t> lines;
  const std::string joined = joined_lines(text, lines);
  // A page, and behind it numbers of sections: "1.3", "1.3 and 2.1", "1.4 to 1.7".
  static const std::regex citation(
      "\\bdocs/[A-Za-z0-9_-]+\\.md((?: [0-9]+(?:\\.[0-9]+)*(?:,? (?:and|to) [0-9]+(?:\\.[0-9]+)*)*)?)");
  static const std::regex number("[0-9]+(\\.[0-9]+)*");
  for (std::sregex_iterator match(joined.begin(), joined.end(), citation), end; match != end; ++match) {
    const std::string where = place(path, lines[static_cast<std::size_t>(match->position())]);
    const std::string whole = match->str();
    const std::string page = whole.substr(0, whole.find(".md") + 3);
    const auto known = headings.find(page);
    if (known == headings.end()) {
      found.push_back(where + "there is no " + page);
      continue;
    }
    const std::string sections = (*match)[1];
    if (known->second.empty()) continue;  // a number behind such a page is none of a section
    for (std::sregex_iterator section(sections.begin(), sections.end(), number); section != end; ++section) {
      if (known->second.count(section->str()) == 0) {
        found.push_back(where + page + " has no section " + section->str());
      }
    }
  }
  static const std::regex homeless(
      "(?:^|[^/])\\b(?:specification|design:)(?: section)? [0-9]+(?:\\.[0-9]+)*\\b");
  for (std::sregex_iterator match(joined.begin(), joined.end(), homeless), end; match != end; ++match) {
    found.push_back(place(path, lines[static_cast<std::size_t>(match->position())]) +
                    "name the page of docs whose section this is");
  }
  return found;
}

std::vector<std::string> link_violations(const std::string& path, const std::string& markdown,
                                         const std::filesystem::path& root) {
  std::vector<std::string> found;
  const std::vector<std::string> lines = lines_of(markdown);
  static const std::regex link("\\]\\(([^)# ]+)(#[^)]*)?\\)");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::sregex_iterator match(lines[i].begin(), lines[i].end(), link), end; match != end; ++match) {
      const std::string target = (*match)[1];
      if (target.find("://") != std::string::npos || target.rfind("mailto:", 0) == 0) continue;
      if (!std::filesystem::exists(root / std::filesystem::path(path).parent_path() / target)) {
        found.push_back(place(path, i) + "the link leads nowhere: " + target);
      }
    }
  }
  return found;
}

std::vector<std::string> torn_text(const std::string& path, const std::string& text) {
  std::vector<std::string> found;
  const std::vector<std::string> lines = lines_of(text);
  const bool test =
      path.rfind("tests/", 0) == 0;  // their literals are often files, cut where the reader sees it
  // The comment in line i where it stands in one run with that of line i + 1 (same column).
  const auto comment_at = [&](std::size_t i, std::size_t column) -> std::optional<CommentLine> {
    if (i >= lines.size()) return std::nullopt;
    std::optional<CommentLine> comment = comment_line(lines[i]);
    return comment && comment->column == column ? comment : std::nullopt;
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!test && i > 0 && i + 1 < lines.size() && is_splinter(lines[i - 1], lines[i], lines[i + 1])) {
      found.push_back(place(path, i) + "a literal is cut into short pieces");
    }
    const std::optional<CommentLine> comment = comment_line(lines[i]);
    if (!comment) continue;
    if (lines[i].size() > limit) found.push_back(place(path, i) + "a comment fills 110 columns at most");
    const std::optional<CommentLine> next = comment_at(i + 1, comment->column);
    if (next && stops_early(lines[i], *comment, *next)) {
      found.push_back(place(path, i) + "the next word had room in this line");
    }
    if (next && runs_into(lines[i], *comment, *next)) {
      found.push_back(place(path, i + 1) + "a row of a table was run into the one before it");
    }
    const std::optional<CommentLine> before = i > 0 ? comment_at(i - 1, comment->column) : std::nullopt;
    if (before && is_left_over(lines[i - 1], *before, *comment, next)) {
      found.push_back(place(path, i) + "the last words of the line before it stand alone");
    }
  }
  return found;
}

std::vector<std::string> size_violations(const std::string& path, const std::string& text, std::size_t lines,
                                         std::size_t columns) {
  std::vector<std::string> found;
  const std::vector<std::string> all = lines_of(text);
  if (all.size() > lines) {
    found.push_back(place(path, lines) + "the page may have " + std::to_string(lines) + " lines");
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Characters, not bytes: a byte 10xxxxxx goes on with the character before it.
    const auto characters = std::count_if(all[i].begin(), all[i].end(), [](char byte) {
      return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
    });
    if (static_cast<std::size_t>(characters) > columns) {
      found.push_back(place(path, i) + "a line may have " + std::to_string(columns) + " characters");
    }
  }
  return found;
}

std::vector<std::string> citing_files(const std::filesystem::path& root) {
  constexpr std::array<std::string_view, 9> extensions = {".h",  ".cpp", ".cuh", ".cu", ".inc",
                                                          ".py", ".sh",  ".md",  ".txt"};
  std::vector<std::string> files;
  const auto add = [&](const std::filesystem::path& path) {
    const std::string extension = path.extension().string();
    if (std::find(extensions.begin(), extensions.end(), extension) != extensions.end()) {
      files.push_back(std::filesystem::relative(path, root).generic_string());
    }
  };
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.is_regular_file()) add(entry.path());
  }
  for (const char* room : {"apps", "docs", "kernels", "lib", "pipelines", "reference", "tests"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / room)) {
      if (entry.is_regular_file()) add(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace bigbird::policy
