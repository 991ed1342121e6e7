// See line_marks.h.
#include "lib/text/summarize/line_marks.h"

#include <algorithm>
#include <cstddef>

namespace bigbird {
namespace {

constexpr std::string_view line_mark = "<n>";
constexpr std::string_view between_lines = "\t\n\f\r ";

// The end of the mark [<\[]\S+[>\]] that begins at `at`, or `at` where none does.
std::size_t mark_end(std::string_view text, std::size_t at) {
  if (at >= text.size() || (text[at] != '<' && text[at] != '[')) return at;
  std::size_t end = std::min(text.find_first_of(between_lines, at), text.size());
  for (; end > at + 2; --end) {
    if (text[end - 1] == '>' || text[end - 1] == ']') return end;
  }
  return at;
}

}  // namespace

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (std::size_t at = 0;;) {
    const std::size_t found = text.find(from, at);
    result += text.substr(at, found == std::string_view::npos ? found : found - at);
    if (found == std::string_view::npos) return result;
    result += to;
    at = found + from.size();
  }
}

std::string with_line_marks(std::string_view text) {
  const std::string marked = replace_all(text, "\n", line_mark);
  const std::string_view from = marked;
  std::string result;
  for (std::size_t at = 0; at < from.size();) {
    const std::size_t end = from[at] == ' ' ? mark_end(from, at + 1) : at + 1;
    if (from[at] == ' ' && end > at + 1) {
      result += from.substr(at + 1, end - at - 1);
      at = end;
    } else {
      result += from[at++];
    }
  }
  return result;
}

std::string without_line_marks(std::string_view text) {
  std::string spaced;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = mark_end(text, at);
    if (end == at) {
      spaced += text[at++];
      continue;
    }
    spaced += ' ';
    spaced += text.substr(at, end - at);
    at = end;
  }
  return replace_all(spaced, line_mark, "\n");
}

}  // namespace bigbird
