// What Hugging Face's BigBirdTokenizerFast makes of a SentencePiece model: white space off the right end,
// runs of U+0020 as one word sign that stands for the last blank of the run, a word sign in front, words cut
// before every word sign, and each word segmented by itself (transformers 4.57.1, convert_slow_tokenizer.py;
// normalizers Strip and Replace, pre_tokenizer Metaspace and model Unigram of the tokenizers package). Where
// it differs from the library: docs/parity.md.
#include <algorithm>
#include <set>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/sha256.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/unigram_encoder.h"

namespace bigbird {
namespace {

constexpr std::string_view word_sign = "\xE2\x96\x81";  // U+2581

UnigramEncoder encoder_of(const SentencePieceModel& model, const SpecialIds& special,
                          const std::string& where) {
  std::vector<UnigramPiece> pieces;
  std::set<std::string_view> texts;
  double lowest = 0;
  for (std::uint32_t id = 0; id < model.pieces.size(); ++id) {
    const ModelPiece& piece = model.pieces[id];
    if (!(piece.score > -1e30f && piece.score < 1e30f)) {
      throw_bad_input(where + ": piece " + std::to_string(id) + " has a score that is no number",
                      "copy the file again");
    }
    lowest = id == 0 ? piece.score : std::min<double>(lowest, piece.score);
    if (piece.text.empty() || !texts.insert(piece.text).second) {
      throw_bad_input(
          where + ": piece " + std::to_string(id) +
              (piece.text.empty() ? " is empty" : " ('" + escape_controls(piece.text) + "') stands twice"),
          "copy the file again");
    }
    // Text is literal: no text gives a special piece, or one that stands for a byte.
    if (piece.type == PieceType::normal || piece.type == PieceType::unused) {
      pieces.push_back({piece.text, piece.score, id});
    }
  }
  return {pieces, special.unknown, lowest};
}

class FastSentencePieceTokenizer final : public Tokenizer {
 public:
  FastSentencePieceTokenizer(const SentencePieceModel& model, const SpecialIds& special,
                             const std::string& bytes, const std::string& where)
      : Tokenizer(piece_table(model), special, sha256_bytes(bytes)),
        encoder_(encoder_of(model, special, where)) {}

  bool is_dna() const override { return false; }

  void encode(std::string_view text, std::vector<std::uint32_t>& ids,
              std::vector<std::uint32_t>* byte_offsets) const override {
    for_each_piece(text.substr(0, skip_space_back(text, text.size())),
                   [&](std::uint32_t id, TextRange range) {
                     ids.push_back(id);
                     if (byte_offsets != nullptr)
                       byte_offsets->push_back(static_cast<std::uint32_t>(range.begin));
                   });
  }

  void encode_ranges(std::string_view text, std::vector<std::uint32_t>& ids,
                     std::vector<TextRange>& ranges) const override {
    encode_stretch(text.substr(0, skip_space_back(text, text.size())), ids, ranges);
  }

  void encode_stretch(std::string_view text, std::vector<std::uint32_t>& ids,
                      std::vector<TextRange>& ranges) const override {
    for_each_piece(text, [&](std::uint32_t id, TextRange range) {
      ids.push_back(id);
      ranges.push_back(range);
    });
  }

 private:
  // What a byte of a normalised word was in the text.
  struct Source {
    std::size_t begin;
    std::size_t end;
  };

  template <typename Take>
  void for_each_piece(std::string_view text, const Take& take) const {
    std::string word;
    std::vector<Source> sources;
    std::vector<FoundPiece> found;
    const auto add = [&](std::string_view bytes, Source source) {
      word += bytes;
      sources.insert(sources.end(), bytes.size(), source);
    };
    const auto finish = [&] {
      found.clear();
      encoder_.encode(word, found);
      for (const FoundPiece& piece : found) {
        take(piece.id, {sources[piece.begin].begin, sources[piece.end - 1].end});
      }
      word.clear();
      sources.clear();
    };
    for (std::size_t at = 0; at < text.size();) {
      std::size_t begin = at;
      at += character_length(text, at);
      bool opens = text.substr(begin, at - begin) == word_sign;
      if (text[begin] == ' ') {
        while (at < text.size() && text[at] == ' ') ++at;
        begin = at - 1;
        opens = true;
      }
      if (opens) {
        if (!word.empty()) finish();
        add(word_sign, {begin, at});
        continue;
      }
      if (begin == 0) add(word_sign, {begin, at});  // put in front, it takes the first character's place
      add(text.substr(begin, at - begin), {begin, at});
    }
    if (!word.empty()) finish();
  }

  UnigramEncoder encoder_;
};

}  // namespace

bool has_fast_view(const SentencePieceModel& model) {
  return model.type == ModelType::unigram && !model.has_character_map;
}

std::unique_ptr<Tokenizer> make_fast_sentencepiece_tokenizer(const SentencePieceModel& model,
                                                             const SpecialIds& special,
                                                             const std::string& bytes,
                                                             const std::string& where) {
  return std::make_unique<FastSentencePieceTokenizer>(model, special, bytes, where);
}

}  // namespace bigbird
