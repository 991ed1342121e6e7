// pytorch_model.bin: the tensors of a state dictionary that torch.save wrote (PyTorch 1.6 and later: a zip
// container with a pickle), without running anything that is in it.
//
// The pickle (torch_pickle.cpp) is read by a machine that knows dictionaries of tensors and nothing else: no
// class is looked up. Opcodes of protocols 2 to 5 that torch.save emits (Python's pickletools documents
// each); every other one is an Error that names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/io/weights/stored_tensor.h"
#include "lib/io/weights/zip_archive.h"

namespace bigbird {

// A tensor as torch._utils._rebuild_tensor_v2 gets it: a piece of a storage. Nothing is checked against the
// storage's bytes here.
struct PickledTensor {
  std::string name;     // its key in the dictionary
  std::string storage;  // its key among the archive's data/ entries
  TensorType type = TensorType::f32;
  std::uint64_t storage_elements = 0;
  std::uint64_t offset = 0;  // in elements
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements; as many as axes
};

// The tensors of a state dictionary, in its order. `where` names the file for messages. Error{bad_input}
// naming opcode or class and its byte: anything but tensors under text keys at the top level, an unknown
// opcode or class, a pickle cut short, one over 64 MB, with more than a million values, 200,000 tensors and
// storages or 1,000 open marks, a stack over 100,000, texts over 4,096 bytes, more than 16 axes, negative
// sizes.
std::vector<PickledTensor> read_torch_pickle(std::span<const std::byte> pickle, const std::string& where);

// Memory-mapped. Error{bad_input} naming file, entry, opcode or tensor: what ZipArchive and read_torch_pickle
// refuse, big-endian files, storages whose entry is missing or of another size, tensors that reach beyond
// their storage. Files of PyTorch before 1.6 and TorchScript programs are refused with the line of Python
// that converts them.
class TorchFile {
 public:
  explicit TorchFile(const std::string& path);

  // In the dictionary's order; they may share storage. They live as long as this object.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }

 private:
  ZipArchive archive_;
  std::vector<StoredTensor> tensors_;
};

}  // namespace bigbird
