// Protobuf wire format by hand: the message is small and stable, and Debian ships no headers for it.
#include "lib/tokenization/sentencepiece_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "lib/core/error.h"
#include "lib/tokenization/bpe_trainer.h"
#include "lib/tokenization/text_vocabulary.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

// Field numbers of sentencepiece_model.proto.
namespace field {
constexpr std::uint32_t model_pieces = 1;
constexpr std::uint32_t model_trainer = 2;
constexpr std::uint32_t model_normalizer = 3;
constexpr std::uint32_t piece_text = 1;
constexpr std::uint32_t piece_score = 2;
constexpr std::uint32_t piece_type = 3;
constexpr std::uint32_t trainer_model_type = 3;
constexpr std::uint32_t trainer_vocab_size = 4;
constexpr std::uint32_t trainer_character_coverage = 10;
constexpr std::uint32_t trainer_max_piece_length = 20;
constexpr std::uint32_t trainer_split_by_unicode_script = 21;
constexpr std::uint32_t trainer_split_by_whitespace = 22;
constexpr std::uint32_t trainer_split_by_number = 23;
constexpr std::uint32_t trainer_space_is_suffix = 24;  // treat_whitespace_as_suffix
constexpr std::uint32_t trainer_control_symbols = 30;
constexpr std::uint32_t trainer_byte_fallback = 35;
constexpr std::uint32_t trainer_unknown_id = 40;
constexpr std::uint32_t trainer_begin_id = 41;
constexpr std::uint32_t trainer_end_id = 42;
constexpr std::uint32_t trainer_pad_id = 43;
constexpr std::uint32_t trainer_unknown_piece = 45;
constexpr std::uint32_t trainer_pad_piece = 48;
constexpr std::uint32_t normalizer_name = 1;
constexpr std::uint32_t normalizer_character_map = 2;
constexpr std::uint32_t normalizer_add_dummy_prefix = 3;
constexpr std::uint32_t normalizer_remove_extra_whitespaces = 4;
constexpr std::uint32_t normalizer_escape_whitespaces = 5;
}  // namespace field

enum WireType : std::uint32_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

// Reads one message field by field; bounds are checked at every step.
class WireReader {
 public:
  WireReader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  bool next() {
    if (at_ == bytes_.size()) return false;
    const std::uint64_t tag = read_varint();
    number_ = static_cast<std::uint32_t>(tag >> 3);
    type_ = static_cast<std::uint32_t>(tag & 7);
    if (number_ == 0 || tag > 0xffffffffull) fail();
    if (type_ == varint) {
      value_ = read_varint();
    } else if (type_ == fixed32) {
      value_ = read_fixed(4);
    } else if (type_ == fixed64) {
      value_ = read_fixed(8);
    } else if (type_ == delimited) {
      const std::uint64_t size = read_varint();
      if (size > bytes_.size() - at_) fail();
      text_ = bytes_.substr(at_, static_cast<std::size_t>(size));
      at_ += static_cast<std::size_t>(size);
    } else {
      fail();
    }
    return true;
  }

  std::uint32_t number() const { return number_; }
  std::uint64_t integer() const { return require(varint), value_; }
  bool boolean() const { return integer() != 0; }
  float real() const { return require(fixed32), std::bit_cast<float>(static_cast<std::uint32_t>(value_)); }
  std::string_view text() const { return require(delimited), text_; }

 private:
  [[noreturn]] void fail() const {
    throw_bad_input(where_ + ": not a SentencePiece model (damaged near byte " + std::to_string(at_) + ")",
                    "copy the file again, or train it anew with bigbird train-bpe");
  }
  void require(std::uint32_t type) const {
    if (type_ != type) fail();
  }
  std::uint64_t read_varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) fail();
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    fail();
  }
  std::uint64_t read_fixed(std::size_t size) {
    if (size > bytes_.size() - at_) fail();
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
    }
    at_ += size;
    return value;
  }

  std::string_view bytes_;
  const std::string& where_;
  std::size_t at_ = 0;
  std::uint32_t number_ = 0;
  std::uint32_t type_ = 0;
  std::uint64_t value_ = 0;
  std::string_view text_;
};

class WireWriter {
 public:
  void put_integer(std::uint32_t number, std::int64_t value) {
    put_varint((std::uint64_t{number} << 3) | varint);
    put_varint(static_cast<std::uint64_t>(value));  // negative int32 values take ten bytes, as protobuf does
  }
  void put_real(std::uint32_t number, float value) {
    put_varint((std::uint64_t{number} << 3) | fixed32);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned i = 0; i < 4; ++i) bytes_.push_back(static_cast<char>((bits >> (8 * i)) & 0xff));
  }
  void put_text(std::uint32_t number, std::string_view text) {
    put_varint((std::uint64_t{number} << 3) | delimited);
    put_varint(text.size());
    bytes_.append(text);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void put_varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<char>((value & 0x7f) | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

ModelPiece parse_piece(std::string_view bytes, const std::string& where) {
  ModelPiece piece;
  WireReader reader(bytes, where);
  while (reader.next()) {
    if (reader.number() == field::piece_text) piece.text = reader.text();
    if (reader.number() == field::piece_score) piece.score = reader.real();
    if (reader.number() == field::piece_type) {
      if (reader.integer() < 1 || reader.integer() > 6) {
        throw_bad_input(where + ": piece '" + piece.text + "' has an unknown type",
                        "the file comes from a newer SentencePiece than this program knows");
      }
      piece.type = static_cast<PieceType>(reader.integer());
    }
  }
  return piece;
}

void parse_trainer(std::string_view bytes, const std::string& where, SentencePieceModel& model) {
  WireReader reader(bytes, where);
  while (reader.next()) {
    if (reader.number() == field::trainer_model_type) {
      if (reader.integer() < 1 || reader.integer() > 4) {
        throw_bad_input(where + ": unknown model type " + std::to_string(reader.integer()));
      }
      model.type = static_cast<ModelType>(reader.integer());
    }
    if (reader.number() == field::trainer_byte_fallback) model.byte_fallback = reader.boolean();
    if (reader.number() == field::trainer_space_is_suffix) model.space_is_suffix = reader.boolean();
    if (reader.number() == field::trainer_max_piece_length) {
      model.max_piece_length = static_cast<std::uint32_t>(reader.integer());
    }
  }
}

void parse_normalizer(std::string_view bytes, const std::string& where, SentencePieceModel& model) {
  WireReader reader(bytes, where);
  while (reader.next()) {
    if (reader.number() == field::normalizer_name) model.normalizer = reader.text();
    if (reader.number() == field::normalizer_character_map) {
      model.character_map = reader.text();
      model.has_character_map = !model.character_map.empty();
    }
    if (reader.number() == field::normalizer_add_dummy_prefix) model.add_dummy_prefix = reader.boolean();
    if (reader.number() == field::normalizer_remove_extra_whitespaces) {
      model.remove_extra_whitespaces = reader.boolean();
    }
    if (reader.number() == field::normalizer_escape_whitespaces) model.escape_whitespaces = reader.boolean();
  }
}

std::uint32_t length_of(const ModelPiece& piece) {
  if (piece.type == PieceType::control || piece.type == PieceType::unknown) return 0;
  if (piece.type == PieceType::byte) return 1;
  constexpr std::string_view word_start = "\xE2\x96\x81";  // U+2581, stands for a blank
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < piece.text.size(); ++length) {
    i += piece.text.compare(i, word_start.size(), word_start) == 0 ? word_start.size() : 1;
  }
  return length;
}

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

bool SentencePieceModel::is_dna_bpe() const {
  if (type != ModelType::bpe || byte_fallback || has_character_map || add_dummy_prefix) return false;
  std::set<float> scores;
  std::set<std::string_view> texts;
  std::set<char> letters;
  for (const ModelPiece& piece : pieces) {
    if (piece.type == PieceType::control || piece.type == PieceType::unknown) continue;
    if (piece.type != PieceType::normal || piece.text.empty() || !texts.insert(piece.text).second)
      return false;
    if (piece.text.find_first_not_of(dna_alphabet) != std::string::npos) return false;
    if (piece.text.size() == 1) {
      letters.insert(piece.text[0]);
    } else if (std::isnan(piece.score) || !scores.insert(piece.score).second) {
      return false;
    }
  }
  return letters.size() == dna_alphabet.size();
}

SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& where) {
  SentencePieceModel model;
  WireReader reader(bytes, where);
  while (reader.next()) {
    if (reader.number() == field::model_pieces) model.pieces.push_back(parse_piece(reader.text(), where));
    if (reader.number() == field::model_trainer) parse_trainer(reader.text(), where, model);
    if (reader.number() == field::model_normalizer) parse_normalizer(reader.text(), where, model);
  }
  if (model.pieces.empty()) {
    throw_bad_input(where + ": the model holds no pieces", "train it anew with bigbird train-bpe");
  }
  return model;
}

PieceTable piece_table(const SentencePieceModel& model) {
  PieceTable table;
  for (const ModelPiece& piece : model.pieces) {
    const bool special = piece.type == PieceType::control || piece.type == PieceType::unknown ||
                         (piece.type == PieceType::user_defined && is_reserved_text(piece.text));
    table.texts.push_back(piece.text);
    table.lengths.push_back(length_of(piece));
    table.special.push_back(special ? 1 : 0);
  }
  return table;
}

SentencePieceModel make_dna_model(const std::vector<std::string>& learnt_pieces,
                                  std::uint32_t max_piece_length) {
  SentencePieceModel model;
  model.type = ModelType::bpe;
  model.max_piece_length = max_piece_length;
  model.normalizer = "identity";
  model.add_dummy_prefix = false;
  model.remove_extra_whitespaces = false;
  model.escape_whitespaces = false;
  model.pieces = {{"[PAD]", 0, PieceType::control},
                  {"[UNK]", 0, PieceType::unknown},
                  {"[CLS]", 0, PieceType::control},
                  {"[SEP]", 0, PieceType::control},
                  {"[MASK]", 0, PieceType::control}};
  float rank = 0;
  for (const char letter : dna_alphabet) model.pieces.push_back({std::string(1, letter), 0.0f - rank++});
  for (const std::string& piece : learnt_pieces) model.pieces.push_back({piece, 0.0f - rank++});
  return model;
}

std::string serialize_sentencepiece_model(const SentencePieceModel& model) {
  WireWriter file;
  for (const ModelPiece& piece : model.pieces) {
    WireWriter message;
    message.put_text(field::piece_text, piece.text);
    message.put_real(field::piece_score, piece.score);
    message.put_integer(field::piece_type, static_cast<std::int64_t>(piece.type));
    file.put_text(field::model_pieces, message.bytes());
  }
  WireWriter trainer;
  trainer.put_integer(field::trainer_model_type, static_cast<std::int64_t>(model.type));
  trainer.put_integer(field::trainer_vocab_size, static_cast<std::int64_t>(model.pieces.size()));
  trainer.put_real(field::trainer_character_coverage, 1.0f);
  trainer.put_integer(field::trainer_max_piece_length, model.max_piece_length);
  trainer.put_integer(field::trainer_split_by_unicode_script, 0);
  trainer.put_integer(field::trainer_split_by_whitespace, 0);
  trainer.put_integer(field::trainer_split_by_number, 0);
  std::int64_t unknown_id = -1;
  std::int64_t pad_id = -1;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const ModelPiece& piece = model.pieces[id];
    if (piece.type == PieceType::unknown) unknown_id = static_cast<std::int64_t>(id);
    if (piece.type != PieceType::control) continue;
    if (piece.text == "[PAD]") {
      pad_id = static_cast<std::int64_t>(id);
    } else {
      trainer.put_text(field::trainer_control_symbols, piece.text);
    }
  }
  trainer.put_integer(field::trainer_byte_fallback, model.byte_fallback ? 1 : 0);
  trainer.put_integer(field::trainer_unknown_id, unknown_id);
  trainer.put_integer(field::trainer_begin_id, -1);
  trainer.put_integer(field::trainer_end_id, -1);
  trainer.put_integer(field::trainer_pad_id, pad_id);
  trainer.put_text(field::trainer_unknown_piece, "[UNK]");
  trainer.put_text(field::trainer_pad_piece, "[PAD]");
  file.put_text(field::model_trainer, trainer.bytes());
  WireWriter normalizer;
  normalizer.put_text(field::normalizer_name, model.normalizer);
  normalizer.put_text(field::normalizer_character_map, "");
  normalizer.put_integer(field::normalizer_add_dummy_prefix, model.add_dummy_prefix ? 1 : 0);
  normalizer.put_integer(field::normalizer_remove_extra_whitespaces, model.remove_extra_whitespaces ? 1 : 0);
  normalizer.put_integer(field::normalizer_escape_whitespaces, model.escape_whitespaces ? 1 : 0);
  file.put_text(field::model_normalizer, normalizer.bytes());
  return file.bytes();
}

std::string vocabulary_lines(const SentencePieceModel& model) {
  std::string lines;
  for (const ModelPiece& piece : model.pieces) lines += fmt::format("{}\t{}\n", piece.text, piece.score);
  return lines;
}

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

// Of a message that stands twice in a file, the fields of the later one hold (protobuf's rule of merging).
std::string model_within_text(std::string bytes) {
  WireWriter normalizer;
  normalizer.put_integer(field::normalizer_add_dummy_prefix, 0);
  WireWriter model;
  model.put_text(field::model_normalizer, normalizer.bytes());
  return std::move(bytes) + model.bytes();
}

std::string literal_model(const std::string& bytes, std::span<const std::uint32_t> special) {
  return with_piece_types(bytes, [&](std::size_t id, std::string_view text, PieceType type) {
    const bool literal =
        is_reserved_text(text) || std::find(special.begin(), special.end(), id) != special.end();
    return type == PieceType::user_defined && literal ? PieceType::control : type;
  });
}

}  // namespace bigbird
