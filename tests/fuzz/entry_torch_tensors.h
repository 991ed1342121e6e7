// What the fuzzer of the tensors of a pytorch_model.bin does with its bytes; the suite's short run does the
// same. The checksums of a zip container keep nearly all of a fuzzer's changes away from what lies inside, so
// the bytes are the pickle, and the container and the storages are made around them here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/weights/torch_file.h"
#include "tests/fuzz/entry_weights.h"
#include "tests/support/torch_bytes.h"

namespace bigbird::fuzz {

// Each storage has the size that the first tensor in it claims. Returns whether every value was read.
inline bool torch_tensors(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t most_elements = 4096;
  const std::string pickle(reinterpret_cast<const char*>(data), size);
  std::map<std::string, std::string> storages;
  try {
    for (const PickledTensor& tensor :
         read_torch_pickle({reinterpret_cast<const std::byte*>(data), size}, "fuzz")) {
      if (tensor.storage_elements > most_elements) continue;
      storages.emplace(tensor.storage,
                       std::string(tensor.storage_elements * tensor_type_size(tensor.type), '\1'));
    }
  } catch (const Error&) {
    return false;
  }
  std::vector<testing::ZipPart> parts{{"archive/data.pkl", pickle}};
  for (const auto& [key, bytes] : storages) parts.push_back({"archive/data/" + key, bytes});
  const std::string file = testing::zip_bytes(parts);
  return torch_file(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
}

}  // namespace bigbird::fuzz
