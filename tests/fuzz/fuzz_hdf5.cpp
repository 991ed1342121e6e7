// Fuzzes the reader of HDF5 files. Seeds: seeds/hdf5.
#include "tests/fuzz/entry_tables.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bigbird::fuzz::hdf5(data, size);
  return 0;
}
