// lib/text holds what the tasks over texts share: how a text becomes an input, and what a model was trained
// to read. Each task has a folder, and none of them includes another. Metrics are in lib/metrics.
//
// One text or a pair of them as a model reads it: [CLS] A [SEP], or [CLS] A [SEP] B [SEP]. Texts are data:
// the name of a special piece inside of one is ordinary text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/text/text_settings.h"
#include "lib/tokenization/text_encoding.h"

namespace bigbird {

class Tokenizer;

struct EncodedInput {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> types;  // empty: all 0
  bool cut = false;                 // it was longer than `length` and lost tokens at the right end of a text
  bool blank = false;               // nothing but special pieces
};

// At most `length` tokens. What does not fit is cut at the right end, of a pair from the longer text down to
// the shorter; where both must be cut to halves, an odd token stays with the longer, of equal ones with the
// second: "longest_first" of transformers' fast tokenizers (truncate_encodings of tokenizers; the slow ones
// leave the odd token to the first). Of a long text no more is encoded than that takes; `unknown`, where
// given, counts in what was encoded. Error{usage}: a length without room for a token of each text.
EncodedInput encode_input(const Tokenizer& tokenizer, std::string_view text,
                          std::optional<std::string_view> pair, const TextSettings& settings,
                          std::int64_t length, UnknownTally* unknown = nullptr);

}  // namespace bigbird
