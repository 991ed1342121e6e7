// What all kinds of tokenizer share; see tokenizer.h.
#include "lib/tokenization/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/core/error.h"
#include "lib/tokenization/added_tokens.h"
#include "lib/tokenization/byte_level_bpe.h"
#include "lib/tokenization/text_steps.h"

namespace bigbird {

Tokenizer::Tokenizer(PieceTable pieces, const SpecialIds& special, std::string digest)
    : pieces_(std::move(pieces)), special_(special), digest_(std::move(digest)) {
  for (const std::uint32_t id : special.all()) {
    if (id >= pieces_.special.size()) continue;  // an added one, which with_added_tokens() knows
    pieces_.special[id] = 1;                     // Google's models hold some of these as user-defined pieces
    pieces_.lengths[id] = 0;
  }
  std::vector<AddedToken> named;
  for (std::uint32_t id = 0; id < vocab_size(); ++id) {
    const std::string& text = pieces_.texts[id];
    // transformers' BigBird tokenizer knows seven by name; two of them this project has no use for.
    if (!special.holds(id) && !(is_special(id) && (text == "<s>" || text == "</s>"))) continue;
    AddedToken token;
    token.text = text;
    token.id = id;
    token.strips_left = id == special.mask;
    named.push_back(std::move(token));
  }
  special_finder_ = std::make_unique<const AddedTokenFinder>(named);
}

Tokenizer::~Tokenizer() = default;

// Pieces of byte-level vocabularies have a sign for each byte; other pieces for single bytes are <0x..>.
std::uint32_t Tokenizer::piece_characters(std::uint32_t id) const {
  const std::uint32_t bytes = piece_length(id);
  if (is_dna() || bytes == 0) return bytes;
  const auto begins = [](unsigned byte) { return (byte & 0xC0u) != 0x80u; };
  const std::string& text = piece(id);
  if (bytes == 1 && text.size() == 6 && text.starts_with("<0x"))
    return begins(static_cast<unsigned>(std::stoul(text.substr(3, 2), nullptr, 16))) ? 1 : 0;
  const auto signs =
      std::count_if(text.begin(), text.end(), [&](char c) { return begins(static_cast<unsigned char>(c)); });
  auto characters = static_cast<std::uint32_t>(signs);
  const auto& of_bytes = byte_level_characters();
  if (word_start() != of_bytes[static_cast<unsigned char>(' ')]) return characters;
  for (unsigned byte = 0x80; byte < 0xC0; ++byte) {
    const std::string& letter = of_bytes[byte];
    for (std::size_t at = text.find(letter); at != std::string::npos;
         at = text.find(letter, at + letter.size()))
      --characters;
  }
  return characters;
}

const std::string& Tokenizer::piece(std::uint32_t id) const {
  if (id >= vocab_size()) {
    throw_bad_input(fmt::format("id {} is outside the vocabulary of {} pieces", id, vocab_size()),
                    "the ids were made with another tokenizer");
  }
  return pieces_.texts[id];
}

std::size_t Tokenizer::encode_like(std::string_view text, const KnownEncoding&,
                                   std::vector<std::uint32_t>& ids) const {
  encode(text, ids);
  return 0;
}

void Tokenizer::encode_ranges(std::string_view text, std::vector<std::uint32_t>& ids,
                              std::vector<TextRange>& ranges) const {
  std::vector<std::uint32_t> begins;
  encode(text, ids, &begins);
  for (std::size_t i = 0; i < begins.size(); ++i) {
    ranges.push_back({begins[i], i + 1 < begins.size() ? begins[i + 1] : text.size()});
  }
}

void Tokenizer::for_each_piece(std::string_view text, const TakePiece& take) const {
  std::vector<std::uint32_t> ids;
  std::vector<TextRange> ranges;
  encode_ranges(text, ids, ranges);
  for (std::size_t i = 0; i < ids.size() && take(ids[i], ranges[i]); ++i) continue;
}

void Tokenizer::encode_with_special_pieces(std::string_view text, std::vector<std::uint32_t>& ids,
                                           std::vector<std::uint32_t>* byte_offsets) const {
  special_finder_->split(text, [&](TextRange range, std::optional<std::uint32_t> id) {
    const auto begin = static_cast<std::uint32_t>(range.begin);
    if (id) {
      ids.push_back(*id);
      if (byte_offsets != nullptr) byte_offsets->push_back(begin);
      return;
    }
    const std::size_t first = byte_offsets == nullptr ? 0 : byte_offsets->size();
    encode(text.substr(range.begin, range.end - range.begin), ids, byte_offsets);
    if (byte_offsets == nullptr) return;
    for (std::size_t i = first; i < byte_offsets->size(); ++i) (*byte_offsets)[i] += begin;
  });
}

std::string escape_controls(std::string_view piece) {
  std::string text;
  for (const char byte : piece) {
    const auto value = static_cast<unsigned char>(byte);
    if (byte == '\n') {
      text += "\\n";
    } else if (byte == '\t') {
      text += "\\t";
    } else if (value < 0x20 || value == 0x7f) {
      text += fmt::format("\\x{:02x}", value);
    } else {
      text += byte;
    }
  }
  return text;
}

}  // namespace bigbird
