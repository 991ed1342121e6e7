// Fuzzes the reader of Natural Questions, their windows and labels. Seeds: seeds/natural_questions.
#include "tests/fuzz/entry_natural_questions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::natural_questions(data, size);
  return 0;
}
