// Fuzzes the readers of files of predicted answers. Seeds: seeds/predictions.
#include "tests/fuzz/entry_predictions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::predictions(data, size);
  return 0;
}
