// Training a vocabulary for text through the SentencePiece library: BPE without normalisation, behind the 101
// reserved pieces of the published BigBird vocabulary, at their ids and with their types. The folder loads in
// Hugging Face's BigBirdTokenizer. No random choice, and one thread: the same lines give the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/files/provenance.h"
#include "lib/tokenization/sentencepiece_model.h"

namespace bigbird {

// "!" to "~".
std::string printable_ascii();

struct TextVocabularyOptions {
  std::string output;                // tokenizer folder
  std::string source = "the input";  // what messages call the texts
  bool overwrite = false;            // replace a folder that exists
  std::uint32_t vocab_size = 32000;  // with the reserved pieces, and the 256 for bytes
  // A character that the vocabulary lacks becomes the pieces of its UTF-8 bytes, never the unknown piece.
  bool byte_fallback = false;
  // Fraction of the characters of the input, most frequent first, that become pieces; above 0, at most 1.
  double character_coverage = 0.9995;
  // Characters that are pieces however rare they are (UTF-8; SentencePiece's required_chars). Not given:
  // printable ASCII where the vocabulary has room for it, which is from 512 pieces on (768 with bytes).
  std::optional<std::string> required_characters;
  std::uint32_t max_piece_length = 16;  // code points
  // Longer lines are cut, at white space where there is some: 1,000 to 30,000 bytes.
  std::uint32_t max_sentence_bytes = 4000;
  std::optional<Provenance> provenance;
};

struct TextVocabularySummary {
  std::string trainer;           // "sentencepiece 0.1.97"
  std::uint64_t vocab_size = 0;  // fewer than wanted when the text gives no more
  std::uint64_t lines = 0;       // with something but white space in them
  std::uint64_t bytes = 0;       // of these lines
  std::uint64_t lines_cut = 0;   // longer than max_sentence_bytes
  std::uint64_t characters = 0;  // single characters that are pieces
};

// Sets `line` to the next line of the text (UTF-8, without its newline; valid until the next call), or
// returns false at the end.
using NextTextLine = std::function<bool(std::string_view& line)>;

// The reserved pieces of the published vocabulary, by id: 0 <pad>, 1 </s>, 2 <s>, 3 <sep_0> ... 65 [CLS],
// 66 [SEP], 67 [MASK] ... 100 <unk>.
const std::vector<ModelPiece>& reserved_text_pieces();
// Whether it is the name of one of them, with any number (<unused_99>), or Pegasus's <n>: in data such names
// are text.
bool is_reserved_text(std::string_view text);

// Cuts a line into parts of at most `most` bytes, before white space, else (a word longer than that) between
// characters; joined they are the line. Views into it.
std::vector<std::string_view> cut_line(std::string_view line, std::size_t most);

// Writes spiece.model, spiece.vocab, tokenizer.json and tokenizer_config.json; the folder appears whole or
// not at all. White space is learnt from as blanks. Error{usage}: a setting out of range, or a vocabulary too
// small for its fixed pieces and the characters of the text. Error{bad_input}: a line that is no UTF-8,
// nothing to learn from.
TextVocabularySummary train_text_vocabulary(const NextTextLine& next, const TextVocabularyOptions& options);

}  // namespace bigbird
