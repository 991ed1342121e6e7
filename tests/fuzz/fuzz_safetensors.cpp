// Fuzzes the reader of weight files in the safetensors format. Seeds: seeds/safetensors.
#include "tests/fuzz/entry_weights.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::safetensors(data, size);
  return 0;
}
