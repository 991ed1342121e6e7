// Warm starts across vocabularies: which pieces are one, and which values their rows get.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/core/error.h"
#include "lib/model_folder/vocabulary_transfer.h"
#include "tests/support/tiny_roberta.h"

namespace bigbird {
namespace {

constexpr const char* sign = "\xE2\x96\x81";  // U+2581

class VocabularyTransferTest : public ::testing::Test {
 protected:
  VocabularyTransferTest() : roberta_(testing::write_tiny_roberta(folder_ / "roberta")) {
    source_ = load_tokenizer((folder_ / "roberta").string());
  }
  std::unique_ptr<Tokenizer> sentencepiece(const SentencePieceModel& model,
                                           const std::string& name = "target") {
    testing::write_tiny_text_tokenizer(folder_ / name, model);
    return load_tokenizer((folder_ / name).string());
  }
  // As the published spiece.model: stand-ins for bytes, U+2581 for the blank's, other pieces in front.
  static SentencePieceModel published_layout() {
    SentencePieceModel model;
    model.type = ModelType::unigram;
    model.pieces = {{"<pad>", 0, PieceType::control},  {"</s>", 0, PieceType::control},
                    {"<s>", 0, PieceType::control},    {"<sep_0>", 0, PieceType::user_defined},
                    {"[CLS]", 0, PieceType::control},  {"[SEP]", 0, PieceType::control},
                    {"[MASK]", 0, PieceType::control}, {"<unk>", 0, PieceType::unknown}};
    for (std::size_t byte = 0; byte < 256; ++byte) {
      model.pieces.push_back({byte == ' ' ? sign : byte_level_characters()[byte], -1});
    }
    for (const char* piece : {"he", "the", "at", "cat", "<|endoftext|>", "dog", "\xC3\x83\xC2\xA9"}) {
      model.pieces.push_back({piece, -1});
    }
    for (const char* piece : {"t", "the", "a", "zebra"})
      model.pieces.push_back({sign + std::string(piece), -1});
    return model;
  }
  // Ids of a tokenizer's pieces.
  static std::map<std::string, std::int64_t> ids(const Tokenizer& tokenizer) {
    std::map<std::string, std::int64_t> found;
    for (std::uint32_t id = 0; id < tokenizer.vocab_size(); ++id) found[tokenizer.piece(id)] = id;
    return found;
  }
  ModelConfig bigbird_config(const Tokenizer& target) const {
    return with_vocabulary(load_model((folder_ / "roberta").string(), HeadType::pretraining, 3).config,
                           target);
  }

  testing::TemporaryFolder folder_;
  testing::TinyRoberta roberta_;
  std::unique_ptr<Tokenizer> source_;
};

TEST_F(VocabularyTransferTest, PiecesOfThePublishedLayoutGoByTheirString) {
  const auto target = sentencepiece(published_layout());
  const VocabularyTransfer transfer = match_vocabularies(*source_, *target);
  const std::map<std::string, std::int64_t> source = ids(*source_);
  ASSERT_EQ(transfer.rows.size(), target->vocab_size());
  std::int64_t by_string = 0;
  for (std::uint32_t id = 8; id < target->vocab_size(); ++id) {
    std::string name = target->piece(id);
    if (const std::size_t at = name.find(sign); at != std::string::npos) name.replace(at, 3, "\xC4\xA0");
    const auto found = source.find(name);
    EXPECT_EQ(transfer.rows[id], found == source.end() ? -1 : found->second) << target->piece(id);
    by_string += found == source.end() ? 0 : 1;
  }
  EXPECT_EQ(by_string, 256 + 6 + 3);  // but "dog" and "▁zebra"
  EXPECT_EQ(transfer.by_string, by_string);
  EXPECT_EQ(transfer.special, 5);
  EXPECT_EQ(transfer.random, 3 + 2);
}

TEST_F(VocabularyTransferTest, SpecialPiecesGoByTheirUse) {
  const auto target = sentencepiece(published_layout());
  const VocabularyTransfer transfer = match_vocabularies(*source_, *target);
  const std::map<std::string, std::int64_t> source = ids(*source_), own = ids(*target);
  const auto row = [&](const char* piece) { return transfer.rows[static_cast<std::size_t>(own.at(piece))]; };
  EXPECT_EQ(row("[CLS]"), source.at("<s>"));
  EXPECT_EQ(row("[SEP]"), source.at("</s>"));
  EXPECT_EQ(row("[MASK]"), source.at("<mask>"));
  EXPECT_EQ(row("<pad>"), source.at("<pad>"));
  EXPECT_EQ(row("<unk>"), source.at("<unk>"));
  // The same strings, but another use: not the rows of [CLS] and [SEP] again.
  EXPECT_EQ(row("<s>"), -1);
  EXPECT_EQ(row("</s>"), -1);
  EXPECT_EQ(row("<sep_0>"), -1);
  EXPECT_EQ(row("<|endoftext|>"), source.at("<|endoftext|>"));
}

TEST_F(VocabularyTransferTest, AVocabularyOfCharactersIsReadAsUtf8) {
  SentencePieceModel model = testing::tiny_text_model();
  model.pieces.push_back({"\xC3\xA9", -1});          // é, two bytes
  model.pieces.push_back({"\xC3\x83\xC2\xA9", -1});  // the two characters that stand for these bytes
  model.pieces.push_back({sign + std::string("the"), -1});
  const auto target = sentencepiece(model);
  const VocabularyTransfer transfer = match_vocabularies(*source_, *target);
  const std::map<std::string, std::int64_t> source = ids(*source_), own = ids(*target);
  const auto row = [&](const std::string& piece) {
    return transfer.rows[static_cast<std::size_t>(own.at(piece))];
  };
  EXPECT_EQ(row("\xC3\xA9"), source.at("\xC3\x83\xC2\xA9"));
  EXPECT_EQ(row("\xC3\x83\xC2\xA9"), -1);
  EXPECT_EQ(row(sign + std::string("the")), source.at("\xC4\xA0the"));
  EXPECT_EQ(row("q"), source.at("q"));
  EXPECT_EQ(row(sign + std::string("q")), -1);  // no such merge
}

TEST_F(VocabularyTransferTest, BytePiecesAreTheirBytes) {
  SentencePieceModel model = testing::tiny_text_model();
  model.byte_fallback = true;
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    model.pieces.push_back({name, -9, PieceType::byte});
  }
  const auto target = sentencepiece(model);
  const std::map<std::string, std::int64_t> source = ids(*source_), own = ids(*target);
  const VocabularyTransfer from_roberta = match_vocabularies(*source_, *target);
  EXPECT_EQ(from_roberta.rows[static_cast<std::size_t>(own.at("<0x0A>"))],
            source.at(byte_level_characters()[10]));
  EXPECT_EQ(from_roberta.rows[static_cast<std::size_t>(own.at("<0xE9>"))], source.at("\xC3\xA9"));
  // And back: "a" was written with the letter, not with <0x61>.
  const VocabularyTransfer to_roberta = match_vocabularies(*target, *source_);
  EXPECT_EQ(to_roberta.rows[static_cast<std::size_t>(source.at("a"))], own.at("a"));
  EXPECT_EQ(to_roberta.rows[static_cast<std::size_t>(source.at("A"))], own.at("<0x41>"));
}

TEST_F(VocabularyTransferTest, TheSummaryCounts) {
  VocabularyTransfer transfer;
  transfer.rows.resize(50358);
  transfer.by_string = 50257;
  transfer.special = 5;
  transfer.random = 96;
  EXPECT_EQ(transfer.summary(), "50,257 of 50,358 pieces mapped by string, 5 special, 96 random");
}

TEST_F(VocabularyTransferTest, AVocabularyIsTheSameAsItself) {
  const auto target = sentencepiece(published_layout()), again = sentencepiece(published_layout(), "again");
  EXPECT_TRUE(same_vocabulary(*target, *again));
  EXPECT_FALSE(same_vocabulary(*target, *source_));
  SentencePieceModel changed = published_layout();
  std::swap(changed.pieces[20], changed.pieces[21]);
  EXPECT_FALSE(same_vocabulary(*target, *sentencepiece(changed, "changed")));
  const VocabularyTransfer all = match_vocabularies(*target, *again);
  for (std::uint32_t id = 0; id < again->vocab_size(); ++id) EXPECT_EQ(all.rows[id], id);
  EXPECT_EQ(all.random, 0);
}

TEST_F(VocabularyTransferTest, RowsAndBiasesMoveAndTheRestStays) {
  const auto target = sentencepiece(published_layout());
  const VocabularyTransfer transfer = match_vocabularies(*source_, *target);
  const LoadedModel model = load_model((folder_ / "roberta").string(), HeadType::pretraining, 3);
  const ModelConfig config = bigbird_config(*target);
  EXPECT_EQ(config.vocab_size, static_cast<std::int64_t>(target->vocab_size()));
  EXPECT_EQ(config.sep_token_id, 5);
  EXPECT_EQ(config.bos_token_id, 4);
  EXPECT_EQ(config.pad_token_id, 0);
  EXPECT_EQ(config.tokenizer_digest, target->digest());
  const std::vector<float> parameters = transferred_parameters(model, config, transfer, 9);
  const ParameterLayout from(roberta_.config), loaded(model.config), to(config);
  const std::vector<float> fresh = initial_parameters(to, config, 9);
  ASSERT_EQ(parameters.size(), fresh.size());
  for (const char* name : {"bert.embeddings.word_embeddings.weight", "cls.predictions.bias"}) {
    const std::int64_t width = to.find(name)->count / config.vocab_size;
    for (std::int64_t id = 0; id < config.vocab_size; ++id) {
      const std::int64_t row = transfer.rows[static_cast<std::size_t>(id)];
      for (std::int64_t i = 0; i < width; ++i) {
        const float expected =
            row < 0 ? fresh[static_cast<std::size_t>(to.offset(name) + id * width + i)]
                    : roberta_.parameters[static_cast<std::size_t>(from.offset(name) + row * width + i)];
        ASSERT_EQ(parameters[static_cast<std::size_t>(to.offset(name) + id * width + i)], expected)
            << name << id;
      }
    }
  }
  // Not by number: that would have been another row.
  EXPECT_NE(transfer.rows[100], 100);
  for (const TensorSpec& spec : to.tensors()) {
    if (spec.name == "bert.embeddings.word_embeddings.weight" || spec.name == "cls.predictions.bias")
      continue;
    const float* values = parameters.data() + spec.offset;
    EXPECT_TRUE(std::equal(values, values + spec.count, model.parameters.data() + loaded.offset(spec.name)))
        << spec.name;
  }
}

TEST_F(VocabularyTransferTest, PositionsAreRepeatedFromTheFirst) {
  const auto target = sentencepiece(published_layout());
  const LoadedModel model = load_model((folder_ / "roberta").string(), HeadType::pretraining, 3);
  EXPECT_EQ(model.config.max_position_embeddings, 16);
  ModelConfig config = bigbird_config(*target);
  config.max_position_embeddings = 320;
  const std::vector<float> parameters =
      transferred_parameters(model, config, match_vocabularies(*source_, *target), 9);
  const ParameterLayout from(roberta_.config), to(config);
  const char* table = "bert.embeddings.position_embeddings.weight";
  for (std::int64_t i = 0; i < 320 * 8; ++i) {
    ASSERT_EQ(parameters[static_cast<std::size_t>(to.offset(table) + i)],
              roberta_.parameters[static_cast<std::size_t>(from.offset(table) + 2 * 8 + i % (16 * 8))]);
  }
}

TEST_F(VocabularyTransferTest, AnotherShapeAndRowsThatAreNotThereAreRefused) {
  const auto target = sentencepiece(published_layout());
  VocabularyTransfer transfer = match_vocabularies(*source_, *target);
  const LoadedModel model = load_model((folder_ / "roberta").string(), HeadType::pretraining, 3);
  ModelConfig wider = bigbird_config(*target);
  wider.intermediate_size = 16;
  EXPECT_THROW(transferred_parameters(model, wider, transfer, 9), Error);
  transfer.rows[50] = roberta_.config.vocab_size;
  EXPECT_THROW(transferred_parameters(model, bigbird_config(*target), transfer, 9), Error);
}

// GPT-2's pieces as the published spiece.model has them, under RoBERTa's special pieces and in another order.
TEST_F(VocabularyTransferTest, AllPiecesOfThePublishedVocabularyAreFound) {
  BIGBIRD_REQUIRE_SHARED();
  const std::filesystem::path gpt2 = folder_ / "gpt2", other = folder_ / "other";
  std::filesystem::create_directories(gpt2);
  std::filesystem::create_directories(other);
  std::filesystem::copy_file(*testing::shared_dir() / "data/tokenizer-bigbird/gpt2.model",
                             gpt2 / "spiece.model");
  const auto target = load_tokenizer(gpt2.string());
  nlohmann::json vocabulary = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}};
  std::map<std::string, std::int64_t> numbers;
  std::int64_t next = 4;
  for (std::uint32_t id = static_cast<std::uint32_t>(target->vocab_size()); id-- > 101;) {
    std::string piece = target->piece(id);
    for (std::size_t at = 0; (at = piece.find(sign, at)) != std::string::npos;)
      piece.replace(at, 3, "\xC4\xA0");
    numbers[target->piece(id)] = next;
    vocabulary[piece] = next++;
  }
  vocabulary["<mask>"] = next;
  ASSERT_EQ(vocabulary.size(), 50257u + 5u);
  testing::write_text(other / "vocab.json", vocabulary.dump());
  testing::write_text(other / "merges.txt", "#version: 0.2\nt h\n");
  const VocabularyTransfer transfer = match_vocabularies(*load_tokenizer(other.string()), *target);
  EXPECT_EQ(transfer.summary(), "50,257 of 50,358 pieces mapped by string, 5 special, 96 random");
  for (std::uint32_t id = 101; id < target->vocab_size(); ++id) {
    ASSERT_EQ(transfer.rows[id], numbers.at(target->piece(id))) << target->piece(id);
  }
}

}  // namespace
}  // namespace bigbird
