// Fuzzes the readers of documents of running text. Seeds: seeds/documents.
#include "tests/fuzz/entry_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::documents(data, size);
  return 0;
}
