// Fuzzes the readers of CSV and TSV files. Seeds: seeds/delimited.
#include "tests/fuzz/entry_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::delimited(data, size);
  return 0;
}
