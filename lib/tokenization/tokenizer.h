// The tokenizer interface: text to ids and back, with byte offsets. Seven kinds: DNA vocabularies in
// SentencePiece's file (own exact BPE encoder), k-mers of DNA in a vocab.txt, every other SentencePiece model
// (the library itself, or an own encoder that gives what Hugging Face's fast tokenizer gives, which also
// reads a tokenizer.json of text), Hugging Face's tokenizer.json of DNA models, the byte-level BPE of GPT-2
// and RoBERTa, and BERT's WordPiece. load_tokenizer picks by what the folder holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

class AddedTokenFinder;
struct TextRange;

// Takes a piece with its bytes in the text; false: no more are wanted.
using TakePiece = std::function<bool(std::uint32_t id, TextRange range)>;

// Ids of the special pieces.
struct SpecialIds {
  std::uint32_t pad = 0;
  std::uint32_t unknown = 1;
  std::uint32_t cls = 2;
  std::uint32_t sep = 3;
  std::uint32_t mask = 4;
  // False: sequences end without one, as Nucleotide Transformer's, and `sep` is `cls`.
  bool has_sep = true;
  std::size_t around() const { return has_sep ? 2 : 1; }  // pieces of a sequence beside its tokens
  bool operator==(const SpecialIds&) const = default;
  std::array<std::uint32_t, 5> all() const { return {pad, unknown, cls, sep, mask}; }
  bool holds(std::uint32_t id) const {
    return id == pad || id == unknown || id == cls || id == sep || id == mask;
  }
};

// [CLS], the tokens, and [SEP] where there is one: a sequence as models read it.
template <typename Id>
std::vector<std::int32_t> between_special_pieces(std::span<const Id> tokens, const SpecialIds& special) {
  std::vector<std::int32_t> ids;
  ids.reserve(tokens.size() + special.around());
  ids.push_back(static_cast<std::int32_t>(special.cls));
  for (const Id token : tokens) ids.push_back(static_cast<std::int32_t>(token));
  if (special.has_sep) ids.push_back(static_cast<std::int32_t>(special.sep));
  return ids;
}

// The vocabulary, whatever file it came from: one entry per id.
struct PieceTable {
  std::vector<std::string> texts;
  std::vector<std::uint32_t> lengths;  // bases or bytes in the text, see Tokenizer::piece_length
  std::vector<std::uint8_t> special;   // 1: never masked, never drawn as a random replacement
};

// A text that was encoded before, for another that has stretches of it: KnownPieces (bpe_encoder.h) of ids.
struct KnownEncoding {
  std::string_view text;
  std::span<const std::int32_t> ids;  // that encode() gives, all of them or the first ones
  std::span<const std::int64_t> offsets;
};

// Immutable after construction: every method is safe from many threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Appends the ids of `text`, without special pieces. `byte_offsets`, where given, gets the first byte in
  // `text` of every id; an id ends where the next begins, the last at the end of the text. DNA is upper case
  // here: lib/data upper-cases and turns other IUPAC letters into N before it asks. Names of special pieces
  // are text, but for a tokenizer.json of DNA, which finds all that it lists. Tokens that were added to the
  // vocabulary and what SentencePiece's trainer was told to define are one piece each.
  virtual void encode(std::string_view text, std::vector<std::uint32_t>& ids,
                      std::vector<std::uint32_t>* byte_offsets = nullptr) const = 0;
  // Appends the same ids, sooner where `text` has stretches of a text that is known. Returns how many of its
  // bytes have ids that were taken over.
  virtual std::size_t encode_like(std::string_view text, const KnownEncoding& known,
                                  std::vector<std::uint32_t>& ids) const;
  // As encode() with the bytes of `text` that every id stands for, as Hugging Face's tokenizer of the same
  // folder gives them: ranges may be empty or share a character, and leave out white space that was dropped.
  // Neither begins nor ends ever fall. lib/tokenization/text_encoding.h turns them into code points.
  virtual void encode_ranges(std::string_view text, std::vector<std::uint32_t>& ids,
                             std::vector<TextRange>& ranges) const;
  // The pieces of encode_ranges() in order, each as soon as what follows in the text cannot change it, until
  // take() wants no more. Kinds that encode a long text part by part take memory for a part alone; where no
  // place is certain, for what lies between two of them. Error{interrupted} at a request to stop.
  virtual void for_each_piece(std::string_view text, const TakePiece& take) const;
  // The same for text in which special pieces may stand by name ("The [MASK] sat"), as Hugging Face's
  // tokenizers read it: [MASK] takes the white space before it along, and the text between special pieces is
  // encoded stretch by stretch.
  virtual void encode_with_special_pieces(std::string_view text, std::vector<std::uint32_t>& ids,
                                          std::vector<std::uint32_t>* byte_offsets = nullptr) const;
  // True for DNA: the pieces of A C G T (and N), encoded by our own encoder.
  virtual bool is_dna() const = 0;
  // The sign that a piece opens with when it begins a word and owns the blank before it: U+2581, in
  // byte-level vocabularies U+0120.
  virtual std::string_view word_start() const { return "\xE2\x96\x81"; }
  // In WordPiece vocabularies, which have no such sign, the prefix of pieces that go on in a word ("##").
  virtual std::string_view within_words() const { return {}; }
  // Whether the piece begins a word. For id < vocab_size().
  bool begins_word(std::uint32_t id) const {
    const std::string_view text = pieces_.texts[id];
    return within_words().empty() ? text.starts_with(word_start()) : !text.starts_with(within_words());
  }

  std::size_t vocab_size() const { return pieces_.texts.size(); }
  // The piece as it stands in the model; Error{bad_input} when there is no such id.
  const std::string& piece(std::uint32_t id) const;
  // Bases (DNA) or bytes (text, a word-start sign counted as its blank) that the id stands for; 0 for special
  // pieces and for [UNK]. For id < vocab_size(). With a tokenizer.json that rewrites its text a piece may
  // stand for more (GENA-LM's '-' for ten N or more, and is special): the byte offsets of encode() tell.
  std::uint32_t piece_length(std::uint32_t id) const { return pieces_.lengths[id]; }
  const std::vector<std::uint32_t>& piece_lengths() const { return pieces_.lengths; }
  // Of text the characters that begin in it, the blank before a word among them; of DNA bases.
  std::uint32_t piece_characters(std::uint32_t id) const;
  // Control, unknown and reserved pieces, and added tokens that are special: never masked, never drawn as a
  // random replacement.
  bool is_special(std::uint32_t id) const { return pieces_.special[id] != 0; }
  const SpecialIds& special() const { return special_; }
  // SHA-256 of the file that defines the ids (spiece.model, also where a tokenizer.json of the same pieces
  // lies beside it; tokenizer.json of DNA and of byte-level BPE; of vocab.json and merges.txt one after the
  // other), or of the pieces with their scores or merges (tokenizer.json of text): two tokenizers of one kind
  // with one digest give the same ids.
  const std::string& digest() const { return digest_; }

 protected:
  Tokenizer(PieceTable pieces, const SpecialIds& special, std::string digest);

 private:
  PieceTable pieces_;
  SpecialIds special_;
  std::unique_ptr<const AddedTokenFinder> special_finder_;
  std::string digest_;
};

// The tokenizer of a folder: what transformers' AutoTokenizer (4.57.1) loads from it. A tokenizer.json
// (Hugging Face's) is read where there is one; else spiece.model (SentencePiece's format) as its fast
// tokenizer reads it, else vocab.json with merges.txt (GPT-2's and RoBERTa's), else vocab.txt (k-mers of DNA,
// EsmTokenizer's or DNABERT's, or BERT's, by `do_lower_case`, `strip_accents` and `tokenize_chinese_chars` of
// tokenizer_config.json). Where BertTokenizer in Python and BertTokenizerFast differ (unicode_bert.h), ids
// are those of the latter. Four exceptions, all of spiece.model: vocabularies of DNA (which transformers
// would put blanks into); those that `bigbird text vocabulary` has made, by the library, with which their ids
// were made; word and character models, by the library; and a tokenizer.json that is not understood, which a
// warning names. A tokenizer.json that this program has written from the files beside it (tokenizer_folder.h)
// repeats them, and they are read. The names of the special pieces come from tokenizer_config.json, else
// special_tokens_map.json, else they are the usual ones. Added tokens (added_tokens.h) are found in texts,
// whatever the kind. Error{bad_input} naming the file: no such folder or model, a model that does not parse
// or is not understood, special pieces that it lacks, added tokens whose ids are not theirs.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder);

// Names of the files in FOLDER that make up a tokenizer and are there; they are copied beside a model's
// weights.
std::vector<std::string> tokenizer_files(const std::string& folder);

// A piece for one field of a table or one line of a message: control characters as \n, \t or \x1b.
std::string escape_controls(std::string_view piece);

}  // namespace bigbird
