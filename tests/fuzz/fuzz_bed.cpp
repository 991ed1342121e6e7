// Fuzzes the reader of BED files.
#include "lib/io/genome/bed.h"
#include "tests/fuzz/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bigbird;
  return fuzz::with_file(".bed", data, size, [](const std::string& path) { read_bed(path); });
}
