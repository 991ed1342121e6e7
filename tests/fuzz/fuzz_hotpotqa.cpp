// Fuzzes the reader of HotpotQA's questions, their inputs and labels. Seeds: seeds/hotpotqa.
#include "tests/fuzz/entry_hotpotqa.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::hotpotqa(data, size);
  return 0;
}
