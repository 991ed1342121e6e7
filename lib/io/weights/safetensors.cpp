// safetensors reading and writing; see safetensors.h. Format: https://huggingface.co/docs/safetensors.
#include "lib/io/weights/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"

namespace bigbird {
namespace {

constexpr std::uint64_t most_header_bytes = 100'000'000;  // the limit of the reference implementation
constexpr std::size_t length_bytes = 8;
constexpr std::size_t most_axes = 64;  // as many as PyTorch takes

[[noreturn]] void malformed(const std::string& path, const std::string& what) {
  throw_bad_input(fmt::format("{}: {}", path, what),
                  "the file is damaged or no safetensors file; copy or convert it again");
}

using Json = nlohmann::json;

// Calls take(name, value) for every member of the header as soon as it is read, in the file's order, and
// keeps none: the time grows with the header's size alone. Refuses what a header never has: duplicate names
// (which a JSON map would drop) and deep nesting.
template <typename Take>
void parse_header(const std::string& path, const char* begin, const char* end, const Take& take) {
  std::unordered_set<std::string> names;
  std::string name;
  bool is_object = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    // An object in a member is never right, and the parser's time would grow with the square of their number.
    const bool nested = depth > 3 || (depth > 1 && event == Event::object_start);
    if (nested) malformed(path, "the header is nested too deeply");
    if (depth == 0 && event == Event::object_start) is_object = true;
    const bool ends = event != Event::array_start && event != Event::object_start;
    if (ends && !is_object) malformed(path, "the header is not a JSON object");
    if (depth != 1 || event == Event::object_start || event == Event::array_start) return true;
    if (event == Event::key) {
      name = value.get<std::string>();
      if (!names.insert(name).second)
        malformed(path, fmt::format("tensor {} is listed twice", one_line_name(name)));
      return true;
    }
    take(name, value);
    return false;
  };
  try {
    [[maybe_unused]] const Json emptied = Json::parse(begin, end, watch);
  } catch (const Json::exception&) {
    malformed(path, "the header is not valid JSON");
  }
}

std::uint64_t whole_number(const Json& value, const std::string& path, const std::string& name,
                           const char* what) {
  if (!value.is_number_unsigned())
    malformed(path, fmt::format("tensor {}: {} is not a whole number >= 0", name, what));
  return value.get<std::uint64_t>();
}

// Types of the format of less than a byte, whose tensors have no size that a whole number of bytes an element
// gives.
bool is_small_type(const std::string& dtype) {
  return dtype == "F4" || dtype == "F6_E2M3" || dtype == "F6_E3M2";
}

TensorInfo parse_tensor(const std::string& path, const std::string& key, const Json& entry,
                        std::uint64_t data_size) {
  const std::string name = one_line_name(key);
  const bool complete = entry.is_object() && entry.size() == 3 && entry.contains("dtype") &&
                        entry.contains("shape") && entry.contains("data_offsets") &&
                        entry["dtype"].is_string() && entry["shape"].is_array() &&
                        entry["data_offsets"].is_array() && entry["data_offsets"].size() == 2;
  if (!complete) malformed(path, fmt::format("tensor {}: needs dtype, shape and two data_offsets", name));
  TensorInfo info;
  info.name = key;
  const auto dtype = entry["dtype"].get<std::string>();
  const std::optional<TensorType> type = find_tensor_type(dtype);
  if (!type && is_small_type(dtype)) {
    throw_bad_input(fmt::format("{}: tensor {} {}", path, name, unread_type_words(dtype)),
                    unread_type_hint(path));
  }
  if (!type) malformed(path, fmt::format("tensor {}: unknown dtype {}", name, one_line_name(dtype)));
  info.type = *type;
  if (entry["shape"].size() > most_axes) {
    malformed(path, fmt::format("tensor {}: a shape of {} axes", name, entry["shape"].size()));
  }
  std::uint64_t bytes = tensor_type_size(*type);
  for (const Json& axis : entry["shape"]) {
    const std::uint64_t size = whole_number(axis, path, name, "shape");
    if (size > static_cast<std::uint64_t>(INT64_MAX) || __builtin_mul_overflow(bytes, size, &bytes)) {
      malformed(path, fmt::format("tensor {}: impossible shape", name));
    }
    info.shape.push_back(static_cast<std::int64_t>(size));
  }
  info.begin = whole_number(entry["data_offsets"][0], path, name, "offset");
  info.end = whole_number(entry["data_offsets"][1], path, name, "offset");
  if (info.begin > info.end || info.end > data_size) {
    malformed(path, fmt::format("tensor {}: offsets {}-{} are outside of the file's {} bytes of data", name,
                                info.begin, info.end, data_size));
  }
  if (info.end - info.begin != bytes) {
    malformed(path, fmt::format("tensor {}: {} bytes of data for a shape that takes {}", name,
                                info.end - info.begin, bytes));
  }
  return info;
}

}  // namespace

std::uint64_t TensorInfo::elements() const {
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::uint64_t>(size);
  return count;
}

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  std::uint64_t header_size = 0;
  if (file_.size() < length_bytes) malformed(path, "too short for a header");
  std::memcpy(&header_size, file_.data(), length_bytes);
  if (header_size > most_header_bytes)
    malformed(path, fmt::format("a header of {} bytes; at most 100 MB are allowed", header_size));
  if (header_size > file_.size() - length_bytes) {
    malformed(path, fmt::format("a header of {} bytes in a file of {} bytes", header_size, file_.size()));
  }
  data_begin_ = length_bytes + static_cast<std::size_t>(header_size);
  const std::uint64_t data_size = file_.size() - data_begin_;
  const char* text = reinterpret_cast<const char*>(file_.data()) + length_bytes;
  parse_header(path, text, text + header_size, [&](const std::string& key, const Json& entry) {
    if (key != "__metadata__") {
      tensors_.push_back(parse_tensor(path, key, entry, data_size));
      return;
    }
    if (!entry.is_object()) malformed(path, "__metadata__ is not a JSON object");
    for (const auto& [name, value] : entry.items()) {
      if (!value.is_string()) malformed(path, "__metadata__ holds something other than text");
      metadata_.emplace(name, value.get<std::string>());
    }
  });
  std::stable_sort(tensors_.begin(), tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::uint64_t reached = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorInfo& tensor = tensors_[i];
    if (tensor.begin != reached) {
      malformed(path, fmt::format("tensor {}: {}", one_line_name(tensor.name),
                                  tensor.begin < reached ? "its bytes overlap another tensor's"
                                                         : "there are unused bytes before it"));
    }
    reached = tensor.end;
    by_name_.emplace(tensor.name, i);
  }
  if (reached != data_size)
    malformed(path, fmt::format("{} bytes after the last tensor", data_size - reached));
}

bool SafetensorsFile::has(const std::string& name) const {
  return by_name_.contains(name);
}

const TensorInfo& SafetensorsFile::info(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    throw_bad_input(fmt::format("{}: no tensor named {}", path(), one_line_name(name)),
                    "check that the file belongs to a model of this kind");
  }
  return tensors_[found->second];
}

std::span<const std::byte> SafetensorsFile::bytes(const std::string& name) const {
  const TensorInfo& tensor = info(name);
  return file_.bytes().subspan(data_begin_ + tensor.begin, tensor.end - tensor.begin);
}

std::span<const float> SafetensorsFile::float_view(const std::string& name) const {
  const std::span<const std::byte> data = bytes(name);
  const bool aligned = reinterpret_cast<std::uintptr_t>(data.data()) % alignof(float) == 0;
  if (info(name).type != TensorType::f32 || !aligned) {
    throw_bad_input(fmt::format("{}: tensor {} is not aligned F32 data", path(), one_line_name(name)));
  }
  return {reinterpret_cast<const float*>(data.data()), data.size() / sizeof(float)};
}

StoredTensor SafetensorsFile::stored(const std::string& name) const {
  const TensorInfo& tensor = info(name);
  return {tensor.name,        tensor.type, tensor.shape, row_major_strides(tensor.shape),
          bytes(name).data(), path()};
}

void SafetensorsFile::read_floats(const std::string& name, std::span<float> out) const {
  bigbird::read_floats(stored(name), out);
}

std::vector<float> SafetensorsFile::floats(const std::string& name) const {
  std::vector<float> values(info(name).elements());
  read_floats(name, values);
  return values;
}

std::vector<std::int64_t> SafetensorsFile::integers(const std::string& name) const {
  return read_integers(stored(name));
}

void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  using OrderedJson = nlohmann::basic_json<OrderedMap>;
  OrderedJson::object_t header;  // a list of pairs: looking a name up in it would take ever longer
  if (!metadata.empty()) header.push_back({"__metadata__", metadata});
  std::uint64_t offset = 0;
  std::vector<std::uint64_t> sizes;
  std::unordered_set<std::string> names{"__metadata__"};
  for (const TensorToWrite& tensor : tensors) {
    if (!names.insert(tensor.name).second)
      throw_runtime(fmt::format("{}: tensor {} is given twice", path, tensor.name));
    std::uint64_t bytes = tensor_type_size(tensor.type);
    for (const std::int64_t size : tensor.shape) bytes *= static_cast<std::uint64_t>(size);
    header.push_back({tensor.name,
                      {{"dtype", tensor_type_name(tensor.type)},
                       {"shape", tensor.shape},
                       {"data_offsets", {offset, offset + bytes}}}});
    offset += bytes;
    sizes.push_back(bytes);
  }
  std::string text = json_text(OrderedJson(std::move(header)));
  text.append((length_bytes - text.size() % length_bytes) % length_bytes, ' ');
  const std::uint64_t header_size = text.size();
  if (header_size > most_header_bytes) throw_runtime(fmt::format("{}: too many tensors for one file", path));
  AtomicFile file(path);
  file.write(&header_size, sizeof header_size);
  file.write(text.data(), text.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    throw_if_cancelled_anywhere();
    file.write(tensors[i].data, sizes[i]);
  }
  file.commit();
}

}  // namespace bigbird
