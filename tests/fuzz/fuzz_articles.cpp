// Fuzzes the reader of articles in XML and of their labels. Seeds: seeds/articles.
#include "tests/fuzz/entry_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::articles(data, size);
  return 0;
}
