// See encoded_pair.h.
#include "lib/text/summarize/encoded_pair.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "lib/tokenization/text_encoding.h"

namespace bigbird {
namespace {

// At least `least` pieces, or all.
std::vector<std::int32_t> pieces_of(const Tokenizer& tokenizer, std::string_view text, bool line_marks,
                                    std::size_t least) {
  std::vector<std::uint32_t> ids;
  encode_begin(tokenizer, line_marks ? with_line_marks(text) : std::string(text), least, ids);
  return {ids.begin(), ids.end()};
}

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

PairEncoding pair_encoding(const ModelConfig& config, std::int64_t length, bool line_marks) {
  PairEncoding encoding;
  encoding.length = length;
  encoding.document_end = !config.is_coupled();
  const bool led = computes_as_led(config);
  encoding.line_marks = line_marks && !config.is_coupled() && !led;
  if (led) encoding.begin = static_cast<std::int32_t>(config.bos_token_id);
  encoding.end = static_cast<std::int32_t>(config.eos_token_id);
  return encoding;
}

EncodedDocument encode_document(const Tokenizer& tokenizer, std::string_view text,
                                const PairEncoding& encoding) {
  EncodedDocument document;
  const std::int64_t around = (encoding.begin ? 1 : 0) + (encoding.document_end ? 1 : 0);
  const auto room = static_cast<std::size_t>(std::max<std::int64_t>(encoding.length - around, 0));
  document.ids = pieces_of(tokenizer, text, encoding.line_marks, room + 1);
  document.blank = document.ids.empty();
  document.cut = document.ids.size() > room;
  if (document.cut) document.ids.resize(room);
  if (encoding.begin) document.ids.insert(document.ids.begin(), *encoding.begin);
  if (encoding.document_end) document.ids.push_back(encoding.end);
  return document;
}

EncodedDocument encode_summary(const Tokenizer& tokenizer, std::string_view text,
                               const PairEncoding& encoding) {
  EncodedDocument summary;
  const auto room = static_cast<std::size_t>(encoding.target_length);
  summary.ids = pieces_of(tokenizer, text, encoding.line_marks, room + 1);
  summary.blank = summary.ids.empty();
  if (encoding.begin) summary.ids.insert(summary.ids.begin(), *encoding.begin);
  summary.ids.push_back(encoding.end);
  summary.cut = summary.ids.size() > room;
  if (summary.cut) summary.ids.resize(room);
  return summary;
}

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
