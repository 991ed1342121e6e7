// Fuzzes the reader of .npy matrices. Seeds: seeds/npy.
#include "tests/fuzz/entry_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::npy(data, size);
  return 0;
}
