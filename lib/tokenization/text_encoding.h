// A text of a task, encoded once: ids with the code points and the bytes that each stands for in the text as
// it was given, and which characters the vocabulary does not know. Data sets of questions count in code
// points (indices of a Python str), offsets of Hugging Face's tokenizers do too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bigbird {

struct NormalizerStep;
class Tokenizer;

enum class WhiteSpace {
  // Every white-space character (is_white_space of lib/core/unicode.h) becomes one U+0020 before encoding,
  // code point for code point: a vocabulary without a piece for the newline does not lose the border of two
  // words.
  fold,
  // As Hugging Face's tokenizer of the folder reads it.
  keep
};

struct TextEncodingOptions {
  WhiteSpace white_space = WhiteSpace::fold;
  // Quotation marks, dashes and the ellipsis beyond ASCII become ' " - and three dots before encoding.
  bool ascii_punctuation = false;
};

// Offsets are half-open and in the text as it was given, whatever was folded. Neither begins nor ends fall;
// ranges may be empty, or share a character (pieces that are parts of it). A word's first piece owns the
// blank before the word in SentencePiece vocabularies.
struct EncodedText {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> begin;  // code points
  std::vector<std::uint32_t> end;
  std::vector<std::uint32_t> byte_begin;
  std::vector<std::uint32_t> byte_end;
  bool whole = true;                 // false: encode_text_begin() left the rest of the text
  std::uint32_t code_points = 0;     // of the text, of which the rest is left out
  std::uint32_t unknown_pieces = 0;  // ids that are the unknown piece
  // The characters under unknown pieces, each with its occurrences, ascending.
  std::vector<std::pair<char32_t, std::uint32_t>> unknown_characters;
};

// Error{bad_input}: bytes that are no UTF-8, a text of 2^32 bytes or more.
EncodedText encode_text(const Tokenizer& tokenizer, std::string_view text,
                        const TextEncodingOptions& options = {});
// The same without places, which take four times the memory of the ids.
EncodedText encode_ids(const Tokenizer& tokenizer, std::string_view text, const TextEncodingOptions& options);

// The first ids of encode_text(), `least` of them at least, or all of a text that has fewer: the same ids at
// the same places, for a long text of which a model reads the begin. Takes memory for about what is asked
// where the text has blanks between words and no piece of the vocabulary goes over two words; else of a text
// beyond 1 MB `least` ids exactly, as Tokenizer::for_each_piece() finds them, and shorter ones are encoded as
// a whole. Errors as encode_text().
EncodedText encode_text_begin(const Tokenizer& tokenizer, std::string_view text,
                              const TextEncodingOptions& options, std::size_t least);
// The same of Tokenizer::encode(): appends ids. False when the rest of the text was left.
bool encode_begin(const Tokenizer& tokenizer, std::string_view text, std::size_t least,
                  std::vector<std::uint32_t>& ids);

// What encode_text() encodes, and where in it bytes were added: positions ascending of bytes that belong to
// the same character of the text as the byte before them (the second and third dot of an ellipsis).
struct FoldedText {
  std::string text;
  std::vector<std::size_t> added;
};
FoldedText fold_text(std::string_view text, const TextEncodingOptions& options);
// The same as steps of a tokenizer.json.
std::vector<NormalizerStep> fold_steps(const TextEncodingOptions& options);

// Unknown pieces of many texts, for the warning that says which characters a vocabulary lacks.
class UnknownTally {
 public:
  void add(const EncodedText& text);
  void add(const UnknownTally& other);

  std::uint64_t pieces() const { return pieces_; }
  std::uint64_t unknown_pieces() const { return unknown_; }
  // Of all pieces; 0 without any.
  double share() const;
  // The characters that are unknown most often, at most `most` of them; of equals the lower code point first.
  std::vector<std::pair<char32_t, std::uint64_t>> most_frequent(std::size_t most) const;
  // One line when more than `highest_share` of the pieces are unknown: the fraction, and the characters as
  // U+00E9 'é' (control characters and the like by number alone) with their counts.
  std::optional<std::string> warning(double highest_share = 0.05) const;

 private:
  std::uint64_t pieces_ = 0;
  std::uint64_t unknown_ = 0;
  std::map<char32_t, std::uint64_t> characters_;
};

// The text of pieces, as transformers' decode() has it: of a byte-level vocabulary their bytes, with U+FFFD
// for what is no character; of WordPiece a blank before each piece that begins a word; of others signs of
// word starts become blanks. The first blank of the text is dropped. Special pieces are left out, as its
// skip_special_tokens does, but for the line mark "<n>" of Pegasus; so are ids that have no piece (rows of a
// table of embeddings that is longer).
std::string text_of_pieces(const Tokenizer& tokenizer, std::span<const std::int32_t> ids);

}  // namespace bigbird
