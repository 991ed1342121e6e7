// BERT's WordPiece vocabularies: vocab.txt and tokenizer.json give the ids and offsets of BertTokenizerFast
// on odd lines (tests/peers/make_wordpiece.py), under every setting; and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_folder.h"
#include "lib/tokenization/tokenizer_kinds.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;
using WordPieceJson = nlohmann::ordered_json;

const WordPieceJson& golden_wordpiece() {
  static const WordPieceJson golden =
      WordPieceJson::parse(testing::read_text(testing::source_dir() / "tests" / "golden" / "wordpiece.json"));
  return golden;
}

std::string vocabulary_lines() {
  std::string text;
  for (const WordPieceJson& piece : golden_wordpiece()["vocabulary"]) text += piece.get<std::string>() + "\n";
  return text;
}

// A folder with vocab.txt and a tokenizer_config.json of these settings.
void write_vocabulary(const TemporaryFolder& folder, WordPieceJson settings,
                      const std::string& name = "BertTokenizer") {
  write_text_atomic((folder / "vocab.txt").string(), vocabulary_lines());
  settings["tokenizer_class"] = name;
  write_text_atomic((folder / "tokenizer_config.json").string(), settings.dump());
}

// What is known to differ between the package and transformers' names of special pieces: they are looked for
// in the text there, and are text for encode() here.
bool names_special_piece(const std::string& text) {
  for (const char* name : {"[MASK]", "[PAD]", "[UNK]"}) {
    if (text.find(name) != std::string::npos) return true;
  }
  return false;
}

void expect_lines(const Tokenizer& tokenizer, const WordPieceJson& lines, const std::string& name) {
  for (const WordPieceJson& line : lines) {
    const std::string text = line["text"].get<std::string>();
    if (names_special_piece(text)) {
      std::vector<std::uint32_t> ids;
      tokenizer.encode_with_special_pieces(text, ids);
      EXPECT_EQ(WordPieceJson(ids), line["ids"]) << name << ": " << line["text"].dump();
      continue;
    }
    const EncodedText found = encode_text(tokenizer, text, {WhiteSpace::keep, false});
    EXPECT_EQ(WordPieceJson(found.ids), line["ids"]) << name << ": " << line["text"].dump();
    WordPieceJson offsets = WordPieceJson::array();
    for (std::size_t i = 0; i < found.ids.size(); ++i)
      offsets.push_back(WordPieceJson::array({found.begin[i], found.end[i]}));
    EXPECT_EQ(offsets, line["offsets"]) << name << ": " << line["text"].dump();
  }
}

class WordPiece : public ::testing::TestWithParam<std::string> {
 protected:
  const WordPieceJson& of_case() const { return golden_wordpiece()["cases"][GetParam()]; }
};

TEST_P(WordPiece, VocabularyGivesTheIdsOfBertTokenizerFast) {
  const TemporaryFolder folder;
  write_vocabulary(folder, of_case()["settings"]);
  expect_lines(*load_tokenizer(folder.path().string()), of_case()["lines"], GetParam());
}

TEST_P(WordPiece, TokenizerJsonGivesThem) {
  const TemporaryFolder folder;
  write_text_atomic((folder / "tokenizer.json").string(), of_case()["file"].dump());
  expect_lines(*load_tokenizer(folder.path().string()), of_case()["lines"], GetParam());
}

// transformers' class sets the steps anew, by tokenizer_config.json.
TEST_P(WordPiece, SettingsOfTheClassGoBeforeTokenizerJson) {
  const TemporaryFolder folder;
  write_vocabulary(folder, of_case()["settings"], "BertTokenizerFast");
  for (const auto& [name, other] : golden_wordpiece()["cases"].items()) {
    write_text_atomic((folder / "tokenizer.json").string(), other["file"].dump());
    expect_lines(*load_tokenizer(folder.path().string()), of_case()["lines"], GetParam() + " over " + name);
  }
}

TEST_P(WordPiece, WrittenFolderGivesThemByTokenizerJson) {
  const TemporaryFolder folder, written;
  write_vocabulary(folder, of_case()["settings"]);
  write_tokenizer_files(folder.path().string(), written.path().string());
  std::filesystem::remove(written / "vocab.txt");
  const auto tokenizer = load_tokenizer(written.path().string());
  expect_lines(*tokenizer, of_case()["lines"], GetParam());
  EXPECT_EQ(tokenizer->digest(), load_tokenizer(folder.path().string())->digest());
}

// Cut at every few bytes, inside of words and of characters that change.
TEST_P(WordPiece, ALongTextInPartsGivesTheSame) {
  const TemporaryFolder folder;
  write_vocabulary(folder, of_case()["settings"]);
  const TokenizerSource source = read_tokenizer_source(folder.path().string());
  const auto whole = load_tokenizer(folder.path().string());
  std::string text;
  for (const WordPieceJson& line : of_case()["lines"])
    text += line["text"].get<std::string>() + "thecatbbbaaa";
  std::vector<std::uint32_t> ids;
  std::vector<TextRange> ranges;
  whole->encode_ranges(text, ids, ranges);
  for (const std::size_t part : {4u, 7u, 40u}) {
    const auto parts = make_subword_tokenizer(source.definition, source.special,
                                              subword_pieces(source.definition), "", "", part);
    std::vector<std::uint32_t> found;
    std::vector<TextRange> places;
    parts->encode_ranges(text, found, places);
    ASSERT_EQ(found, ids) << part;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ASSERT_EQ(places[i].begin, ranges[i].begin) << part << " " << i;
      ASSERT_EQ(places[i].end, ranges[i].end) << part << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, WordPiece,
                         ::testing::Values("uncased", "cased", "cased-without-accents",
                                           "uncased-with-accents", "ideographs-in-words"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(WordPieceVocabulary, CapitalLettersAreAnotherDigest) {
  const TemporaryFolder folder;
  write_vocabulary(folder, WordPieceJson::object());
  const std::string uncased = load_tokenizer(folder.path().string())->digest();
  write_vocabulary(folder, {{"do_lower_case", false}});
  EXPECT_NE(load_tokenizer(folder.path().string())->digest(), uncased);
}

TEST(WordPieceVocabulary, WordsBeginWithoutThePrefix) {
  const TemporaryFolder folder;
  write_vocabulary(folder, WordPieceJson::object());
  const auto tokenizer = load_tokenizer(folder.path().string());
  for (std::uint32_t id = 0; id < tokenizer->vocab_size(); ++id)
    EXPECT_EQ(tokenizer->begins_word(id), !tokenizer->piece(id).starts_with("##")) << id;
  std::vector<std::uint32_t> ids;
  tokenizer->encode("Unwanted, the cat!", ids);
  EXPECT_EQ(text_of_pieces(*tokenizer, std::vector<std::int32_t>(ids.begin(), ids.end())),
            "unwanted , the cat !");
}

TEST(WordPieceVocabulary, APieceThatStandsTwiceHasTheLaterId) {
  const TokenizerJson definition = parse_wordpiece_vocabulary("a\r\nb\r\na\n\nc", "vocab.txt");
  EXPECT_EQ(definition.pieces, (std::vector<std::string>{"", "b", "a", "", "c"}));
}

void expect_refused(const std::string& folder, const std::string& message, const std::string& hint) {
  try {
    load_tokenizer(folder);
    FAIL() << "loaded";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_NE(error.message().find(message), std::string::npos) << error.message();
    EXPECT_NE(error.hint().find(hint), std::string::npos) << error.hint();
  }
}

TEST(WordPieceVocabulary, OthersAreRefused) {
  const TemporaryFolder folder;
  write_vocabulary(folder, WordPieceJson::object(), "BertJapaneseTokenizer");
  expect_refused(folder.path().string(), "a vocabulary of BertJapaneseTokenizer, which is not read",
                 "BertTokenizer");
  write_vocabulary(folder, WordPieceJson::object(), "EsmTokenizer");
  expect_refused(folder.path().string(), " is of neither bases nor special", "of DNA");
  write_vocabulary(folder, WordPieceJson::object());
  write_text_atomic((folder / "vocab.txt").string(), "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n");
  expect_refused(folder.path().string(), "the model has no piece [MASK] (mask_token)",
                 "tokenizer_config.json");
  write_text_atomic((folder / "vocab.txt").string(), "[PAD]\n\xff\n");
  expect_refused(folder.path().string(), "vocab.txt: byte 7 is not UTF-8", "again");
  write_text_atomic((folder / "vocab.txt").string(), "");
  expect_refused(folder.path().string(), "vocab.txt: holds no pieces", "again");
}

}  // namespace
}  // namespace bigbird
