// Fuzzes the reader of the tensors of a pytorch_model.bin, around whose pickle the container is made. Seeds:
// seeds/torch_tensors.
#include "tests/fuzz/entry_torch_tensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::torch_tensors(data, size);
  return 0;
}
