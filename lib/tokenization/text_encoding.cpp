// Texts with their offsets in code points, and back from ids; see text_encoding.h.
#include "lib/tokenization/text_encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/tokenization/byte_level_bpe.h"
#include "lib/tokenization/text_steps.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

// What a character becomes with ascii_punctuation; empty: itself.
std::string_view ascii_of(char32_t c) {
  switch (c) {
    case U'\u2018':  // single quotation marks, prime
    case U'\u2019':
    case U'\u201A':
    case U'\u201B':
    case U'\u2032':
    case U'\u2039':
    case U'\u203A':
      return "'";
    case U'\u00AB':  // double ones
    case U'\u00BB':
    case U'\u201C':
    case U'\u201D':
    case U'\u201E':
    case U'\u201F':
    case U'\u2033':
      return "\"";
    case U'\u2010':  // hyphens, dashes, minus
    case U'\u2011':
    case U'\u2012':
    case U'\u2013':
    case U'\u2014':
    case U'\u2015':
    case U'\u2212':
      return "-";
    case U'\u2026':
      return "...";
    default:
      return {};
  }
}

// Numbers of the characters that begin before a byte, for bytes that mostly rise from call to call. A byte
// listed in `added` belongs to the character before it.
class CharacterCounter {
 public:
  explicit CharacterCounter(const FoldedText& folded) : folded_(folded) {}

  // Characters that begin before byte `at`.
  std::uint32_t before(std::size_t at) {
    if (at < at_) *this = CharacterCounter(folded_);
    for (; at_ < at; ++at_) count_ += begins(at_) ? 1u : 0u;
    return count_;
  }
  // The number of the character that holds byte `at`; for the end of the text, of all characters.
  std::uint32_t of(std::size_t at) { return at < folded_.text.size() ? before(at + 1) - 1 : before(at); }

 private:
  CharacterCounter(const CharacterCounter&) = default;
  CharacterCounter& operator=(const CharacterCounter& other) {
    at_ = other.at_;
    count_ = other.count_;
    next_added_ = other.next_added_;
    return *this;
  }

  // For bytes in order.
  bool begins(std::size_t at) {
    if (next_added_ < folded_.added.size() && folded_.added[next_added_] == at) {
      ++next_added_;
      return false;
    }
    return (static_cast<unsigned char>(folded_.text[at]) & 0xc0) != 0x80;
  }

  const FoldedText& folded_;
  std::size_t at_ = 0;
  std::size_t next_added_ = 0;
  std::uint32_t count_ = 0;
};

// Bytes of the code points of a text, for numbers that mostly rise.
class ByteFinder {
 public:
  explicit ByteFinder(std::string_view text) : text_(text) {}

  std::uint32_t of(std::uint32_t code_point) {
    if (code_point < number_) at_ = number_ = 0;
    for (; number_ < code_point; ++number_) at_ += character_length(text_, at_);
    return static_cast<std::uint32_t>(at_);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t number_ = 0;
};

bool is_printable(char32_t c) {
  const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  const bool invisible = is_white_space(c) || (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
                         (c >= 0x2060 && c <= 0x206f) || (c >= 0xfe00 && c <= 0xfe0f) || c == 0xad ||
                         c == 0xfeff || (c >= 0xe000 && c <= 0xf8ff) || c >= 0xe0000 ||
                         (c & 0xfffe) == 0xfffe;
  const bool combining = (c >= 0x300 && c <= 0x36f) || (c >= 0x20d0 && c <= 0x20ff);
  return !control && !invisible && !combining;
}

std::string name_of(char32_t c) {
  std::string name = fmt::format("U+{:04X}", static_cast<std::uint32_t>(c));
  if (!is_printable(c)) return name;
  name += " '";
  append_utf8(name, c);
  return name + "'";
}

}  // namespace

FoldedText fold_text(std::string_view text, const TextEncodingOptions& options) {
  FoldedText folded;
  const bool fold_space = options.white_space == WhiteSpace::fold;
  if (!fold_space && !options.ascii_punctuation) {
    folded.text = text;
    return folded;
  }
  folded.text.reserve(text.size());
  for (const CodePoint& c : CodePoints(text)) {
    if (fold_space && is_white_space(c.value)) {
      folded.text += ' ';
      continue;
    }
    const std::string_view plain = options.ascii_punctuation ? ascii_of(c.value) : std::string_view();
    for (std::size_t i = 1; i < plain.size(); ++i) folded.added.push_back(folded.text.size() + i);
    folded.text += plain.empty() ? text.substr(c.begin, c.end - c.begin) : plain;
  }
  return folded;
}

std::vector<NormalizerStep> fold_steps(const TextEncodingOptions& options) {
  std::map<std::string, std::string> sets;  // what becomes of characters, and they
  constexpr char32_t beyond = 0x3001;       // all of them are below
  for (char32_t c = 0; c < beyond; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    if (options.white_space == WhiteSpace::fold && c != U' ' && is_white_space(c)) append_utf8(sets[" "], c);
    if (options.ascii_punctuation && !ascii_of(c).empty()) append_utf8(sets[std::string(ascii_of(c))], c);
  }
  std::vector<NormalizerStep> steps;
  for (const auto& [content, characters] : sets) {
    NormalizerStep step;
    step.kind = NormalizerStep::Kind::replace;
    step.pattern = *TextPattern::regular_expression("[" + characters + "]");
    step.content = content;
    steps.push_back(std::move(step));
  }
  return steps;
}

namespace {

// No piece goes over the border of two words, and a blank can be a piece of its own: then nothing behind the
// blank before a word changes what the text before it becomes.
bool pieces_keep_to_words(const Tokenizer& tokenizer) {
  if (!tokenizer.within_words().empty()) return true;
  const std::string_view word_sign = tokenizer.word_start();
  bool blank_is_known = false;
  for (std::uint32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string& piece = tokenizer.piece(id);
    if (piece.find(' ') != std::string::npos) return false;
    std::size_t begin = 0;
    while (piece.compare(begin, word_sign.size(), word_sign) == 0) begin += word_sign.size();
    if (piece.find(word_sign, begin) != std::string::npos) return false;
    blank_is_known = blank_is_known || (piece == word_sign && !tokenizer.is_special(id));
  }
  return blank_is_known && !tokenizer.is_dna();
}

// Neither white space nor a mark that joins with what stands before it.
bool is_of_word(char32_t c) {
  return (c > 0x20 && c < 0x7f) || (c >= 0x80 && (is_letter(c) || is_number(c)));
}

// The first byte from `at` on where a blank stands between two words; the text's size where there is none.
std::size_t next_border(std::string_view text, std::size_t at, WhiteSpace white_space) {
  const std::string_view blanks = white_space == WhiteSpace::fold ? " \n\t\r" : " ";
  for (at = text.find_first_of(blanks, std::max<std::size_t>(at, 1)); at < text.size();
       at = text.find_first_of(blanks, at + 1)) {
    const std::size_t behind = at + 1;
    if (behind < text.size() && is_of_word(code_point_before(text, at).value) &&
        is_of_word(code_point_at(text, behind).value)) {
      return at;
    }
  }
  return text.size();
}

constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max();

// Calls encode(beginning, most) with longer and longer beginnings of the text, until it returns true: the ids
// are enough, or were those of the whole text. It may stop after `most` ids.
template <typename Encode>
void encode_beginnings(const Tokenizer& tokenizer, std::string_view text, WhiteSpace white_space,
                       std::size_t least, const Encode& encode) {
  constexpr std::size_t bytes_of_a_piece = 8;  // more than pieces have on average
  constexpr std::size_t too_short_to_cut = std::size_t{1} << 12;
  constexpr std::size_t too_short_to_stop_in = std::size_t{1} << 20;  // unknown characters of all of it count
  std::size_t size = std::max(bytes_of_a_piece * least, too_short_to_cut);
  if (size < text.size() && !pieces_keep_to_words(tokenizer)) size = text.size();
  for (bool done = false; !done; size *= 4) {
    size = size < text.size() ? next_border(text, size, white_space) : text.size();
    const bool all = size == text.size();
    done = encode(text.substr(0, size), all && size > too_short_to_stop_in ? least : no_end) || all;
  }
}

void check_encodable(std::string_view text) {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw_bad_input("a text of 4 GB or more cannot be encoded at once", "cut it into documents");
  }
  if (const std::size_t invalid = find_invalid_utf8(text); invalid < text.size()) {
    throw_bad_input(fmt::format("byte {} of a text is not UTF-8", invalid + 1), "convert the text to UTF-8");
  }
}

// At most `most` ids: `whole` says whether these are all.
EncodedText encode_checked(const Tokenizer& tokenizer, std::string_view text,
                           const TextEncodingOptions& options, std::size_t most, bool with_places) {
  const FoldedText folded = fold_text(text, options);
  EncodedText result;
  CharacterCounter begins(folded);
  CharacterCounter ends(folded);
  ByteFinder begin_bytes(text);
  ByteFinder end_bytes(text);
  std::map<char32_t, std::uint32_t> unknown;
  std::size_t end_of_last = 0;
  tokenizer.for_each_piece(folded.text, [&](std::uint32_t id, TextRange range) {
    if (result.ids.size() == most) {
      result.whole = false;
      return false;
    }
    result.ids.push_back(id);
    end_of_last = range.end;
    const bool is_unknown = id == tokenizer.special().unknown;
    if (!with_places && !is_unknown) return true;
    const std::uint32_t begin = begins.of(range.begin);
    const std::uint32_t end = range.begin == range.end ? begin : ends.before(range.end);
    const std::uint32_t byte_begin = begin_bytes.of(begin);
    const std::uint32_t byte_end = end_bytes.of(end);
    if (with_places) {
      result.begin.push_back(begin);
      result.end.push_back(end);
      result.byte_begin.push_back(byte_begin);
      result.byte_end.push_back(byte_end);
    }
    if (!is_unknown) return true;
    ++result.unknown_pieces;
    for (const CodePoint& c : CodePoints(text.substr(byte_begin, byte_end - std::size_t{byte_begin})))
      ++unknown[c.value];
    return true;
  });
  result.code_points = CharacterCounter(folded).before(result.whole ? folded.text.size() : end_of_last);
  result.unknown_characters.assign(unknown.begin(), unknown.end());
  return result;
}

}  // namespace

EncodedText encode_text(const Tokenizer& tokenizer, std::string_view text,
                        const TextEncodingOptions& options) {
  check_encodable(text);
  return encode_checked(tokenizer, text, options, no_end, true);
}

EncodedText encode_ids(const Tokenizer& tokenizer, std::string_view text,
                       const TextEncodingOptions& options) {
  check_encodable(text);
  return encode_checked(tokenizer, text, options, no_end, false);
}

EncodedText encode_text_begin(const Tokenizer& tokenizer, std::string_view text,
                              const TextEncodingOptions& options, std::size_t least) {
  check_encodable(text);
  EncodedText result;
  encode_beginnings(tokenizer, text, options.white_space, least,
                    [&](std::string_view begin, std::size_t most) {
                      result = encode_checked(tokenizer, begin, options, most, true);
                      result.whole = result.whole && begin.size() == text.size();
                      return result.ids.size() >= least;
                    });
  return result;
}

bool encode_begin(const Tokenizer& tokenizer, std::string_view text, std::size_t least,
                  std::vector<std::uint32_t>& ids) {
  const std::size_t before = ids.size();
  bool whole = true;
  encode_beginnings(tokenizer, text, WhiteSpace::keep, least, [&](std::string_view begin, std::size_t most) {
    ids.resize(before);
    whole = begin.size() == text.size();
    if (most == no_end) {
      tokenizer.encode(begin, ids);
    } else {
      tokenizer.for_each_piece(begin, [&](std::uint32_t id, TextRange) {
        whole = ids.size() - before < most;
        if (whole) ids.push_back(id);
        return whole;
      });
    }
    return ids.size() - before >= least;
  });
  return whole;
}

void UnknownTally::add(const EncodedText& text) {
  pieces_ += text.ids.size();
  unknown_ += text.unknown_pieces;
  for (const auto& [character, count] : text.unknown_characters) characters_[character] += count;
}

void UnknownTally::add(const UnknownTally& other) {
  pieces_ += other.pieces_;
  unknown_ += other.unknown_;
  for (const auto& [character, count] : other.characters_) characters_[character] += count;
}

double UnknownTally::share() const {
  return pieces_ == 0 ? 0 : static_cast<double>(unknown_) / static_cast<double>(pieces_);
}

std::vector<std::pair<char32_t, std::uint64_t>> UnknownTally::most_frequent(std::size_t most) const {
  std::vector<std::pair<char32_t, std::uint64_t>> characters(characters_.begin(), characters_.end());
  std::stable_sort(characters.begin(), characters.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (characters.size() > most) characters.resize(most);
  return characters;
}

std::optional<std::string> UnknownTally::warning(double highest_share) const {
  if (unknown_ == 0 || share() <= highest_share) return std::nullopt;
  std::string line = fmt::format("{:.1f} % of the pieces ({} of {}) are unknown to the vocabulary",
                                 100 * share(), unknown_, pieces_);
  constexpr std::size_t named = 8;
  const char* separator = "; most often ";
  for (const auto& [character, count] : most_frequent(named)) {
    line += fmt::format("{}{} ({})", separator, name_of(character), count);
    separator = ", ";
  }
  if (characters_.size() > named) line += fmt::format(" and {} others", characters_.size() - named);
  return line;
}

namespace {

// Pieces of a byte-level vocabulary as the bytes that they stand for. What is no character in the end, as
// where a model stops within one, becomes U+FFFD.
std::string with_bytes_of_stand_ins(std::string_view pieces) {
  static const std::unordered_map<std::string_view, char> bytes = [] {
    std::unordered_map<std::string_view, char> made;
    for (std::size_t byte = 0; byte < 256; ++byte)
      made.emplace(byte_level_characters()[byte], static_cast<char>(byte));
    return made;
  }();
  std::string text;
  for (std::size_t at = 0; at < pieces.size();) {
    const std::size_t end = code_point_at(pieces, at).end;
    const std::string_view character = pieces.substr(at, end - at);
    const auto found = bytes.find(character);
    if (found == bytes.end()) {  // of an added token, which is a text
      text += character;
    } else {
      text += found->second;
    }
    at = end;
  }
  return find_invalid_utf8(text) < text.size() ? encode_utf8(decode_utf8(text)) : text;
}

}  // namespace

std::string text_of_pieces(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  constexpr std::string_view line_mark = "<n>";
  const std::string_view word_start = tokenizer.word_start();
  const bool byte_level = word_start == byte_level_characters()[static_cast<std::size_t>(' ')];
  std::string text;
  for (const std::int32_t id : ids) {
    if (static_cast<std::size_t>(id) >= tokenizer.vocab_size()) continue;  // a row that stands for no piece
    std::string_view piece = tokenizer.piece(static_cast<std::uint32_t>(id));
    if (tokenizer.is_special(static_cast<std::uint32_t>(id)) && piece != line_mark) continue;
    if (const std::string_view within = tokenizer.within_words(); !within.empty()) {
      const bool begins = tokenizer.begins_word(static_cast<std::uint32_t>(id));
      if (begins) text += ' ';
      text += piece.substr(begins ? 0 : within.size());
      continue;
    }
    if (byte_level) {
      text += piece;
      continue;
    }
    for (std::size_t i = 0; i < piece.size();) {
      const bool begins = piece.compare(i, word_start.size(), word_start) == 0;
      text += begins ? ' ' : piece[i];
      i += begins ? word_start.size() : 1;
    }
  }
  if (byte_level) return with_bytes_of_stand_ins(text);
  return text.starts_with(' ') ? text.substr(1) : text;
}

}  // namespace bigbird
