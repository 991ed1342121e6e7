// Fuzzes the readers of documents with summaries. Seeds: seeds/summaries.
#include "tests/fuzz/entry_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::summaries(data, size);
  return 0;
}
