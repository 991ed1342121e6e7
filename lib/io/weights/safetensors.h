// lib/io/weights holds files of weights: safetensors, PyTorch's zip and pickle, shards with an index. Readers
// trust no byte of a file. Names of tensors and dialects are known in lib/model_folder.
//
// safetensors files (Hugging Face's weight format): 8 bytes of header length, a JSON header, then the
// tensors' bytes. The reader trusts nothing in the header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/io/files/file.h"
#include "lib/io/weights/stored_tensor.h"

namespace bigbird {

struct TensorInfo {
  std::string name;
  TensorType type = TensorType::f32;
  std::vector<std::int64_t> shape;  // row-major; empty for a scalar
  std::uint64_t begin = 0;          // bytes from the start of the data section
  std::uint64_t end = 0;
  std::uint64_t elements() const;
};

// Memory-mapped. Error{bad_input} naming file and tensor: header longer than 100 MB or than the file, JSON
// that is none or has other fields, unknown dtypes, shapes whose product overflows or disagrees with the byte
// range, ranges outside the file, overlaps, holes, bytes after the last tensor, duplicate names.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  // In order of their bytes.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool has(const std::string& name) const;
  // Error naming the file when it is not there.
  const TensorInfo& info(const std::string& name) const;
  std::span<const std::byte> bytes(const std::string& name) const;
  // The view that the conversions below read; lives as long as this object.
  StoredTensor stored(const std::string& name) const;

  // Without a copy: F32 only, and only when the data lie aligned in the file (Error else). Lives as long as
  // this object.
  std::span<const float> float_view(const std::string& name) const;
  // Converted from F64, F32, F16, BF16 (exactly, except F64, which is rounded); Error for integer types.
  std::vector<float> floats(const std::string& name) const;
  // The same into the caller's memory; Error when the sizes differ.
  void read_floats(const std::string& name, std::span<float> out) const;
  // From the types of whole numbers; Error for floating types.
  std::vector<std::int64_t> integers(const std::string& name) const;

 private:
  MappedFile file_;
  std::size_t data_begin_ = 0;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::map<std::string, std::string> metadata_;
};

struct TensorToWrite {
  std::string name;
  TensorType type = TensorType::f32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;  // elements in row-major order; not owned
};

// Writes the tensors in the given order, the header padded with blanks to 8 bytes; whole or not at all
// (AtomicFile).
void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace bigbird
