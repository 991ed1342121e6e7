// See tensorflow_bundle.h.
#include "lib/io/weights/tensorflow_bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/io/files/crc32c.h"
#include "lib/io/files/proto_fields.h"
#include "lib/io/weights/sorted_table.h"

namespace bigbird {
namespace {

constexpr std::uint64_t most_bundle_tensors = 200'000;
constexpr std::size_t most_bundle_axes = 64;
constexpr std::uint64_t most_bundle_shards = 99'999;  // their names have five digits
constexpr std::uint64_t bundle_version = 1;
// What TensorFlow 2 keeps beside the tensors: which Python object has which.
constexpr std::string_view object_graph = "_CHECKPOINTABLE_OBJECT_GRAPH";

// types.proto. Without a type of ours: known by name alone.
struct TensorFlowType {
  std::uint64_t number;
  const char* name;
  std::optional<TensorType> type;
};
constexpr std::array<TensorFlowType, 26> tensorflow_types{{{1, "float", TensorType::f32},
                                                           {2, "double", TensorType::f64},
                                                           {3, "int32", TensorType::i32},
                                                           {4, "uint8", TensorType::u8},
                                                           {5, "int16", TensorType::i16},
                                                           {6, "int8", TensorType::i8},
                                                           {7, "string", {}},
                                                           {8, "complex64", TensorType::c64},
                                                           {9, "int64", TensorType::i64},
                                                           {10, "bool", TensorType::boolean},
                                                           {11, "qint8", {}},
                                                           {12, "quint8", {}},
                                                           {13, "qint32", {}},
                                                           {14, "bfloat16", TensorType::bf16},
                                                           {15, "qint16", {}},
                                                           {16, "quint16", {}},
                                                           {17, "uint16", TensorType::u16},
                                                           {18, "complex128", TensorType::c128},
                                                           {19, "half", TensorType::f16},
                                                           {20, "resource", {}},
                                                           {21, "variant", {}},
                                                           {22, "uint32", TensorType::u32},
                                                           {23, "uint64", TensorType::u64},
                                                           {24, "float8_e5m2", TensorType::f8_e5m2},
                                                           {25, "float8_e4m3fn", TensorType::f8_e4m3},
                                                           {29, "int4", {}}}};

[[noreturn]] void damaged_bundle(const std::string& path, const std::string& what) {
  throw_bad_input(fmt::format("{}: {}", path, what),
                  "the checkpoint is damaged or incomplete; copy its .index and .data files again");
}

// For messages. What tells TensorFlow's long names apart stands at their ends.
std::string end_of_name(std::string_view name) {
  constexpr std::size_t most = 80;  // as one_line_name() has it
  if (name.size() <= most) return one_line_name(std::string(name));
  return "..." + one_line_name(std::string(name.substr(name.size() - most + 3)));
}

// BundleHeaderProto: num_shards (1), endianness (2), version (3).
std::uint64_t shards_of_header(std::string_view header, const std::string& path) {
  std::uint64_t shards = 0;
  for (ProtoField field; !header.empty();) {
    if (!next_field(header, field)) damaged_bundle(path, "the header is damaged");
    if (field.number == 1 && field.type == WireType::varint) shards = field.value;
    if (field.number == 2 && field.value != 0) {
      throw_bad_input(path + ": numbers of big-endian machines, which are not read",
                      "load and save the checkpoint again on a little-endian machine");
    }
    if (field.number != 3) continue;
    for (ProtoField version; !field.bytes.empty();) {
      if (!next_field(field.bytes, version)) damaged_bundle(path, "the header is damaged");
      if (version.number == 2 && version.value > bundle_version) {  // min_consumer
        throw_bad_input(
            fmt::format("{}: version {} of the form, and {} is read", path, version.value, bundle_version),
            "save the checkpoint with tf.train.Saver of TensorFlow 1 or 2");
      }
    }
  }
  if (shards == 0 || shards > most_bundle_shards)
    damaged_bundle(path, fmt::format("a header of {} data files", shards));
  return shards;
}

// BundleEntryProto.
struct BundleEntry {
  std::uint64_t type = 0;           // 1
  std::vector<std::int64_t> shape;  // 2
  std::uint64_t shard = 0;          // 3
  std::uint64_t offset = 0;         // 4
  std::uint64_t size = 0;           // 5, in bytes
  std::uint32_t checksum = 0;       // 6
  std::uint64_t slices = 0;         // 7
};

// TensorShapeProto: dim (2) with size (1), unknown_rank (3). False for a shape that is not known, or damaged.
bool take_shape(std::string_view message, std::vector<std::int64_t>& shape) {
  shape.clear();
  for (ProtoField field; !message.empty();) {
    if (!next_field(message, field)) return false;
    if (field.number == 3 && field.value != 0) return false;
    if (field.number != 2) continue;
    std::uint64_t size = 0;
    for (ProtoField dim; !field.bytes.empty();) {
      if (!next_field(field.bytes, dim)) return false;
      if (dim.number == 1) size = dim.value;
    }
    if (size > static_cast<std::uint64_t>(INT64_MAX) || shape.size() == most_bundle_axes) return false;
    shape.push_back(static_cast<std::int64_t>(size));
  }
  return true;
}

BundleEntry parse_entry(std::string_view message, const std::string& name, const std::string& path) {
  BundleEntry entry;
  const auto refuse = [&](const char* what) {
    damaged_bundle(path, fmt::format("tensor {}: {}", name, what));
  };
  for (ProtoField field; !message.empty();) {
    if (!next_field(message, field)) refuse("its entry is damaged");
    const bool shape = field.number == 2 && field.type == WireType::bytes;
    if (shape && !take_shape(field.bytes, entry.shape)) refuse("its shape is damaged or not known");
    if (field.number == 6 && field.type == WireType::fixed32)
      std::memcpy(&entry.checksum, field.bytes.data(), sizeof entry.checksum);
    if (field.number == 7) ++entry.slices;
    if (field.type != WireType::varint) continue;
    if (field.number == 1) entry.type = field.value;
    if (field.number == 3) entry.shard = field.value;
    if (field.number == 4) entry.offset = field.value;
    if (field.number == 5) entry.size = field.value;
  }
  return entry;
}

TensorType numbers_of(const BundleEntry& entry, const std::string& name, const std::string& path) {
  const auto* const found =
      std::find_if(tensorflow_types.begin(), tensorflow_types.end(),
                   [&](const TensorFlowType& type) { return type.number == entry.type; });
  if (found != tensorflow_types.end() && found->type) return *found->type;
  const std::string type = found != tensorflow_types.end() ? found->name : std::to_string(entry.type);
  throw_bad_input(fmt::format("{}: tensor {} {}", path, name, unread_type_words(type)),
                  "save a checkpoint of the model's variables only");
}

// Bytes that the shape takes; nothing where that is no number.
std::optional<std::uint64_t> bytes_of_shape(TensorType type, const std::vector<std::int64_t>& shape) {
  std::uint64_t bytes = tensor_type_size(type);
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) return std::nullopt;
  }
  return bytes;
}

bool is_digits(std::string_view text) {
  return text.size() == 5 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Without ".data-00000-of-00001" at its end; the path itself where it does not end so.
std::string without_shard(const std::string& path) {
  constexpr std::size_t length = std::string_view(".data-00000-of-00001").size();
  if (path.size() <= length) return path;
  const std::string_view end = std::string_view(path).substr(path.size() - length);
  const bool shard = end.starts_with(".data-") && is_digits(end.substr(6, 5)) &&
                     end.substr(11, 4) == "-of-" && is_digits(end.substr(15));
  return shard ? path.substr(0, path.size() - length) : path;
}

}  // namespace

std::optional<std::string> TensorFlowBundle::prefix_of(const std::string& path) {
  constexpr std::string_view ending = ".index";
  if (has_suffix(path, ending))
    return file_exists(path) ? std::optional(path.substr(0, path.size() - ending.size())) : std::nullopt;
  const std::string prefix = without_shard(path);
  if (prefix == path && file_exists(path)) return std::nullopt;
  return file_exists(prefix + ".index") ? std::optional(prefix) : std::nullopt;
}

TensorFlowBundle::TensorFlowBundle(const std::string& path) {
  const std::string prefix = prefix_of(path).value_or(path);
  const std::string index = prefix + ".index";
  const MappedFile file(index);
  files_.push_back(index);
  std::uint64_t shards = 0;
  std::map<std::uint64_t, std::size_t> map_of;  // shard -> place in maps_
  read_sorted_table(file.bytes(), index, [&](std::string_view key, std::string_view value) {
    if (key.empty()) {
      shards = shards_of_header(value, index);
      return;
    }
    const std::string name = end_of_name(key);
    if (shards == 0) damaged_bundle(index, "no header before the first tensor");
    if (tensors_.size() == most_bundle_tensors) damaged_bundle(index, "more than 200,000 tensors");
    if (key == object_graph) return;
    const BundleEntry entry = parse_entry(value, name, index);
    // Keys of slices begin with a byte of zeros, and stand before the tensor that they are of.
    if (entry.slices > 0 || key.front() == '\0') {
      throw_bad_input(fmt::format("{}: tensor {} is stored in slices (a partitioned variable), which are not "
                                  "read",
                                  index, name),
                      "load the checkpoint with TensorFlow and save it without a partitioner");
    }
    const TensorType type = numbers_of(entry, name, index);
    if (bytes_of_shape(type, entry.shape) != entry.size)
      damaged_bundle(
          index, fmt::format("tensor {}: {} bytes for a shape that takes another number", name, entry.size));
    if (entry.shard >= shards)
      damaged_bundle(index, fmt::format("tensor {} is in data file {} of {}", name, entry.shard, shards));
    const std::string data = fmt::format("{}.data-{:05}-of-{:05}", prefix, entry.shard, shards);
    const auto [found, fresh] = map_of.try_emplace(entry.shard, maps_.size());
    if (fresh) {
      if (!file_exists(data)) damaged_bundle(data, "the data file is missing");
      maps_.emplace_back(data);
      files_.push_back(data);
    }
    const MappedFile& map = maps_[found->second];
    if (entry.offset > map.size() || entry.size > map.size() - entry.offset) {
      damaged_bundle(data, fmt::format("cut short: tensor {} has {} bytes at byte {}, and the file has {}",
                                       name, entry.size, entry.offset, map.size()));
    }
    tensors_.push_back({std::string(key), type, entry.shape, row_major_strides(entry.shape),
                        map.data() + entry.offset, data});
    checksums_.push_back(entry.checksum);
  });
  if (shards == 0) damaged_bundle(index, "no header in the index");
}

void TensorFlowBundle::check_numbers() const {
  std::vector<char> wrong(tensors_.size());
  kernels::parallel_for(tensors_.size(), [&](std::size_t i) {
    const StoredTensor& tensor = tensors_[i];
    const std::size_t size = static_cast<std::size_t>(tensor.elements()) * tensor_type_size(tensor.type);
    const std::uint32_t crc = crc32c({reinterpret_cast<const char*>(tensor.first), size});
    wrong[i] = masked_crc32c(crc) != checksums_[i] ? 1 : 0;
  });
  const auto first = std::find(wrong.begin(), wrong.end(), 1);
  if (first == wrong.end()) return;
  const StoredTensor& tensor = tensors_[static_cast<std::size_t>(first - wrong.begin())];
  damaged_bundle(tensor.file, fmt::format("tensor {} has a wrong checksum", end_of_name(tensor.name)));
}

}  // namespace bigbird
