// Fuzzes the reader of tokenizer.json, and encoding with what it reads. Seeds: seeds/tokenizer_json.
#include "tests/fuzz/entry_tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::tokenizer_json(data, size);
  return 0;
}
