// See torch_bytes.h.
#include "tests/support/torch_bytes.h"

#include <cstring>

namespace bigbird::testing {
namespace {

std::uint32_t crc32_of(const std::string& bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char letter : bytes) {
    crc ^= static_cast<unsigned char>(letter);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

template <typename Number>
void put(std::string& bytes, Number value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put16(std::string& bytes, std::size_t value) {
  put(bytes, static_cast<std::uint16_t>(value));
}
void put32(std::string& bytes, std::uint64_t value) {
  put(bytes, static_cast<std::uint32_t>(value));
}

}  // namespace

std::string zip_bytes(const std::vector<ZipPart>& parts, bool zip64_end) {
  std::string bytes, directory;
  for (const ZipPart& part : parts) {
    const std::string& local = part.local_name.empty() ? part.name : part.local_name;
    const std::uint64_t header = bytes.size() + static_cast<std::uint64_t>(part.header_change);
    const std::uint64_t size = part.bytes.size() + static_cast<std::uint64_t>(part.size_change);
    const std::uint32_t crc = crc32_of(part.bytes) ^ part.crc_change;
    std::string facts;  // what local header and directory entry share
    put16(facts, 20);
    put16(facts, part.flags);
    put16(facts, part.method);
    put32(facts, 0);
    put32(facts, crc);
    put32(bytes, 0x04034b50);
    bytes += facts;
    put32(bytes, part.bytes.size());
    put32(bytes, part.bytes.size());
    put16(bytes, local.size());
    put16(bytes, 3);  // an extra field of another length than the directory's
    bytes += local + "pad" + part.bytes;
    put32(directory, 0x02014b50);
    put16(directory, 20);
    directory += facts;
    std::string extra;
    if (part.zip64) {
      put16(extra, 1);
      put16(extra, 24);
      put(extra, size);
      put(extra, size);
      put(extra, header);
    }
    put32(directory, part.zip64 ? 0xffffffffu : size);
    put32(directory, part.zip64 ? 0xffffffffu : size);
    put16(directory, part.name.size());
    put16(directory, extra.size());
    put16(directory, 0);
    put16(directory, 0);
    put16(directory, 0);
    put32(directory, 0);
    put32(directory, part.zip64 ? 0xffffffffu : header);
    directory += part.name + extra;
  }
  const std::uint64_t begin = bytes.size();
  bytes += directory;
  if (zip64_end) {
    const std::uint64_t record = bytes.size();
    put32(bytes, 0x06064b50);
    put(bytes, std::uint64_t{44});
    put16(bytes, 45);
    put16(bytes, 45);
    put32(bytes, 0);
    put32(bytes, 0);
    put(bytes, std::uint64_t{parts.size()});
    put(bytes, std::uint64_t{parts.size()});
    put(bytes, std::uint64_t{directory.size()});
    put(bytes, begin);
    put32(bytes, 0x07064b50);
    put32(bytes, 0);
    put(bytes, record);
    put32(bytes, 1);
  }
  put32(bytes, 0x06054b50);
  put32(bytes, 0);
  put16(bytes, zip64_end ? 0xffffu : parts.size());
  put16(bytes, zip64_end ? 0xffffu : parts.size());
  put32(bytes, zip64_end ? 0xffffffffu : directory.size());
  put32(bytes, zip64_end ? 0xffffffffu : begin);
  put16(bytes, 0);
  return bytes;
}

PickleWriter& PickleWriter::raw(const std::string& bytes) {
  bytes_ += bytes;
  return *this;
}

PickleWriter& PickleWriter::text(const std::string& value) {
  bytes_ += 'X';
  put32(bytes_, value.size());
  bytes_ += value;
  return *this;
}

PickleWriter& PickleWriter::global(const std::string& module, const std::string& name) {
  bytes_ += "c" + module + "\n" + name + "\n";
  return *this;
}

PickleWriter& PickleWriter::integer(std::int64_t value) {
  if (value >= INT32_MIN && value <= INT32_MAX) {
    bytes_ += 'J';
    put(bytes_, static_cast<std::int32_t>(value));
  } else {
    bytes_ += "\x8a\x08";
    put(bytes_, value);
  }
  return *this;
}

PickleWriter& PickleWriter::tuple(const std::vector<std::int64_t>& values) {
  bytes_ += '(';
  for (const std::int64_t value : values) integer(value);
  bytes_ += 't';
  return *this;
}

PickleWriter& PickleWriter::tensor(const std::string& storage_class, const std::string& key,
                                   std::int64_t storage_elements, std::int64_t offset,
                                   const std::vector<std::int64_t>& shape,
                                   const std::vector<std::int64_t>& strides) {
  global("torch._utils", "_rebuild_tensor_v2")
      .raw("((")
      .text("storage")
      .global("torch", storage_class)
      .text(key);
  text("cpu").integer(storage_elements).raw("tQ").integer(offset).tuple(shape).tuple(strides);
  return raw("\x89").global("collections", "OrderedDict").raw(")RtR");
}

std::vector<ZipPart> torch_parts(const std::string& pickle, const std::vector<std::string>& storages) {
  std::vector<ZipPart> parts{{.name = "archive/data.pkl", .bytes = pickle},
                             {.name = "archive/byteorder", .bytes = "little"}};
  for (std::size_t i = 0; i < storages.size(); ++i) {
    parts.push_back({.name = "archive/data/" + std::to_string(i), .bytes = storages[i]});
  }
  parts.push_back({.name = "archive/version", .bytes = "3\n"});
  return parts;
}

std::vector<ZipPart> torch_parts(const std::vector<FloatTensor>& tensors) {
  PickleWriter pickle;
  pickle.raw("\x80\x02").global("collections", "OrderedDict").raw(")R(");
  std::vector<std::string> storages;
  for (const FloatTensor& tensor : tensors) {
    std::vector<std::int64_t> strides(tensor.shape.size());
    std::int64_t step = 1;
    for (std::size_t axis = strides.size(); axis-- > 0; step *= tensor.shape[axis]) strides[axis] = step;
    const auto elements = static_cast<std::int64_t>(tensor.values.size());
    pickle.text(tensor.name)
        .tensor("FloatStorage", std::to_string(storages.size()), elements, 0, tensor.shape, strides);
    storages.emplace_back(reinterpret_cast<const char*>(tensor.values.data()),
                          tensor.values.size() * sizeof(float));
  }
  pickle.raw("u.");
  return torch_parts(pickle.bytes(), storages);
}

std::string torch_bytes(const std::vector<FloatTensor>& tensors) {
  return zip_bytes(torch_parts(tensors));
}

}  // namespace bigbird::testing
