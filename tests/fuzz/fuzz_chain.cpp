// Fuzzes the reader of chain files. Seeds: seeds/chain.
#include "tests/fuzz/entry_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::chain(data, size);
  return 0;
}
