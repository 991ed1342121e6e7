// Fuzzes the reader of the index of a TensorFlow checkpoint, around whose block of entries the table is made.
// Seeds: seeds/tensorflow_block.
#include "tests/fuzz/entry_tensorflow_block.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::tensorflow_block(data, size);
  return 0;
}
