// Fuzzes the reader of pytorch_model.bin: the zip container and what is in it. Seeds: seeds/torch_file.
#include "tests/fuzz/entry_weights.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::torch_file(data, size);
  return 0;
}
