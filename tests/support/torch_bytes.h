// Weight files of PyTorch, made byte by byte: zip containers and pickles that are right, and every way to
// make them wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bigbird::testing {

// One entry of a zip container; what differs from a right one is set by hand.
struct ZipPart {
  std::string name;
  std::string bytes;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::uint32_t crc_change = 0;    // xor
  std::int64_t size_change = 0;    // of both sizes in the directory
  std::string local_name = {};     // of the local header; empty: as `name`
  std::int64_t header_change = 0;  // of the local header's place in the directory
  bool zip64 = false;              // sizes and place in the extra field
};

// zip64_end: the directory's place and size in a zip64 record.
std::string zip_bytes(const std::vector<ZipPart>& parts, bool zip64_end = false);

// Opcodes of protocol 2, one method each.
class PickleWriter {
 public:
  PickleWriter& raw(const std::string& bytes);
  PickleWriter& text(const std::string& value);  // BINUNICODE
  PickleWriter& global(const std::string& module, const std::string& name);
  PickleWriter& integer(std::int64_t value);  // BININT or LONG1
  PickleWriter& tuple(const std::vector<std::int64_t>& values);
  // _rebuild_tensor_v2 of a storage in data/<key>.
  PickleWriter& tensor(const std::string& storage_class, const std::string& key,
                       std::int64_t storage_elements, std::int64_t offset,
                       const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// A state dictionary of contiguous float tensors, each with its own storage, as torch.save writes it.
struct FloatTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
std::vector<ZipPart> torch_parts(const std::vector<FloatTensor>& tensors);
std::string torch_bytes(const std::vector<FloatTensor>& tensors);
// The container around a pickle and its storages.
std::vector<ZipPart> torch_parts(const std::string& pickle, const std::vector<std::string>& storages);

}  // namespace bigbird::testing
