// What the fuzzer of tokenizer.json does with its bytes; the suite's short run does the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/error.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_json.h"
#include "lib/tokenization/tokenizer_kinds.h"

namespace bigbird::fuzz {

// Reads the bytes as a tokenizer.json; one that is read encodes a few texts, and every id and place must be
// right. An Error is a right answer. Returns whether the bytes were read.
inline bool tokenizer_json(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    const TokenizerJson definition = parse_tokenizer_json(bytes, "fuzz");
    const std::uint32_t id = definition.unknown.value_or(0);
    const SpecialIds special{id, id, id, id, id};
    const auto tokenizer = definition.is_of_text()
                               ? make_subword_tokenizer(definition, special, subword_pieces(definition),
                                                        vocabulary_digest(definition), "fuzz")
                               : make_json_tokenizer(definition, special, bytes);
    for (const std::string_view text :
         {std::string_view("ACGTNNNNNNNNNNNNTT-ACGGT[MASK] TATAxxACGTu \xC3\xA9\xFF"), std::string_view(""),
          std::string_view(bytes).substr(0, 2000)}) {
      std::vector<std::uint32_t> ids;
      std::vector<std::uint32_t> begins;
      tokenizer->encode(text, ids, &begins);
      if (ids.size() != begins.size()) std::abort();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= tokenizer->vocab_size() || begins[i] > text.size()) std::abort();
        if (i > 0 && begins[i] < begins[i - 1]) std::abort();
      }
    }
    return true;
  } catch (const Error& error) {
    if (error.message().find('\n') != std::string::npos) std::abort();
    return false;
  }
}

}  // namespace bigbird::fuzz
