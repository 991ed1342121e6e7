// Fuzzes the reader of SQuAD's questions, their windows and labels. Seeds: seeds/squad.
#include "tests/fuzz/entry_squad.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::squad(data, size);
  return 0;
}
