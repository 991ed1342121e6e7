// What all kinds of tokenizer share; see tokenizer.h.
#include "lib/tokenization/tokenizer.h"

#include <fmt/format.h>

#include <utility>

#include "lib/core/error.h"
#include "lib/tokenization/added_tokens.h"
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
