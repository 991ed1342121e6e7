// A text vocabulary small enough to see through: every letter is a piece, once as the begin of a word and
// once inside of one. Token shards of text, and a RoBERTa folder with a byte-level vocabulary. Header-only:
// the including test links bigbird_data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "lib/data/token_shards.h"
#include "lib/tokenization/byte_level_bpe.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "tests/support/support.h"

namespace bigbird::testing {

inline constexpr std::uint32_t tiny_unknown = 3, tiny_cls = 4, tiny_sep = 5, tiny_mask = 6;
inline constexpr std::uint32_t first_word_start = 8;  // "▁a" to "▁z": 8 to 33; "▁" alone is 7
inline constexpr std::uint32_t first_inner = 34;      // "a" to "z": 34 to 59
inline constexpr std::uint32_t tiny_text_pieces = 60;

inline SentencePieceModel tiny_text_model() {
  SentencePieceModel model;
  model.type = ModelType::unigram;
  model.normalizer = "identity";
  model.pieces = {{"<pad>", 0, PieceType::control},  {"</s>", 0, PieceType::control},
                  {"<s>", 0, PieceType::control},    {"<unk>", 0, PieceType::unknown},
                  {"[CLS]", 0, PieceType::control},  {"[SEP]", 0, PieceType::control},
                  {"[MASK]", 0, PieceType::control}, {"\xE2\x96\x81", -20}};
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    model.pieces.push_back({std::string("\xE2\x96\x81") + letter, -1});
  }
  for (char letter = 'a'; letter <= 'z'; ++letter) model.pieces.push_back({std::string(1, letter), -1});
  return model;
}

// FOLDER/spiece.model.
inline void write_tiny_text_tokenizer(const std::filesystem::path& folder,
                                      const SentencePieceModel& model = tiny_text_model()) {
  std::filesystem::create_directories(folder);
  write_text(folder / "spiece.model", serialize_sentencepiece_model(model));
}

// FOLDER/vocab.json and merges.txt, numbered as RoBERTa's: <s> <pad> </s> <unk>, the 256 stand-ins for bytes
// in an order of their own, "Ġt" "he" "the" "Ġthe", the two bytes of U+00E9 and a few more, <|endoftext|>,
// <mask>.
inline void write_tiny_byte_level_tokenizer(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::vector<std::string> pieces = {"<s>", "<pad>", "</s>", "<unk>"};
  for (std::size_t i = 0; i < 256; ++i) pieces.push_back(byte_level_characters()[i * 37 % 256]);
  std::string merges = "#version: 0.2\n";
  const std::string blank = byte_level_characters()[static_cast<std::size_t>(' ')];
  for (const auto& [left, right] :
       std::vector<std::pair<std::string, std::string>>{{blank, "t"},
                                                        {"h", "e"},
                                                        {blank + "t", "he"},
                                                        {"t", "he"},
                                                        {blank, "a"},
                                                        {"a", "t"},
                                                        {"c", "at"},
                                                        {"\xC3\x83", "\xC2\xA9"}}) {
    merges += left + ' ' + right + '\n';
    pieces.push_back(left + right);
  }
  pieces.push_back("<|endoftext|>");
  pieces.push_back("<mask>");
  std::string vocabulary;
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    std::string escaped;
    for (const char letter : pieces[id]) {
      if (letter == '"' || letter == '\\') escaped += '\\';
      escaped += letter;
    }
    vocabulary += (id == 0 ? "{\"" : ", \"") + escaped + "\": " + std::to_string(id);
  }
  write_text(folder / "vocab.json", vocabulary + "}");
  write_text(folder / "merges.txt", merges);
}

// Documents of ids, each one sentence.
inline void write_text_shards(const std::string& prefix, const Tokenizer& tokenizer,
                              const std::vector<std::vector<std::uint32_t>>& documents, bool join = true) {
  TokenShardWriter writer(prefix, tokenizer.vocab_size());
  for (const std::vector<std::uint32_t>& ids : documents) {
    const std::vector<std::uint32_t> lengths = {static_cast<std::uint32_t>(ids.size())};
    writer.add_document(ids, lengths, ids.size());
  }
  TextShardFacts facts;
  facts.join = join;
  writer.finish(tokenizer.digest(), nullptr, &facts);
}

}  // namespace bigbird::testing
