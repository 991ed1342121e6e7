// Protocol buffers, field by field, as they lie in a message: for readers of one or two messages, without a
// schema. https://protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstdint>
#include <string_view>

namespace bigbird {

enum class WireType { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct ProtoField {
  std::uint64_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;  // of a varint
  std::string_view bytes;   // of the others, as they lie there; a view into the message
};

// Take what `message` begins with, and leave the rest. False when it ends before that, for a number of more
// than 64 bits, and for a wire type of none of these.
bool next_varint(std::string_view& message, std::uint64_t& value);
bool next_field(std::string_view& message, ProtoField& field);

}  // namespace bigbird
