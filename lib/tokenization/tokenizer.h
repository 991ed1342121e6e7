// The tokenizer interface: text to ids and back, with byte offsets. One for DNA (own exact BPE encoder), one
// for everything else (the SentencePiece library); load_tokenizer picks by what the model file says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

struct SentencePieceModel;

// Ids of the special pieces. They never come out of encode(), except `unknown`.
struct SpecialIds {
  std::uint32_t pad = 0;
  std::uint32_t unknown = 1;
  std::uint32_t cls = 2;
  std::uint32_t sep = 3;
  std::uint32_t mask = 4;
  bool operator==(const SpecialIds&) const = default;
};

// Immutable after construction: every method is safe from many threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Appends the ids of `text`, without special pieces. `byte_offsets`, where given, gets the first byte in
  // `text` of every id; an id ends where the next begins, the last at the end of the text. DNA is upper case
  // here: lib/data upper-cases and turns other IUPAC letters into N before it asks.
  virtual void encode(std::string_view text, std::vector<std::uint32_t>& ids,
                      std::vector<std::uint32_t>* byte_offsets = nullptr) const = 0;
  // True for DNA: pieces over A C G T N, encoded by our own encoder.
  virtual bool is_dna() const = 0;

  std::size_t vocab_size() const { return pieces_.size(); }
  // The piece as it stands in the model; Error{bad_input} when there is no such id.
  const std::string& piece(std::uint32_t id) const;
  // Bases (DNA) or bytes (text, a word-start sign counted as its blank) that the id stands for; 0 for special
  // pieces and for [UNK]. For id < vocab_size().
  std::uint32_t piece_length(std::uint32_t id) const { return piece_lengths_[id]; }
  const std::vector<std::uint32_t>& piece_lengths() const { return piece_lengths_; }
  // Control and unknown pieces: never masked, never drawn as a random replacement.
  bool is_special(std::uint32_t id) const { return special_flags_[id] != 0; }
  const SpecialIds& special() const { return special_; }
  // SHA-256 of spiece.model: two tokenizers with one digest give the same ids.
  const std::string& digest() const { return digest_; }

 protected:
  Tokenizer(const SentencePieceModel& model, const SpecialIds& special, std::string digest);

 private:
  std::vector<std::string> pieces_;
  std::vector<std::uint32_t> piece_lengths_;
  std::vector<std::uint8_t> special_flags_;
  SpecialIds special_;
  std::string digest_;
};

// Reads FOLDER/spiece.model (SentencePiece's format) and, where it exists, FOLDER/tokenizer_config.json for
// the names of the special pieces. Error{bad_input} naming the file: no such folder or model, a model that
// does not parse, special pieces that it lacks.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& folder);

// The two kinds, for load_tokenizer and for tests that hold them against each other. `bytes` is the model
// file, `where` its name for messages. The first needs model.is_dna_bpe().
std::unique_ptr<Tokenizer> make_dna_tokenizer(const SentencePieceModel& model, const SpecialIds& special,
                                              const std::string& bytes);
std::unique_ptr<Tokenizer> make_library_tokenizer(const SentencePieceModel& model, const SpecialIds& special,
                                                  const std::string& bytes, const std::string& where);

// Names of the files in FOLDER that make up a tokenizer and are there; they are copied beside a model's
// weights.
std::vector<std::string> tokenizer_files(const std::string& folder);

}  // namespace bigbird
