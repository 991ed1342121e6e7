// Fuzzes the reader of MATLAB files. Seeds: seeds/matlab.
#include "tests/fuzz/entry_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::matlab(data, size);
  return 0;
}
