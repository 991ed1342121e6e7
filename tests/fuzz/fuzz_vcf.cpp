// Fuzzes the reader of variant files, and their text that the writer makes. Seeds: seeds/vcf.
#include "tests/fuzz/entry_vcf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::vcf(data, size, true);
  return 0;
}
