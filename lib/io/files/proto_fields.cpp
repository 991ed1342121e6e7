// See proto_fields.h.
#include "lib/io/files/proto_fields.h"

#include <cstddef>

namespace bigbird {

bool next_varint(std::string_view& message, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !message.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(message.front());
    message.remove_prefix(1);
    if (shift == 63 && byte > 1) return false;
    value |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

bool next_field(std::string_view& message, ProtoField& field) {
  std::uint64_t key = 0;
  if (!next_varint(message, key)) return false;
  field = {key >> 3, static_cast<WireType>(key & 7), 0, {}};
  std::uint64_t size = 0;
  switch (field.type) {
    case WireType::varint:
      return next_varint(message, field.value);
    case WireType::fixed64:
      size = 8;
      break;
    case WireType::bytes:
      if (!next_varint(message, size)) return false;
      break;
    case WireType::fixed32:
      size = 4;
      break;
    default:
      return false;
  }
  if (size > message.size()) return false;
  field.bytes = message.substr(0, static_cast<std::size_t>(size));
  message.remove_prefix(static_cast<std::size_t>(size));
  return true;
}

}  // namespace bigbird
