// The tokenizer of RoBERTa and its kin: byte-level BPE with the offsets of Hugging Face's
// RobertaTokenizerFast. A piece that holds a part of a character stands for the whole of it.
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/unicode.h"
#include "lib/tokenization/byte_level_bpe.h"
#include "lib/tokenization/byte_level_definition.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"

namespace bigbird {
namespace {

constexpr std::string_view blank_sign = "\xC4\xA0";  // U+0120

class ByteLevelTokenizer final : public Tokenizer {
 public:
  ByteLevelTokenizer(const ByteLevelDefinition& definition, const SpecialIds& special, std::string digest,
                     std::size_t part)
      : Tokenizer(table_of_pieces(definition.pieces, definition.added,
                                  [](const std::string& piece) { return count_code_points(piece); }),
                  special, std::move(digest)),
        merger_(definition.pieces, definition.merges, special.unknown),
        unknown_(special.unknown),
        part_(part),
        add_prefix_space_(definition.add_prefix_space),
        trim_offsets_(definition.trim_offsets) {
    for (const std::string& piece : definition.pieces) {
      Blanks blanks;
      while (piece.compare(blanks.before * blank_sign.size(), blank_sign.size(), blank_sign) == 0) {
        ++blanks.before;
      }
      std::size_t end = piece.size();
      while (end >= blank_sign.size() &&
             piece.compare(end - blank_sign.size(), blank_sign.size(), blank_sign) == 0) {
        ++blanks.behind;
        end -= blank_sign.size();
      }
      blanks_.push_back(blanks);
    }
  }

  bool is_dna() const override { return false; }
  std::string_view word_start() const override { return blank_sign; }

  void encode(std::string_view text, std::vector<std::uint32_t>& ids,
              std::vector<std::uint32_t>* byte_offsets) const override {
    for_each_untrimmed(text, [&](std::uint32_t id, TextRange range) {
      ids.push_back(id);
      if (byte_offsets != nullptr) byte_offsets->push_back(static_cast<std::uint32_t>(range.begin));
      return true;
    });
  }

  void encode_ranges(std::string_view text, std::vector<std::uint32_t>& ids,
                     std::vector<TextRange>& ranges) const override {
    for_each_piece(text, [&](std::uint32_t id, TextRange range) {
      ids.push_back(id);
      ranges.push_back(range);
      return true;
    });
  }

  void for_each_piece(std::string_view text, const TakePiece& take) const override {
    bool first = true;
    for_each_untrimmed(text, [&](std::uint32_t id, TextRange range) {
      const bool at_begin = std::exchange(first, false);
      return take(id, trim_offsets_ ? trimmed(text, id, range, at_begin) : range);
    });
  }

 private:
  struct Blanks {
    std::uint32_t before = 0;
    std::uint32_t behind = 0;
  };

  // process_offsets of the tokenizers package, which counts in characters. A single blank at the beginning
  // stays where one is put in front of texts: that one is no part of the text.
  TextRange trimmed(std::string_view text, std::uint32_t id, TextRange range, bool first) const {
    const bool put_in_front = add_prefix_space_ && (first || range.begin == 0) && blanks_[id].before == 1;
    for (std::uint32_t i = put_in_front ? 1 : 0; i < blanks_[id].before && range.begin < range.end; ++i) {
      range.begin += character_length(text, range.begin);
    }
    for (std::uint32_t i = 0; i < blanks_[id].behind && range.begin < range.end; ++i) {
      range.end = code_point_before(text, range.end).begin;
    }
    return range;
  }

  template <typename Take>
  void for_each_untrimmed(std::string_view text, const Take& take) const {
    std::string prefixed;
    std::size_t shift = 0;
    if (add_prefix_space_ && !text.empty() && text[0] != ' ') {
      prefixed.reserve(text.size() + 1);
      prefixed += ' ';
      prefixed += text;
      shift = 1;
    }
    const std::string_view whole = shift == 0 ? text : std::string_view(prefixed);
    // The character of the text that a byte of `whole` is in.
    const auto character_of = [&](std::size_t byte) {
      std::size_t begin = byte < shift ? 0 : byte - shift;
      for (int back = 0; back < 3 && begin > 0; ++back) {
        if ((static_cast<unsigned char>(text[begin]) & 0xc0) != 0x80) break;
        --begin;
      }
      const std::size_t end = begin + character_length(text, begin);
      const std::size_t asked = byte < shift ? 0 : byte - shift;
      return end > asked ? TextRange{begin, end} : TextRange{asked, asked + 1};
    };
    bool wanted = true;
    std::size_t at = 0;
    const auto take_all = [&](const std::vector<ByteLevelMerger::Symbol>& symbols) {
      const std::size_t begin = at;
      for (std::size_t i = 0; i < symbols.size() && wanted; ++i) {
        const std::size_t last = begin + symbols[i].end - 1;
        wanted = take(symbols[i].id, {character_of(at).begin, character_of(last).end});
        at = last + 1;
      }
    };
    std::vector<ByteLevelMerger::Symbol> symbols;
    for (std::size_t begin = 0; begin < whole.size() && wanted;) {
      const std::size_t end = byte_level_word_end(whole, begin);
      const std::string_view word = whole.substr(begin, end - begin);
      if (word.size() <= 2 * part_) {
        merger_.encode(word, symbols);
        take_all(symbols);
      } else {
        encode_long(
            word,
            [&] {
              take_all(symbols);
              return wanted;
            },
            symbols);
      }
      begin = end;
    }
  }

  // Sets `pieces` to those of a part of the word, whose ends count from its first byte, and calls take().
  template <typename Take>
  void encode_long(std::string_view word, const Take& take,
                   std::vector<ByteLevelMerger::Symbol>& pieces) const {
    GrowingWord growing(merger_, part_);
    bool wanted = true;
    for (std::size_t at = 0; at < word.size() && wanted; at += part_) {
      throw_if_cancelled();
      merger_.add_bytes(word.substr(at, part_), growing.symbols());
      growing.take(at + part_ >= word.size(), pieces);
      for (ByteLevelMerger::Symbol& piece : pieces) {
        if (piece.id == ByteLevelMerger::none) piece.id = unknown_;
      }
      wanted = take();
    }
  }

  ByteLevelMerger merger_;
  std::uint32_t unknown_;
  std::size_t part_;
  bool add_prefix_space_;
  bool trim_offsets_;
  std::vector<Blanks> blanks_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_level_tokenizer(const ByteLevelDefinition& definition,
                                                     const SpecialIds& special, std::string digest,
                                                     std::size_t part) {
  return std::make_unique<ByteLevelTokenizer>(definition, special, std::move(digest), part);
}

}  // namespace bigbird
