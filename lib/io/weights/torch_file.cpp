// See torch_file.h.
#include "lib/io/weights/torch_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/error.h"

namespace bigbird {
namespace {

// Recognises what is no zip container, to say how to make one.
ZipArchive open_archive(const std::string& path) {
  const MappedFile file(path);
  const std::string start(reinterpret_cast<const char*>(file.data()), std::min<std::size_t>(file.size(), 2));
  if (start == "PK") return ZipArchive(path);
  const std::string convert = fmt::format(
      "convert it: python -c \"import torch, safetensors.torch as s; w = torch.load('{}', "
      "map_location='cpu', weights_only=True); s.save_file({{k: v.clone().contiguous() for k, v in "
      "w.items()}}, 'model.safetensors')\"",
      one_line_name(path));
  if (start[0] == '\x80')
    throw_bad_input(path + ": written by PyTorch before 1.6, which is not read", convert);
  throw_bad_input(path + ": not a file of torch.save (no zip container)", convert);
}

[[noreturn]] void unreadable(const std::string& path, const std::string& what) {
  throw_bad_input(fmt::format("{}: {}", path, what), "the file is damaged; copy or save it again");
}

// "archive" for "archive/data.pkl": torch.save puts everything into one folder.
std::string folder_of(const ZipArchive& archive) {
  const ZipEntry* pickle = nullptr;
  constexpr std::string_view name = "/data.pkl";
  for (const ZipEntry& entry : archive.entries()) {
    if (!has_suffix(entry.name, name) || entry.name.find('/') + name.size() != entry.name.size()) continue;
    if (pickle != nullptr) unreadable(archive.path(), "two pickles in one file");
    pickle = &entry;
  }
  if (pickle == nullptr) {
    throw_bad_input(archive.path() + ": a zip container without a pickle named data.pkl",
                    "weights are written by torch.save(model.state_dict(), FILE)");
  }
  return pickle->name.substr(0, pickle->name.size() - name.size());
}

// No memory is so large: beyond it a stride is damage, even that of an axis of one element, which counts for
// nothing. Below it no sum of a few strides overflows.
constexpr std::int64_t most_stride = std::int64_t{1} << 48;

// The last element lies inside of the storage; a tensor without elements begins there.
void check_extent(const PickledTensor& tensor, const std::string& path) {
  const std::string name = one_line_name(tensor.name);
  std::uint64_t elements = 1, last = tensor.offset;
  bool overflow = false;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    if (tensor.strides[axis] > most_stride) {
      unreadable(path,
                 fmt::format("tensor {}: impossible stride {} of axis {}", name, tensor.strides[axis], axis));
    }
    const auto size = static_cast<std::uint64_t>(tensor.shape[axis]);
    const auto stride = static_cast<std::uint64_t>(tensor.strides[axis]);
    std::uint64_t reach = 0;
    overflow = overflow || __builtin_mul_overflow(elements, size, &elements) ||
               (size > 1 && (__builtin_mul_overflow(size - 1, stride, &reach) ||
                             __builtin_add_overflow(last, reach, &last)));
  }
  // A tensor never repeats elements of its storage (as expand() does): its size would be without a bound.
  const bool inside = elements == 0 ? tensor.offset <= tensor.storage_elements
                                    : last < tensor.storage_elements && elements <= tensor.storage_elements;
  if (overflow || !inside) {
    unreadable(path, fmt::format("tensor {} reaches beyond its storage of {} elements", name,
                                 tensor.storage_elements));
  }
}

}  // namespace

TorchFile::TorchFile(const std::string& path) : archive_(open_archive(path)) {
  const std::string folder = folder_of(archive_);
  if (archive_.find(folder + "/constants.pkl") != nullptr) {
    throw_bad_input(path + ": a TorchScript program, not weights",
                    "in Python: torch.save(torch.jit.load(FILE).state_dict(), 'pytorch_model.bin')");
  }
  if (const ZipEntry* order = archive_.find(folder + "/byteorder"); order != nullptr) {
    const std::span<const std::byte> bytes = archive_.bytes(*order);
    const std::string text(reinterpret_cast<const char*>(bytes.data()),
                           std::min<std::size_t>(bytes.size(), 16));
    if (text != "little") {
      throw_bad_input(
          fmt::format("{}: byte order '{}'; only little-endian files are read", path, one_line_name(text)),
          "load and save it again on a little-endian machine");
    }
  }
  const ZipEntry& pickle = *archive_.find(folder + "/data.pkl");
  for (const PickledTensor& tensor : read_torch_pickle(archive_.checked_bytes(pickle), path)) {
    const std::string name = one_line_name(tensor.name);
    const ZipEntry* storage = archive_.find(folder + "/data/" + tensor.storage);
    if (storage == nullptr)
      unreadable(path, fmt::format("tensor {}: storage {} is missing", name, one_line_name(tensor.storage)));
    const std::uint64_t size = tensor_type_size(tensor.type);
    if (storage->size % size != 0 || storage->size / size != tensor.storage_elements) {
      unreadable(path, fmt::format("tensor {}: {} bytes for a storage of {} {} elements", name, storage->size,
                                   tensor.storage_elements, tensor_type_name(tensor.type)));
    }
    check_extent(tensor, path);
    tensors_.push_back({tensor.name, tensor.type, tensor.shape, tensor.strides,
                        archive_.bytes(*storage).data() + tensor.offset * size, path});
  }
}

}  // namespace bigbird
