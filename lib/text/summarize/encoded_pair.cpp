// See encoded_pair.h.
#include "lib/text/summarize/encoded_pair.h"

#include <string>

#include "lib/text/summarize/line_marks.h"
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

}  // namespace

PairEncoding pair_encoding(const ModelConfig& config, std::int64_t length, bool line_marks) {
  PairEncoding encoding;
  encoding.length = length;
  encoding.document_end = !config.is_coupled();
  encoding.line_marks = line_marks && !config.is_coupled();
  encoding.end = static_cast<std::int32_t>(config.eos_token_id);
  return encoding;
}

EncodedDocument encode_document(const Tokenizer& tokenizer, std::string_view text,
                                const PairEncoding& encoding) {
  EncodedDocument document;
  const auto room = static_cast<std::size_t>(encoding.length - (encoding.document_end ? 1 : 0));
  document.ids = pieces_of(tokenizer, text, encoding.line_marks, room + 1);
  document.blank = document.ids.empty();
  document.cut = document.ids.size() > room;
  if (document.cut) document.ids.resize(room);
  if (encoding.document_end) document.ids.push_back(encoding.end);
  return document;
}

EncodedDocument encode_summary(const Tokenizer& tokenizer, std::string_view text,
                               const PairEncoding& encoding) {
  EncodedDocument summary;
  const auto room = static_cast<std::size_t>(encoding.target_length);
  summary.ids = pieces_of(tokenizer, text, encoding.line_marks, room + 1);
  summary.blank = summary.ids.empty();
  summary.ids.push_back(encoding.end);
  summary.cut = summary.ids.size() > room;
  if (summary.cut) summary.ids.resize(room);
  return summary;
}

}  // namespace bigbird
