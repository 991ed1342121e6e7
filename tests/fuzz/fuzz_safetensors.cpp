// Fuzzes the reader of safetensors headers.
#include "lib/io/safetensors.h"
#include "tests/fuzz/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bigbird;
  return fuzz::with_file(".safetensors", data, size, [](const std::string& path) {
    const SafetensorsFile file(path);
    for (const TensorInfo& tensor : file.tensors()) file.bytes(tensor.name);
  });
}
