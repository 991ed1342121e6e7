// Fuzzes the reader of SentencePiece models.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/core/error.h"
#include "lib/tokenization/sentencepiece_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    bigbird::parse_sentencepiece_model({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const bigbird::Error&) {
    return 0;
  }
  return 0;
}
