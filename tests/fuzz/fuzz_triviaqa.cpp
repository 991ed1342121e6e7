// Fuzzes the readers of TriviaQA's questions and answers, their windows and labels. Seeds: seeds/triviaqa.
#include "tests/fuzz/entry_triviaqa.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::triviaqa(data, size);
  return 0;
}
