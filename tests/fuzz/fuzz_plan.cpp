// Fuzzes the reader of attention plans. Seeds: seeds/plan.
#include "tests/fuzz/entry_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::plan(data, size);
  return 0;
}
