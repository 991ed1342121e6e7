// The tokenizer for every model that is not our DNA BPE: the SentencePiece library itself. Its segmentation
// rests on details (tie-breaking, normalisation) that are not worth a second implementation.
#include <sentencepiece_processor.h>

#include "lib/core/error.h"
#include "lib/io/files/sha256.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(const SentencePieceModel& model, const SpecialIds& special, const std::string& bytes,
                         const std::string& where)
      : Tokenizer(piece_table(model), special, sha256_bytes(bytes)) {
    const auto status = processor_.LoadFromSerializedProto(bytes);
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
    sentencepiece::ImmutableSentencePieceText found;
    check(processor_.Encode(text, found.mutable_proto()));
    for (std::size_t i = 0; i < found.pieces_size(); ++i) {
      const auto piece = found.pieces(static_cast<int>(i));
      ids.push_back(piece.id());
      byte_offsets->push_back(piece.begin());
    }
  }

 private:
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
