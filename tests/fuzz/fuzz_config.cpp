// Fuzzes the reader of config.json.
#include "lib/model/config.h"
#include "lib/model_folder/config_json.h"
#include "tests/fuzz/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bigbird;
  return fuzz::with_file(".json", data, size, [](const std::string& path) { read_config(path); });
}
