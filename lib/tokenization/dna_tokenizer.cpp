// The tokenizer for DNA vocabularies: our BPE encoder behind the ids of a SentencePiece model.
#include <algorithm>

#include "lib/io/files/sha256.h"
#include "lib/tokenization/bpe_encoder.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"

namespace bigbird {
namespace {

// Ids of the pieces that can stand in a text, best rank (highest score) first; letters before all.
std::vector<std::uint32_t> ids_by_rank(const SentencePieceModel& model) {
  std::vector<std::uint32_t> ids;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    if (model.pieces[id].type == PieceType::normal) ids.push_back(static_cast<std::uint32_t>(id));
  }
  std::stable_sort(ids.begin(), ids.end(), [&](std::uint32_t a, std::uint32_t b) {
    const ModelPiece& left = model.pieces[a];
    const ModelPiece& right = model.pieces[b];
    const bool letter_a = left.text.size() == 1;
    const bool letter_b = right.text.size() == 1;
    if (letter_a || letter_b) return letter_a && !letter_b;
    return left.score > right.score;
  });
  return ids;
}

std::vector<std::string> texts_of(const SentencePieceModel& model, const std::vector<std::uint32_t>& ids) {
  std::vector<std::string> texts;
  for (const std::uint32_t id : ids) texts.push_back(model.pieces[id].text);
  return texts;
}

class DnaTokenizer final : public Tokenizer {
 public:
  DnaTokenizer(const SentencePieceModel& model, const SpecialIds& special, const std::string& bytes)
      : Tokenizer(piece_table(model), special, sha256_bytes(bytes)),
        ids_(ids_by_rank(model)),
        numbers_(numbers_by_id(ids_, model.pieces.size())),
        encoder_(texts_of(model, ids_)) {}

  bool is_dna() const override { return true; }

  void encode(std::string_view text, std::vector<std::uint32_t>& ids,
              std::vector<std::uint32_t>* byte_offsets) const override {
    const std::size_t first = ids.size();
    encoder_.encode(text, ids);
    std::uint32_t offset = 0;
    for (std::size_t i = first; i < ids.size(); ++i) {
      if (byte_offsets != nullptr) byte_offsets->push_back(offset);
      if (ids[i] == BpeEncoder::unknown) {
        ids[i] = special().unknown;
        if (byte_offsets != nullptr) offset = end_of_unknown(text, offset);
      } else {
        offset += encoder_.length(ids[i]);
        ids[i] = ids_[ids[i]];
      }
    }
  }

  std::size_t encode_like(std::string_view text, const KnownEncoding& known,
                          std::vector<std::uint32_t>& ids) const override {
    const std::size_t first = ids.size();
    const std::vector<std::uint32_t> numbers = numbers_of(known.ids, numbers_);
    const std::size_t taken = encoder_.encode_like(text, {known.text, numbers, known.offsets}, ids);
    for (std::size_t i = first; i < ids.size(); ++i)
      ids[i] = ids[i] == BpeEncoder::unknown ? special().unknown : ids_[ids[i]];
    return taken;
  }

 private:
  static std::uint32_t end_of_unknown(std::string_view text, std::uint32_t offset) {
    const std::size_t end = text.find_first_of("ACGTN", offset);
    return static_cast<std::uint32_t>(end == std::string_view::npos ? text.size() : end);
  }

  std::vector<std::uint32_t> ids_;      // by the encoder's piece number
  std::vector<std::uint32_t> numbers_;  // by id
  BpeEncoder encoder_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_dna_tokenizer(const SentencePieceModel& model, const SpecialIds& special,
                                              const std::string& bytes) {
  return std::make_unique<DnaTokenizer>(model, special, bytes);
}

}  // namespace bigbird
