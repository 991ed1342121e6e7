// pytorch_model.bin: the tensors of a state dictionary that torch.save wrote (PyTorch 1.6 and later: a zip
// container with a pickle), without running anything that is in it.
#pragma once

#include <string>
#include <vector>

#include "lib/io/weights/stored_tensor.h"
#include "lib/io/weights/zip_archive.h"

namespace bigbird {

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
