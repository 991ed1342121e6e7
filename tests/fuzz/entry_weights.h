// What the fuzzers of weight files do with their bytes; the suite's short runs do the same.
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/weights/safetensors.h"
#include "lib/io/weights/torch_file.h"
#include "lib/io/weights/weight_files.h"
#include "tests/fuzz/fuzz_file.h"

namespace bigbird::fuzz {

// A folder of this process, with two small shards for an index to name.
inline const std::string& weights_folder() {
  static const std::string folder = [] {
    const std::string path = "/tmp/bigbird-fuzz-weights-" + std::to_string(getpid());
    std::filesystem::create_directories(path);
    const std::array<float, 2> values{1, 2};
    write_safetensors(path + "/one.safetensors", {{"a", TensorType::f32, {2}, values.data()}});
    write_safetensors(path + "/two.safetensors", {{"b", TensorType::f32, {1, 2}, values.data()}});
    return path;
  }();
  return folder;
}

// Reads every value of a file of weights. An Error, in one line, is a right answer. Returns whether all was
// read.
inline bool weights(const std::string& name, const std::uint8_t* data, std::size_t size) {
  const std::string path = weights_folder() + "/" + name;
  write_bytes(path, data, size);
  try {
    const WeightFiles files(path);
    for (const StoredTensor& tensor : files.tensors()) {
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

inline bool safetensors(const std::uint8_t* data, std::size_t size) {
  return weights("fuzz.safetensors", data, size);
}
inline bool torch_file(const std::uint8_t* data, std::size_t size) {
  return weights("fuzz.bin", data, size);
}
inline bool weight_index(const std::uint8_t* data, std::size_t size) {
  return weights("fuzz.index.json", data, size);
}

// The pickle alone: the checksum of a zip entry keeps most of a fuzzer's changes away from it.
inline bool torch_pickle(const std::uint8_t* data, std::size_t size) {
  try {
    read_torch_pickle({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
    return true;
  } catch (const Error& error) {
    if (error.message().find('\n') != std::string::npos) std::abort();
    return false;
  }
}

}  // namespace bigbird::fuzz
