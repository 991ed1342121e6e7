// The tokenizer for every SentencePiece model that is not our DNA BPE: the library itself. Its segmentation
// rests on details (tie-breaking, normalisation) that are not worth a second implementation. It is given the
// model with reserved user-defined pieces as control pieces, because their names are text
// (sentencepiece_model.h).
#include <sentencepiece_processor.h>

#include "lib/core/error.h"
#include "lib/io/files/sha256.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/text_steps.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"

namespace bigbird {
namespace {

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(const SentencePieceModel& model, const SpecialIds& special, const std::string& bytes,
                         const std::string& where)
      : Tokenizer(piece_table(model), special, sha256_bytes(bytes)) {
    const auto status = processor_.LoadFromSerializedProto(literal_model(bytes, special.all()));
    if (!status.ok()) {
      throw_bad_input(where + ": SentencePiece cannot load the model (" + status.message() + ")",
                      "copy the file again, or train it anew with bigbird train-bpe");
    }
  }

  bool is_dna() const override { return false; }

  void encode(std::string_view text, std::vector<std::uint32_t>& ids,
              std::vector<std::uint32_t>* byte_offsets) const override {
    if (byte_offsets == nullptr) {
      std::vector<int> found;
      check(processor_.Encode(text, &found));
      for (const int id : found) ids.push_back(static_cast<std::uint32_t>(id));
      return;
    }
    for_each_piece(text, [&](std::uint32_t id, std::uint32_t begin, std::uint32_t) {
      ids.push_back(id);
      byte_offsets->push_back(begin);
    });
  }

  void encode_ranges(std::string_view text, std::vector<std::uint32_t>& ids,
                     std::vector<TextRange>& ranges) const override {
    for_each_piece(text, [&](std::uint32_t id, std::uint32_t begin, std::uint32_t end) {
      ids.push_back(id);
      ranges.push_back({begin, end});
    });
  }

 private:
  template <typename Take>
  void for_each_piece(std::string_view text, const Take& take) const {
    sentencepiece::ImmutableSentencePieceText found;
    check(processor_.Encode(text, found.mutable_proto()));
    for (std::size_t i = 0; i < found.pieces_size(); ++i) {
      const auto piece = found.pieces(static_cast<int>(i));
      take(piece.id(), piece.begin(), piece.end());
    }
  }

  static void check(const sentencepiece::util::Status& status) {
    if (!status.ok())
      throw_runtime(std::string("SentencePiece could not encode a text: ") + status.message());
  }

  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const SentencePieceModel& model,
                                                        const SpecialIds& special, const std::string& bytes,
                                                        const std::string& where) {
  return std::make_unique<SentencePieceTokenizer>(model, special, bytes, where);
}

}  // namespace bigbird
