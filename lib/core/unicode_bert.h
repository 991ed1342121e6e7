// Characters as BERT's tokenizers class them: as the tokenizers package (0.22) does, whose tables are those
// of Unicode 8. A character that came later has no category there, so it is no control, mark or punctuation.
// transformers' BertTokenizer in Python differs: its tables are Python's own, it removes unassigned
// characters, takes U+2B820 to U+2B91F as ideographs too, and composes (NFC) what it does not decompose.
#pragma once

namespace bigbird {

// What is removed from a text: U+0000, U+FFFD and categories Cc, Cf and Co but for tab and ends of lines.
bool is_bert_control(char32_t c);
// A word of its own: the ASCII signs that are neither letters nor digits, and categories P*.
bool is_bert_punctuation(char32_t c);
// What is removed with accents: category Mn.
bool is_bert_accent(char32_t c);
// Ideographs, each of which is a word.
bool is_bert_ideograph(char32_t c);

}  // namespace bigbird
