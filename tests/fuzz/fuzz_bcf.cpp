// Fuzzes the reader of BCF. Seeds: seeds/bcf.
#include "tests/fuzz/entry_vcf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::bcf(data, size);
  return 0;
}
