// Training a vocabulary for text: the published layout of special pieces, the same bytes every time, lines
// that the library cannot take, settings out of range.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/text_vocabulary.h"
#include "lib/tokenization/tokenizer.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;

std::vector<std::string> small_text() {
  std::vector<std::string> lines;
  const std::vector<std::string> subjects{"the heron", "a grey fox", "the old miller", "nobody",
                                          "the lighthouse"};
  const std::vector<std::string> verbs{"waits for", "remembers", "has forgotten", "watches", "returns to"};
  const std::vector<std::string> objects{"the river", "the long winter", "every letter", "the harbour",
                                         "\u00E9t\u00E9"};
  for (const std::string& subject : subjects) {
    for (const std::string& verb : verbs) {
      for (const std::string& object : objects) {
        lines.push_back(subject);
        lines.back() += ' ';
        lines.back() += verb;
        lines.back() += ' ';
        lines.back() += object;
        lines.back() += '.';
      }
    }
  }
  return lines;
}

struct TrainedFolder {
  TemporaryFolder folder;
  TextVocabularySummary summary;

  TrainedFolder(const std::vector<std::string>& lines, TextVocabularyOptions options) {
    options.output = path();
    std::size_t at = 0;
    summary = train_text_vocabulary(
        [&](std::string_view& line) {
          if (at == lines.size()) return false;
          line = lines[at++];
          return true;
        },
        options);
  }
  std::string path() const { return (folder / "vocabulary").string(); }
  std::string file(const std::string& name) const { return testing::read_text(path() + "/" + name); }
};

TextVocabularyOptions small_options(std::uint32_t size = 220) {
  TextVocabularyOptions options;
  options.vocab_size = size;
  options.character_coverage = 1;
  return options;
}

Error refusal(const std::vector<std::string>& lines, const TextVocabularyOptions& options) {
  try {
    const TrainedFolder trained(lines, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    EXPECT_FALSE(error.hint().empty());
    return error;
  }
  ADD_FAILURE() << "trained";
  return {ErrorKind::runtime, ""};
}

TEST(ReservedTextPieces, StandAtThePublishedIds) {
  const auto& pieces = reserved_text_pieces();
  ASSERT_EQ(pieces.size(), 101u);
  EXPECT_EQ(pieces[0].text, "<pad>");
  EXPECT_EQ(pieces[0].type, PieceType::control);
  EXPECT_EQ(pieces[1].type, PieceType::control);
  EXPECT_EQ(pieces[2].type, PieceType::user_defined);
  EXPECT_EQ(pieces[7].text, "<sep_4>");
  EXPECT_EQ(pieces[29].text, "<length_20>");
  EXPECT_EQ(pieces[33].text, "<::::>");
  EXPECT_EQ(pieces[36].text, "<unused_35>");
  EXPECT_EQ(pieces[50].text, "<unused_49>");
  EXPECT_EQ(pieces[63].text, "<t>");
  EXPECT_EQ(pieces[64].text, "<ans>");
  EXPECT_EQ(pieces[65].text, "[CLS]");
  EXPECT_EQ(pieces[99].text, "<unused_98>");
  EXPECT_EQ(pieces[100].type, PieceType::unknown);
}

TEST(ReservedTextPieces, EqualThoseOfThePublishedFile) {
  BIGBIRD_REQUIRE_SHARED();
  const SentencePieceModel model = parse_sentencepiece_model(
      testing::read_text(*testing::shared_dir() / "data" / "tokenizer-bigbird" / "gpt2.model"), "gpt2.model");
  const auto& pieces = reserved_text_pieces();
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    EXPECT_EQ(model.pieces[id].text, pieces[id].text) << id;
    EXPECT_EQ(model.pieces[id].type, pieces[id].type) << id;
    EXPECT_EQ(model.pieces[id].score, pieces[id].score) << id;
  }
}

TEST(TextVocabulary, LearnsWordsBehindTheReservedPieces) {
  const TrainedFolder trained(small_text(), small_options());
  EXPECT_EQ(trained.summary.vocab_size, 220u);
  EXPECT_EQ(trained.summary.lines, 125u);
  EXPECT_EQ(trained.summary.lines_cut, 0u);
  EXPECT_GT(trained.summary.characters, 20u);
  const auto tokenizer = load_tokenizer(trained.path());
  EXPECT_EQ(tokenizer->vocab_size(), 220u);
  EXPECT_EQ(tokenizer->special(), (SpecialIds{0, 100, 65, 66, 67}));
  const SentencePieceModel model = parse_sentencepiece_model(trained.file("spiece.model"), "model");
  for (std::size_t id = 0; id < 101; ++id) {
    EXPECT_EQ(model.pieces[id].text, reserved_text_pieces()[id].text);
    EXPECT_EQ(model.pieces[id].type, reserved_text_pieces()[id].type) << id;
  }
  const EncodedText found = encode_text(*tokenizer, "the heron watches");
  EXPECT_LE(found.ids.size(), 8u);
  EXPECT_EQ(tokenizer->piece(found.ids[0]), "\u2581the");
  EXPECT_EQ(found.end.back(), 17u);
}

TEST(TextVocabulary, WritesTheConfigurationForTransformers) {
  const TrainedFolder trained(small_text(), small_options());
  const auto config = nlohmann::json::parse(trained.file("tokenizer_config.json"));
  EXPECT_EQ(config["tokenizer_class"], "PreTrainedTokenizerFast");
  EXPECT_EQ(config["mask_token"], "[MASK]");
  EXPECT_EQ(config["cls_token"], "[CLS]");
  EXPECT_EQ(config["bos_token"], "<s>");
  EXPECT_EQ(config["bigbird"]["byte_fallback"], false);
  const std::string lines = trained.file("spiece.vocab");
  EXPECT_EQ(lines.substr(0, 14), "<pad>\t0\n</s>\t0");
}

TEST(TextVocabulary, IsTheSameEveryTime) {
  const TrainedFolder one(small_text(), small_options());
  const TrainedFolder two(small_text(), small_options());
  for (const char* name : {"spiece.model", "spiece.vocab", "tokenizer_config.json"}) {
    EXPECT_EQ(one.file(name), two.file(name)) << name;
  }
}

TEST(TextVocabulary, BytesStandForWhatTheVocabularyLacks) {
  TextVocabularyOptions options = small_options(520);
  options.byte_fallback = true;
  const TrainedFolder trained(small_text(), options);
  const auto tokenizer = load_tokenizer(trained.path());
  EXPECT_EQ(tokenizer->piece(101), "<0x00>");
  EXPECT_EQ(tokenizer->piece(356), "<0xFF>");
  const EncodedText found = encode_text(*tokenizer, "the \u4F60");
  EXPECT_EQ(found.unknown_pieces, 0u);
  ASSERT_GE(found.ids.size(), 4u);
  const std::vector<std::uint32_t> last(found.ids.end() - 3, found.ids.end());
  EXPECT_EQ(last, (std::vector<std::uint32_t>{101 + 0xE4, 101 + 0xBD, 101 + 0xA0}));
  EXPECT_EQ(found.end.back(), 5u);
  const TrainedFolder plain(small_text(), small_options());
  EXPECT_EQ(encode_text(*load_tokenizer(plain.path()), "the \u4F60").unknown_pieces, 1u);
}

// Characters that are too rare for the coverage, and some that the text has not at all.
TEST(TextVocabulary, PrintableAsciiIsAlwaysKnown) {
  std::vector<std::string> lines = small_text();
  lines.emplace_back("Q");
  TextVocabularyOptions options;
  options.vocab_size = 512;
  options.character_coverage = 0.99;
  const TrainedFolder trained(lines, options);
  const auto tokenizer = load_tokenizer(trained.path());
  for (const char character : printable_ascii()) {
    EXPECT_EQ(encode_text(*tokenizer, std::string("the ") + character).unknown_pieces, 0u) << character;
  }
  EXPECT_EQ(encode_text(*tokenizer, "QXZ </*>").unknown_pieces, 0u);
  EXPECT_EQ(nlohmann::json::parse(trained.file("tokenizer_config.json"))["bigbird"]["required_characters"],
            printable_ascii());
  options.required_characters = "\u00E5@";
  const TrainedFolder chosen(lines, options);
  const auto other = load_tokenizer(chosen.path());
  EXPECT_EQ(encode_text(*other, "\u00E5@").unknown_pieces, 0u);
  EXPECT_EQ(encode_text(*other, "Q").unknown_pieces, 1u);
  // A vocabulary without room for all of them has those of the text.
  options.required_characters.reset();
  options.vocab_size = 511;
  const TrainedFolder small(lines, options);
  EXPECT_EQ(encode_text(*load_tokenizer(small.path()), "@").unknown_pieces, 1u);
}

TEST(TextVocabulary, NamesOfSpecialPiecesInTheTextAreLiteral) {
  std::vector<std::string> lines = small_text();
  for (int i = 0; i < 20; ++i) lines.emplace_back("[SEP] in <t> a text [CLS]");
  const TrainedFolder trained(lines, small_options());
  const auto tokenizer = load_tokenizer(trained.path());
  for (const std::uint32_t id : encode_text(*tokenizer, "[SEP] <t>").ids) EXPECT_GE(id, 100u);
}

TEST(TextVocabulary, LinesThatTheLibraryWouldDropOrCrashOnAreLearntFrom) {
  std::string unbroken;
  for (int i = 0; i < 8000; ++i) unbroken += "quizzes";
  std::string words;
  for (int i = 0; i < 9000; ++i) words += "zephyr ";
  const std::vector<std::string> lines{unbroken, words, std::string("jam\0jam", 7), "vex\u2585vex",
                                       "\tfjord\u2581fjord"};
  TextVocabularyOptions options = small_options(160);
  options.max_sentence_bytes = 30'000;
  const TrainedFolder trained(lines, options);
  EXPECT_EQ(trained.summary.lines, 5u);
  EXPECT_EQ(trained.summary.lines_cut, 2u);
  const auto tokenizer = load_tokenizer(trained.path());
  EXPECT_EQ(encode_text(*tokenizer, "jam vex fjord quizzes zephyr").unknown_pieces, 0u);
  EXPECT_EQ(encode_text(*tokenizer, "zephyr zephyr").ids.size(), 2u);
}

TEST(TextVocabulary, GivesFewerPiecesWhereTheTextHasNoMore) {
  TextVocabularyOptions options = small_options(5000);
  options.required_characters = "";
  const TrainedFolder trained({"ab ab ab", "", "   \t"}, options);
  EXPECT_LT(trained.summary.vocab_size, 120u);
  EXPECT_EQ(trained.summary.lines, 1u);
}

TEST(TextVocabulary, RefusesSettingsOutOfRange) {
  const auto with = [](auto change) {
    TextVocabularyOptions options = small_options();
    change(options);
    const Error error = refusal(small_text(), options);
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.message();
  };
  EXPECT_NE(with([](auto& o) { o.vocab_size = 101; }).find("`vocab_size` 101"), std::string::npos);
  EXPECT_NE(with([](auto& o) { o.vocab_size = 105; }).find("too small for the characters"),
            std::string::npos);
  EXPECT_NE(with([](auto& o) { o.vocab_size = 357, o.byte_fallback = true; }).find("357 pieces"),
            std::string::npos);
  EXPECT_NE(with([](auto& o) { o.character_coverage = 0; }).find("`character_coverage`"), std::string::npos);
  EXPECT_NE(with([](auto& o) { o.character_coverage = 1.5; }).find("`character_coverage`"),
            std::string::npos);
  EXPECT_NE(with([](auto& o) { o.required_characters = "a b"; }).find("`required_characters`"),
            std::string::npos);
  EXPECT_NE(with([](auto& o) { o.required_characters = "a\xFF"; }).find("`required_characters`"),
            std::string::npos);
  EXPECT_NE(with([](auto& o) { o.max_piece_length = 0; }).find("`max_piece_length`"), std::string::npos);
  EXPECT_NE(with([](auto& o) { o.max_sentence_bytes = 40'000; }).find("`max_sentence_bytes`"),
            std::string::npos);
}

TEST(TextVocabulary, LeavesNothingBehindABadInput) {
  const TemporaryFolder folder;
  TextVocabularyOptions options = small_options();
  options.output = (folder / "out").string();
  const auto train = [&](std::vector<std::string> lines) {
    std::size_t at = 0;
    train_text_vocabulary(
        [&](std::string_view& line) {
          if (at == lines.size()) return false;
          line = lines[at++];
          return true;
        },
        options);
  };
  try {
    train({"fine", "not\xFF"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_NE(error.message().find("line 2 of the text: byte 4"), std::string::npos) << error.message();
  }
  EXPECT_THROW(train({" ", ""}), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(CutLine, CutsBeforeWhiteSpaceElseBetweenCharacters) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(cut_line("aa bb cc", 6), (Parts{"aa bb", " cc"}));
  EXPECT_EQ(cut_line("aa bb cc", 5), (Parts{"aa bb", " cc"}));
  EXPECT_EQ(cut_line("aa bb cc", 8), (Parts{"aa bb cc"}));
  EXPECT_EQ(cut_line("abcdefg", 3), (Parts{"abc", "def", "g"}));
  EXPECT_EQ(cut_line("\u4F60\u597D\u4F60", 4), (Parts{"\u4F60", "\u597D", "\u4F60"}));
  EXPECT_EQ(cut_line("", 4), (Parts{""}));
}

}  // namespace
}  // namespace bigbird
