// Fuzzes the reader of WikiHop's questions and their inputs. Seeds: seeds/wikihop.
#include "tests/fuzz/entry_wikihop.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::wikihop(data, size);
  return 0;
}
