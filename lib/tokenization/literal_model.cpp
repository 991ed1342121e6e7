// Walks the wire format of a model that is known to be sound; see literal_model.h.
#include "lib/tokenization/literal_model.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "lib/core/error.h"
#include "lib/tokenization/text_vocabulary.h"

namespace bigbird {
namespace {

// A field of a protobuf message: its number and wire type, and where its value lies.
struct WireField {
  std::uint64_t tag = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

[[noreturn]] void fail_at(std::size_t at) {
  throw_bad_input("not a SentencePiece model (damaged near byte " + std::to_string(at) + ")");
}

std::uint64_t varint_at(std::string_view bytes, std::size_t& at, std::size_t end) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at >= end) fail_at(at);
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  fail_at(at);
}

WireField field_at(std::string_view bytes, std::size_t& at, std::size_t end) {
  WireField field;
  field.tag = varint_at(bytes, at, end);
  field.begin = at;
  switch (field.tag & 7) {
    case 0:
      varint_at(bytes, at, end);
      break;
    case 1:
      at += 8;
      break;
    case 2: {
      const std::uint64_t size = varint_at(bytes, at, end);
      if (size > end - at) fail_at(at);
      field.begin = at;
      at += static_cast<std::size_t>(size);
      break;
    }
    case 5:
      at += 4;
      break;
    default:
      fail_at(at);
  }
  if (at > end) fail_at(at);
  field.end = at;
  return field;
}

}  // namespace

std::string with_piece_types(
    std::string bytes, const std::function<PieceType(std::size_t, std::string_view, PieceType)>& type_of) {
  constexpr std::uint64_t pieces_tag = 1 << 3 | 2;
  constexpr std::uint64_t text_tag = 1 << 3 | 2;
  constexpr std::uint64_t type_tag = 3 << 3 | 0;
  std::size_t id = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const WireField piece = field_at(bytes, at, bytes.size());
    if (piece.tag != pieces_tag) continue;
    std::string_view text;
    std::size_t type = 0;
    for (std::size_t inner = piece.begin; inner < piece.end;) {
      const WireField field = field_at(bytes, inner, piece.end);
      if (field.tag == text_tag) {
        text = std::string_view(bytes).substr(field.begin, field.end - field.begin);
      }
      if (field.tag == type_tag && field.end - field.begin == 1) type = field.begin;
    }
    if (type != 0) {
      const auto old = static_cast<PieceType>(bytes[type]);
      bytes[type] = static_cast<char>(type_of(id, text, old));
    }
    ++id;
  }
  return bytes;
}

std::string literal_model(const std::string& bytes, std::span<const std::uint32_t> special) {
  return with_piece_types(bytes, [&](std::size_t id, std::string_view text, PieceType type) {
    const bool literal =
        is_reserved_text(text) || std::find(special.begin(), special.end(), id) != special.end();
    return type == PieceType::user_defined && literal ? PieceType::control : type;
  });
}

}  // namespace bigbird
