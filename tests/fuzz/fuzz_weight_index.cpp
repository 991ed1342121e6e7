// Fuzzes the reader of the index of weights in shards. Seeds: seeds/weight_index.
#include "tests/fuzz/entry_weights.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::weight_index(data, size);
  return 0;
}
