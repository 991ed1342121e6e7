// What the fuzzer of the index of a TensorFlow checkpoint does with its bytes; the suite's short run does the
// same. Checksums keep nearly all of a fuzzer's changes away from what lies inside, so the bytes are a block
// of entries, and the table and a data file are made around them here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/weights/tensorflow_bundle.h"
#include "tests/fuzz/entry_weights.h"
#include "tests/support/tensorflow_bytes.h"

namespace bigbird::fuzz {

// Returns whether every value was read.
inline bool tensorflow_block(const std::uint8_t* data, std::size_t size) {
  const std::string prefix = weights_folder() + "/fuzz";
  const std::string index = testing::table_of_block({reinterpret_cast<const char*>(data), size});
  write_bytes(prefix + ".index", reinterpret_cast<const std::uint8_t*>(index.data()), index.size());
  const std::vector<std::uint8_t> numbers(1024, 1);
  write_bytes(prefix + ".data-00000-of-00001", numbers.data(), numbers.size());
  try {
    const TensorFlowBundle bundle(prefix);
    for (const StoredTensor& tensor : bundle.tensors()) {
      if (is_floating_point(tensor.type)) {
        std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
        read_floats(tensor, values);
      } else {
        read_integers(tensor);
      }
    }
    return true;
  } catch (const Error& error) {
    if (error.message().find('\n') != std::string::npos) std::abort();
    return false;
  }
}

}  // namespace bigbird::fuzz
