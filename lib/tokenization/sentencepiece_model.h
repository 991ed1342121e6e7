// SentencePiece's model file (spiece.model): the parts of its protobuf message that this project reads and
// writes, in plain structures. Source: google/sentencepiece, src/sentencepiece_model.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

struct PieceTable;

// Values as in the .proto.
enum class PieceType : std::uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};
enum class ModelType : std::uint8_t { unigram = 1, bpe = 2, word = 3, character = 4 };

struct ModelPiece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::normal;
};

// Defaults are the .proto's: what a file that leaves a field out means.
struct SentencePieceModel {
  std::vector<ModelPiece> pieces;
  ModelType type = ModelType::unigram;
  bool byte_fallback = false;
  std::uint32_t max_piece_length = 16;
  std::string normalizer = "nmt_nfkc";
  bool has_character_map = false;  // some normalisation is compiled into the file
  std::string character_map;       // its bytes (text_steps.h)
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool space_is_suffix = false;  // word signs end words

  // True when an own encoder may stand in for the library on text over ACGTN: plain BPE, no normalisation,
  // all five letters, pieces over ACGTN only, all scores of pieces longer than a letter different.
  bool is_dna_bpe() const;
};

// Error{bad_input} "WHERE: ..." when the bytes are no such message, or hold no pieces.
SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& where);

PieceTable piece_table(const SentencePieceModel& model);

// A model of the special pieces [PAD]=0 [UNK]=1 [CLS]=2 [SEP]=3 [MASK]=4, the letters A C G T N, then the
// learnt pieces in their order; normalisation identity, nothing added to the text.
SentencePieceModel make_dna_model(const std::vector<std::string>& learnt_pieces,
                                  std::uint32_t max_piece_length);
std::string serialize_sentencepiece_model(const SentencePieceModel& model);
// spiece.vocab: a line for each piece, its text and its score.
std::string vocabulary_lines(const SentencePieceModel& model);

// Types of pieces in the bytes of a SentencePiece model, changed in place. A model that the library loads
// must read the names of special pieces literally: a document that says "[SEP]" or "<t>" gives ordinary
// pieces, whatever the model's type. Control pieces are never matched. What a user had the trainer define
// (--user_defined_symbols) stays as it is: one piece, wherever it stands.
//
// Calls type_of(id, text, type) for every piece of `bytes`, which parse_sentencepiece_model has read, and
// puts what it returns in the place of the type. A piece that states no type (a normal one) keeps it.
std::string with_piece_types(
    std::string bytes, const std::function<PieceType(std::size_t, std::string_view, PieceType)>& type_of);

// The model for a stretch inside a text: no blank is put in front.
std::string model_within_text(std::string bytes);

// User-defined pieces become control pieces where their names are reserved (is_reserved_text,
// text_vocabulary.h) or their ids are among `special`.
std::string literal_model(const std::string& bytes, std::span<const std::uint32_t> special = {});

}  // namespace bigbird
