// Fuzzes the reader of the pickle inside of a pytorch_model.bin. Seeds: seeds/torch_pickle.
#include "tests/fuzz/entry_weights.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::torch_pickle(data, size);
  return 0;
}
