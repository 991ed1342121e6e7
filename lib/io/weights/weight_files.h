// The weights of a model, wherever they lie: model.safetensors or pytorch_model.bin, whole or in shards with
// an index, or a checkpoint of TensorFlow, behind one interface.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/io/weights/stored_tensor.h"

namespace bigbird {

// Memory-mapped. `path` is a folder (the first that is there of model.safetensors,
// model.safetensors.index.json, pytorch_model.bin, pytorch_model.bin.index.json; one log line when there are
// several) or one of these files, or, outside of folders, PREFIX of PREFIX.index of TensorFlow, all of whose
// checksums are compared (tensorflow_bundle.h). Error{bad_input} naming the file: what the readers refuse; no
// weights there, or in a folder those of TensorFlow or Flax (the hint says how to convert them); Git LFS
// pointers; an index whose shards are missing or have a folder in their names, or that disagrees with what
// the shards hold.
class WeightFiles {
 public:
  explicit WeightFiles(const std::string& path);

  // File by file, in the order of each.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const StoredTensor* find(const std::string& name) const;  // nullptr when absent
  // The one file, or the index.
  const std::string& path() const { return path_; }
  // All files that were read: path() alone, or the index and its shards.
  const std::vector<std::string>& files() const { return files_; }

 private:
  void open_file(const std::string& file);
  void open_index(const std::string& index);
  void open_bundle(const std::string& prefix);
  void add(std::vector<StoredTensor> found);

  std::string path_;
  std::vector<std::string> files_;
  std::vector<std::shared_ptr<const void>> readers_;  // own the maps
  std::vector<StoredTensor> tensors_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

// SHA-256 of a folder's weights: of the one file; of several (index and shards), of their digests, a line
// each.
std::string weights_digest(const std::string& folder);

}  // namespace bigbird
