// Checkpoints of TensorFlow ("tensor bundle", its second form, since 1.0), without TensorFlow: PREFIX.index,
// a sorted table of what the tensors are and where they lie, and PREFIX.data-00000-of-0000N. Source:
// TensorFlow, core/util/tensor_bundle and core/protobuf/tensor_bundle.proto.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/io/files/file.h"
#include "lib/io/weights/stored_tensor.h"

namespace bigbird {

// Memory-mapped. Error{bad_input} naming file and place: what read_sorted_table() refuses, a header of
// another version or byte order, tensors beyond their data file, of another size than their shape takes, of
// unknown shape, in slices, or of types without numbers (texts, resources; the object graph that TensorFlow 2
// keeps as text is left out); more than 200,000 tensors.
class TensorFlowBundle {
 public:
  // PREFIX, PREFIX.index or one of the data files.
  explicit TensorFlowBundle(const std::string& path);

  // In ascending order of names. They live as long as this object; their numbers have not been read.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  // The index, then the data files that hold something.
  const std::vector<std::string>& files() const { return files_; }
  // Reads all numbers: Error{bad_input} naming the first tensor whose checksum is another.
  void check_numbers() const;

  // PREFIX of a path that the constructor takes and whose index is there.
  static std::optional<std::string> prefix_of(const std::string& path);

 private:
  std::vector<StoredTensor> tensors_;
  std::vector<std::uint32_t> checksums_;  // of each, as stored
  std::vector<MappedFile> maps_;
  std::vector<std::string> files_;
};

}  // namespace bigbird
