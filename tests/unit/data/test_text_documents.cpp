// Documents of text to token shards: what is in them, what P.json says, and the same bytes for any threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/data/text_documents.h"
#include "lib/data/token_shards.h"
#include "tests/support/tiny_text_data.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;

class TextDocumentsToShards : public ::testing::Test {
 protected:
  TextDocumentsToShards() {
    testing::write_tiny_text_tokenizer(folder_ / "tokenizer");
    tokenizer_ = load_tokenizer((folder_ / "tokenizer").string());
  }
  ~TextDocumentsToShards() override { kernels::set_thread_count(0); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  TextShardSummary make(const std::string& text, TextShardOptions options = {}) {
    testing::write_text(folder_ / "in.txt", text);
    TextDocuments documents({path("in.txt")});
    if (options.prefix.empty()) options.prefix = path("p");
    return text_to_shards(documents, *tokenizer_, options);
  }
  nlohmann::json description(const std::string& name = "p") const {
    return nlohmann::json::parse(testing::read_text(folder_ / (name + ".json")));
  }
  // Pieces of a sentence: "_th_e" for "th e".
  std::string sentence(const TokenShards& shards, std::uint64_t s, const Tokenizer& tokenizer) const {
    std::string pieces;
    const TokenView ids = shards.sentence(s);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::string piece = tokenizer.piece(ids[i]);
      for (const std::string_view sign : {"\xE2\x96\x81", "\xC4\xA0"}) {
        if (const std::size_t at = piece.find(sign); at != std::string::npos)
          piece.replace(at, sign.size(), "_");
      }
      pieces += piece;
    }
    return pieces;
  }
  std::string sentence(const TokenShards& shards, std::uint64_t s) const {
    return sentence(shards, s, *tokenizer_);
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(TextDocumentsToShards, ALineIsASentenceAndABlockADocument) {
  const TextShardSummary summary = make("the cat\nsat down\n\n\nanother one\n");
  EXPECT_EQ(summary.documents, 2u);
  EXPECT_EQ(summary.lines, 3u);
  EXPECT_EQ(summary.tokens, 6u + 7u + 10u);
  EXPECT_EQ(summary.bytes, 8u + 9u + 12u);
  const TokenShards shards(path("p"));
  ASSERT_EQ(shards.document_count(), 2u);
  EXPECT_EQ(shards.document(0).size(), 2u);
  EXPECT_EQ(sentence(shards, 0), "_the_cat");
  EXPECT_EQ(sentence(shards, 1), "_sat_down");
  EXPECT_EQ(sentence(shards, 2), "_another_one");
  EXPECT_EQ(shards.document_tokens(0).size(), 13u);
  EXPECT_EQ(shards.document_tokens(1).size(), 10u);
  EXPECT_EQ(shards.document_tokens(1)[0], testing::first_word_start);
}

TEST_F(TextDocumentsToShards, BytesAreWhatThePiecesStandFor) {
  const TextShardSummary summary = make("the cat\nsat down\n\nanother one\n");
  const TokenShards shards(path("p"));
  std::uint64_t bytes = 0;
  for (std::uint64_t s = 0; s < shards.sentence_count(); ++s) {
    const TokenView ids = shards.sentence(s);
    for (std::size_t i = 0; i < ids.size(); ++i) bytes += tokenizer_->piece_length(ids[i]);
  }
  EXPECT_EQ(bytes, summary.bytes);
  EXPECT_EQ(shards.base_count(), summary.bytes);
  EXPECT_DOUBLE_EQ(summary.bytes_per_token(),
                   static_cast<double>(bytes) / static_cast<double>(summary.tokens));
}

TEST_F(TextDocumentsToShards, TheDescriptionSaysWhatLaterStagesNeed) {
  TextShardOptions options;
  options.join = false;
  options.provenance.emplace();
  options.provenance->command = "a command";
  const TextShardSummary summary = make("the cat\n\n5 of them\n", options);
  const nlohmann::json json = description();
  EXPECT_EQ(json["alphabet"], "text");
  EXPECT_EQ(json["join"], false);
  EXPECT_EQ(json["white_space"], "fold");
  EXPECT_EQ(json["ascii_punctuation"], false);
  EXPECT_EQ(json["documents"], 2);
  EXPECT_EQ(json["sentences"], 2);
  EXPECT_EQ(json["tokens"], summary.tokens);
  EXPECT_EQ(json["bytes"], 18);
  EXPECT_DOUBLE_EQ(json["bytes_per_token"].get<double>(), summary.bytes_per_token());
  EXPECT_EQ(json["unknown_tokens"], 1);
  EXPECT_EQ(json["blank_documents"], 0);
  EXPECT_EQ(json["tokenizer_sha256"], tokenizer_->digest());
  EXPECT_EQ(json["vocab_size"], testing::tiny_text_pieces);
  EXPECT_EQ(json["provenance"]["command"], "a command");
  EXPECT_FALSE(json.contains("bases"));
}

TEST_F(TextDocumentsToShards, WhiteSpaceIsFoldedOrKept) {
  const std::string text =
      "a\tb\xC2\xA0"
      "c  d\n";
  EXPECT_EQ(make(text).unknown.unknown_pieces(), 0u);
  EXPECT_EQ(sentence(TokenShards(path("p")), 0), "_a_b_c_d");
  TextShardOptions keep;
  keep.encoding.white_space = WhiteSpace::keep;
  EXPECT_EQ(make(text, keep).unknown.unknown_pieces(), 2u);
  EXPECT_EQ(description()["white_space"], "keep");
}

TEST_F(TextDocumentsToShards, UnknownCharactersAreCountedByName) {
  const TextShardSummary summary = make("a \xC3\xA9t\xC3\xA9\n\nb \xE2\x80\x9C c\n");
  EXPECT_EQ(summary.unknown.unknown_pieces(), 3u);
  EXPECT_EQ(summary.unknown.pieces(), summary.tokens);
  const auto found = summary.unknown.most_frequent(5);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], (std::pair<char32_t, std::uint64_t>{U'\u00e9', 2}));
  EXPECT_EQ(found[1], (std::pair<char32_t, std::uint64_t>{U'\u201c', 1}));
  EXPECT_TRUE(summary.unknown.warning(0.01).has_value());
  EXPECT_EQ(description()["unknown_tokens"], 3);
}

TEST_F(TextDocumentsToShards, NamesOfSpecialPiecesAreText) {
  make("a [SEP] b <s>\n");
  const TokenShards shards(path("p"));
  const TokenView ids = shards.sentence(0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_TRUE(ids[i] >= 7 || ids[i] == testing::tiny_unknown) << ids[i];
  }
}

TEST_F(TextDocumentsToShards, BlankDocumentsAreLeftOutAndCounted) {
  testing::write_text(
      folder_ / "in.jsonl",
      "{\"text\": \"a b\"}\n{\"text\": \" \\n \"}\n{\"text\": \"\"}\n{\"text\": \"c\\nd\"}\n");
  TextDocuments documents({path("in.jsonl")});
  TextShardOptions options;
  options.prefix = path("p");
  const TextShardSummary summary = text_to_shards(documents, *tokenizer_, options);
  EXPECT_EQ(summary.documents, 2u);
  EXPECT_EQ(summary.blank_documents, 2u);
  EXPECT_EQ(description()["blank_documents"], 2);
  const TokenShards shards(path("p"));
  EXPECT_EQ(shards.document(1).size(), 2u);
}

TEST_F(TextDocumentsToShards, NothingIsLeftOfInputWithoutText) {
  EXPECT_THROW(make("\n \n\t\n"), Error);
  EXPECT_THROW(make("good\n\n\xFF\n"), Error);  // not UTF-8
  for (const char* file : {"p.bin", "p.idx", "p.json"}) EXPECT_FALSE(fs::exists(folder_ / file)) << file;
}

TEST_F(TextDocumentsToShards, BytesDoNotDependOnThreads) {
  CounterRng rng(1, Purpose::test, 0);
  std::string text;
  for (int d = 0; d < 300; ++d) {
    const std::uint64_t lines = 1 + rng.below(d % 50 == 0 ? 4000 : 8);
    for (std::uint64_t l = 0; l < lines; ++l) {
      for (std::uint64_t i = 0, letters = 1 + rng.below(60); i < letters; ++i) {
        text += rng.below(5) == 0 ? ' ' : static_cast<char>('a' + rng.below(26));
        if (rng.below(200) == 0) text += "\xC3\xA9";
      }
      text += "x\n";
    }
    text += '\n';
  }
  ASSERT_GT(text.size(), 250'000u);  // several tasks
  TextShardOptions options;
  options.tokens_per_shard = 100'000;
  for (const int threads : {1, 2, 7}) {
    kernels::set_thread_count(threads);
    options.prefix = path("p") + std::to_string(threads);
    const TextShardSummary summary = make(text, options);
    EXPECT_EQ(summary.documents, 300u);
    const TokenShards shards(options.prefix), first(path("p1"));
    ASSERT_GT(shards.shard_count(), 2u);
    for (const std::string end : {".00000.bin", ".00000.idx", ".00001.bin", ".00002.idx"}) {
      EXPECT_EQ(testing::read_text(options.prefix + end), testing::read_text(path("p1") + end)) << end;
    }
    nlohmann::json json = description("p" + std::to_string(threads)), one = description("p1");
    json.erase("shards");
    one.erase("shards");
    EXPECT_EQ(json, one);
  }
}

TEST_F(TextDocumentsToShards, LinesAreEncodedAsTheWholeTextIs) {
  make("the cat sat\non the mat\nand more\n");
  std::vector<std::uint32_t> whole;
  tokenizer_->encode("the cat sat on the mat and more", whole);
  const TokenShards shards(path("p"));
  std::vector<std::uint32_t> found;
  shards.document_tokens(0).append_to(found);
  EXPECT_EQ(found, whole);
}

// A byte-level vocabulary puts no blank before a text: the line end is one.
TEST_F(TextDocumentsToShards, ALineEndIsABlankInAByteLevelVocabularyToo) {
  testing::write_tiny_byte_level_tokenizer(folder_ / "roberta");
  const auto tokenizer = load_tokenizer(path("roberta"));
  testing::write_text(folder_ / "in.txt", "the cat\nsat\n\nhe\n");
  TextDocuments documents({path("in.txt")});
  TextShardOptions options;
  options.prefix = path("p");
  text_to_shards(documents, *tokenizer, options);
  const TokenShards shards(path("p"));
  EXPECT_EQ(sentence(shards, 0, *tokenizer), "the_cat");
  EXPECT_EQ(sentence(shards, 1, *tokenizer), "_sat");
  EXPECT_EQ(sentence(shards, 2, *tokenizer), "he");
  std::vector<std::uint32_t> whole, found;
  tokenizer->encode("the cat sat", whole);
  shards.document_tokens(0).append_to(found);
  EXPECT_EQ(found, whole);
}

TEST_F(TextDocumentsToShards, RealTextWithThePublishedVocabulary) {
  BIGBIRD_REQUIRE_SHARED();
  const fs::path shared = *testing::shared_dir();
  fs::create_directories(folder_ / "gpt2");
  fs::copy_file(shared / "data/tokenizer-bigbird/gpt2.model", folder_ / "gpt2/spiece.model");
  const auto tokenizer = load_tokenizer(path("gpt2"));
  TextDocuments documents({(shared / "data/text/lm/wikitext-2.valid.txt.gz").string()});
  TextShardOptions options;
  options.prefix = path("p");
  const TextShardSummary summary = text_to_shards(documents, *tokenizer, options);
  EXPECT_EQ(summary.documents, 60u);  // articles
  EXPECT_GT(summary.tokens, 200'000u);
  EXPECT_LT(summary.unknown.share(), 0.02);
  const double bytes = summary.bytes_per_token();
  EXPECT_GT(bytes, 3.5);
  EXPECT_LT(bytes, 5.5);
}

}  // namespace
}  // namespace bigbird
