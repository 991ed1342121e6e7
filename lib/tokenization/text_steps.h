// What a tokenizer.json does to a text before its pieces are found: normalisation, with every byte traced
// back to the original text, and splitting into words that no piece crosses. tokenizer_json.h says which
// steps are known. TracedText carries those of DNA over sequences of any length in little memory; the others
// are AlignedText's (aligned_text.h), which knows both ends of every byte's place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bigbird {

// The table of characters that SentencePiece compiles into a model ("precompiled_charsmap"): stretches of
// bytes and what they become. Layout: the bytes of a double array (little-endian units of 32 bits,
// darts-clone's), their number in front, and behind it the texts that it points to, each ended by a NUL.
//
// Immutable after construction: safe from many threads at once.
class CharacterMap {
 public:
  // Error{bad_input} "WHERE: ..." for bytes that are no such table.
  CharacterMap(std::string_view bytes, const std::string& where);

  // What the shortest entry that begins the text becomes (the choice of Hugging Face's tokenizers).
  std::optional<std::string_view> find(std::string_view text) const;
  // The bytes as they were given.
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::vector<std::uint32_t> units_;
  std::string_view texts_;  // of bytes_
};

// Base64, as tokenizer.json holds such a table. nullopt for text that is none.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

// Half-open bytes of a text.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// What a Replace or a Split looks for: a literal text, or a run of characters out of a set, anywhere or at
// one end of the text.
class TextPattern {
 public:
  // Not empty.
  static TextPattern literal(std::string text);
  // The regular expressions understood: one character, written plainly or escaped by a backslash (\n, \t, \r
  // are controls), \s (Unicode's white space), or one [set] of characters and ranges, [^set] for all others;
  // then nothing, +, {n}, {n,} or {n,m} with n >= 1; \A before it holds it to the beginning of the text, \z
  // behind it to the end. nullopt for anything else.
  static std::optional<TextPattern> regular_expression(std::string_view expression);

  bool is_literal() const { return !literal_.empty(); }
  // As it was given: the literal text, or the regular expression.
  const std::string& source() const { return is_literal() ? literal_ : expression_; }

  // The first match that begins at `from` or later: leftmost, then longest.
  std::optional<TextRange> find(std::string_view text, std::size_t from) const;
  // Whether a match can hold this character (UTF-8).
  bool holds(std::string_view character) const;
  // Whether it can be found in a text of nothing but these ASCII characters.
  bool occurs_among(std::string_view characters) const;

 private:
  friend class RunParser;
  bool matches_character(std::string_view text, std::size_t at, std::size_t length) const;

  std::string literal_;          // empty: a run
  std::string expression_;       // of a run
  std::array<bool, 128> set_{};  // ASCII characters of the run
  // First and last of those beyond ASCII, or of those that do not belong to it.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges_;
  bool negated_ = false;
  std::size_t least_ = 1;
  std::size_t most_ = 1;
  bool at_begin_ = false;
  bool at_end_ = false;
};

// A text and where its bytes come from, as a list of stretches copied from the original.
class TracedText {
 public:
  // The original itself, from byte `origin` of a longer text on.
  TracedText(std::string_view text, std::size_t origin);

  const std::string& text() const { return text_; }
  // Where the character at byte `at` of text() begins in the original. Ascending `at` from call to call is
  // fastest; `cursor` starts at 0.
  std::size_t origin(std::size_t at, std::size_t& cursor) const;

  // Removes white space at the ends.
  void strip(bool left, bool right);
  // Puts `content` in the place of every match; it stands for the bytes that it replaces.
  void replace(const TextPattern& pattern, const std::string& content);

 private:
  struct Stretch {
    std::size_t begin;   // in text_; it goes on to the next stretch
    std::size_t origin;  // of its first byte
    bool copied;         // false: the whole stretch stands for what begins at origin
  };

  TracedText() = default;
  void append(const TracedText& from, TextRange range);

  std::string text_;
  std::vector<Stretch> stretches_;
};

struct NormalizerStep {
  // bert: what its flags say, in their order, as BertNormalizer of the tokenizers package.
  enum class Kind { strip, replace, prepend, character_map, lower, nfc, nfd, nfkc, nfkd, bert };
  Kind kind = Kind::strip;
  bool strip_left = false;
  bool strip_right = false;
  TextPattern pattern;  // replace
  std::string content;  // of replace and prepend
  std::shared_ptr<const CharacterMap> map;
  // bert (lib/core/unicode_bert.h): controls are removed and white space becomes blanks; ideographs stand
  // between blanks; NFD without accents; small letters.
  bool cleans = false;
  bool parts_ideographs = false;
  bool strips_accents = false;
  bool lowers = false;
};

// As a tokenizer.json calls those that have no settings.
inline constexpr std::array<std::pair<NormalizerStep::Kind, const char*>, 5> form_names{
    {{NormalizerStep::Kind::lower, "Lowercase"},
     {NormalizerStep::Kind::nfc, "NFC"},
     {NormalizerStep::Kind::nfd, "NFD"},
     {NormalizerStep::Kind::nfkc, "NFKC"},
     {NormalizerStep::Kind::nfkd, "NFKD"}}};

struct SplitStep {
  // metaspace: blanks become word signs, one may be put in front, and words begin at word signs. punctuation:
  // each sign that is_bert_punctuation() knows is a word.
  enum class Kind { pattern, white_space, metaspace, punctuation };
  enum class Prepend { always, first, never };
  TextPattern pattern;
  bool keep_matches = true;  // "Isolated": a match is a word of its own; "Removed": it is left out
  Kind kind = Kind::pattern;
  std::string sign;  // metaspace
  Prepend prepend = Prepend::always;
  bool cuts = true;  // at signs
};
inline constexpr std::array<std::pair<SplitStep::Prepend, const char*>, 3> prepend_names{
    {{SplitStep::Prepend::always, "always"},
     {SplitStep::Prepend::first, "first"},
     {SplitStep::Prepend::never, "never"}}};

// Cuts every one of `words` (ranges of text) at the matches of the step.
std::vector<TextRange> split_words(std::string_view text, const std::vector<TextRange>& words,
                                   const SplitStep& step);

// Bytes of the UTF-8 character at `at`; 1 where the bytes are no UTF-8.
std::size_t character_length(std::string_view text, std::size_t at);
// How far white space (Unicode's) reaches from `at` to the right, and up to `at` from the left.
std::size_t skip_space(std::string_view text, std::size_t at);
std::size_t skip_space_back(std::string_view text, std::size_t at);

}  // namespace bigbird
