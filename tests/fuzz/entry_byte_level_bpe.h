// What the fuzzer of byte-level BPE does with its bytes; the suite's short run does the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/tokenization/byte_level_definition.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"

namespace bigbird::fuzz {

// Reads what stands before a line "merges.txt" as vocab.json and what stands after it as merges.txt, or all
// of it as a tokenizer.json where there is no such line. A vocabulary that is read encodes a few texts, and
// every id and place must be right. An Error is a right answer. Returns whether the bytes were read.
inline bool byte_level_bpe(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::string border = "\nmerges.txt\n";
  const std::size_t at = bytes.find(border);
  try {
    const ByteLevelDefinition definition =
        at == std::string::npos
            ? parse_byte_level_json(bytes, "fuzz")
            : parse_byte_level_files(std::string_view(bytes).substr(0, at), "fuzz",
                                     std::string_view(bytes).substr(at + border.size()), "merges");
    const std::uint32_t some = definition.unknown.value_or(0);
    const auto tokenizer = make_byte_level_tokenizer(definition, {some, some, some, some, some}, "digest");
    std::string long_run(3000, 'a');
    for (const std::string_view text :
         {std::string_view("the  low's \xC3\xA9\xE4\xBD\xA0\n 12 the\t "), std::string_view(""),
          std::string_view(long_run), std::string_view(bytes).substr(0, 2000)}) {
      if (find_invalid_utf8(text) < text.size()) continue;
      const EncodedText found = encode_text(*tokenizer, text, {WhiteSpace::keep, false});
      for (std::size_t i = 0; i < found.ids.size(); ++i) {
        if (found.ids[i] >= tokenizer->vocab_size()) std::abort();
        if (found.begin[i] > found.end[i] || found.byte_end[i] > text.size()) std::abort();
        if (i > 0 && (found.begin[i] < found.begin[i - 1] || found.end[i] < found.end[i - 1])) std::abort();
      }
    }
    return true;
  } catch (const Error& error) {
    if (error.message().find('\n') != std::string::npos) std::abort();
    return false;
  }
}

}  // namespace bigbird::fuzz
