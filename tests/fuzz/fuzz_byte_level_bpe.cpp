// Fuzzes the readers of vocab.json with merges.txt and of tokenizer.json with ByteLevel, and encoding with
// what they read. Seeds: seeds/byte_level_bpe.
#include "tests/fuzz/entry_byte_level_bpe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::byte_level_bpe(data, size);
  return 0;
}
