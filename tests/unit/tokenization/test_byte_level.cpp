// Byte-level BPE: GPT-2's words and bytes, merges against the oracle, the files that hold it, offsets as
// RobertaTokenizerFast of transformers 4.57.1 gives them.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/core/unicode.h"
#include "lib/tokenization/byte_level_bpe.h"
#include "lib/tokenization/byte_level_definition.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"
#include "reference/tokenization.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;
using BpeFile = nlohmann::json;
using PieceIds = std::vector<std::uint32_t>;
using Places = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

const std::string& blank_piece = byte_level_characters()[' '];

// Special pieces as RoBERTa numbers them, the bytes (4 to 259), ten merges.
std::vector<std::pair<std::string, std::string>> small_merges() {
  const std::string& first = byte_level_characters()[0xC3];
  const std::string& second = byte_level_characters()[0xA9];
  return {{blank_piece, "t"}, {"h", "e"},  {blank_piece + "t", "he"},  {"l", "l"}, {"o", "w"},
          {"a", "a"},         {"aa", "a"}, {blank_piece, blank_piece}, {"'", "s"}, {first, second}};
}

BpeFile small_vocabulary() {
  BpeFile vocabulary = BpeFile::object();
  const auto add = [&](const std::string& piece) { vocabulary[piece] = vocabulary.size(); };
  for (const char* special : {"<s>", "<pad>", "</s>", "<unk>"}) add(special);
  for (const std::string& character : byte_level_characters()) add(character);
  for (const auto& [left, right] : small_merges()) add(left + right);
  add("<mask>");
  return vocabulary;
}

std::string merges_text() {
  std::string text = "#version: 0.2\n";
  for (const auto& [left, right] : small_merges()) {
    text += left;
    text += ' ';
    text += right;
    text += '\n';
  }
  return text;
}

BpeFile small_json() {
  BpeFile merges = BpeFile::array();
  for (const auto& [left, right] : small_merges()) {
    std::string merge = left;
    merge += ' ';
    merge += right;
    merges.push_back(std::move(merge));
  }
  BpeFile added = BpeFile::array();
  for (const char* name : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}) {
    const bool mask = std::string(name) == "<mask>";
    added.push_back(
        {{"id", small_vocabulary()[name]}, {"content", name}, {"special", true}, {"lstrip", mask}});
  }
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}}},
          {"post_processor",
           {{"type", "RobertaProcessing"},
            {"sep", {"</s>", 2}},
            {"cls", {"<s>", 0}},
            {"trim_offsets", true},
            {"add_prefix_space", false}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", ""},
            {"end_of_word_suffix", ""},
            {"fuse_unk", false},
            {"vocab", small_vocabulary()},
            {"merges", merges}}}};
}

std::unique_ptr<Tokenizer> load_json_text(const std::string& text, const std::string& config = {}) {
  const TemporaryFolder folder;
  testing::write_text(folder / "tokenizer.json", text);
  if (!config.empty()) testing::write_text(folder / "tokenizer_config.json", config);
  return load_tokenizer(folder.path().string());
}

std::unique_ptr<Tokenizer> load_files(const std::string& vocabulary, const std::string& merges,
                                      const std::string& config = {}, const std::string& added = {}) {
  const TemporaryFolder folder;
  testing::write_text(folder / "vocab.json", vocabulary);
  testing::write_text(folder / "merges.txt", merges);
  if (!config.empty()) testing::write_text(folder / "tokenizer_config.json", config);
  if (!added.empty()) testing::write_text(folder / "added_tokens.json", added);
  return load_tokenizer(folder.path().string());
}

std::unique_ptr<Tokenizer> load_small(const std::string& config = {}) {
  return load_files(small_vocabulary().dump(), merges_text(), config);
}

void expect_byte_level(const Tokenizer& tokenizer, const std::string& text, const PieceIds& ids,
                       const Places& places) {
  const EncodedText found = encode_text(tokenizer, text, {WhiteSpace::keep, false});
  Places offsets;
  for (std::size_t i = 0; i < found.ids.size(); ++i) offsets.emplace_back(found.begin[i], found.end[i]);
  EXPECT_EQ(found.ids, ids) << text;
  EXPECT_EQ(offsets, places) << text;
}

template <typename Load>
void expect_bad_files(const Load& load, const std::string& part) {
  try {
    load();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    EXPECT_FALSE(error.hint().empty());
    return;
  }
  ADD_FAILURE() << "loaded, without a word on: " << part;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = byte_level_word_end(text, begin);
    EXPECT_GT(end, begin);
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

using WordList = std::vector<std::string>;

TEST(ByteLevelCharacters, AreGpt2sTable) {
  const auto& characters = byte_level_characters();
  EXPECT_EQ(characters['!'], "!");
  EXPECT_EQ(characters[0], "\u0100");
  EXPECT_EQ(characters[' '], "\u0120");
  EXPECT_EQ(characters['\n'], "\u010A");
  EXPECT_EQ(characters[0x7f], "\u0121");
  EXPECT_EQ(characters[0xa0], "\u0142");
  EXPECT_EQ(characters[0xad], "\u0143");
  EXPECT_EQ(characters[0xe9], "\u00E9");
  std::vector<std::string> sorted(characters.begin(), characters.end());
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
}

TEST(ByteLevelWords, LettersNumbersAndSignsStandApart) {
  EXPECT_EQ(words_of("Hello world, 12x3!?"), (WordList{"Hello", " world", ",", " 12", "x", "3", "!?"}));
  EXPECT_EQ(words_of("a_b-c"), (WordList{"a", "_", "b", "-", "c"}));
}

TEST(ByteLevelWords, ContractionsAreLowerCaseAndHaveNoBlank) {
  EXPECT_EQ(words_of("don't we'll I'm they're you've she'd it's"),
            (WordList{"don", "'t", " we", "'ll", " I", "'m", " they", "'re", " you", "'ve", " she", "'d",
                      " it", "'s"}));
  EXPECT_EQ(words_of("DON'T 's 'tis"), (WordList{"DON", "'", "T", " '", "s", " '", "tis"}));
  EXPECT_EQ(words_of("'sx'l"), (WordList{"'s", "x", "'", "l"}));
  EXPECT_EQ(words_of("!'s"), (WordList{"!'", "s"}));
}

TEST(ByteLevelWords, WhiteSpaceLeavesItsLastBlankToTheWord) {
  EXPECT_EQ(words_of("a   b"), (WordList{"a", "  ", " b"}));
  EXPECT_EQ(words_of("a \n b"), (WordList{"a", " \n", " b"}));
  EXPECT_EQ(words_of("a\n\nb"), (WordList{"a", "\n", "\n", "b"}));
  EXPECT_EQ(words_of("a\tb"), (WordList{"a", "\t", "b"}));
  EXPECT_EQ(words_of("a  \n"), (WordList{"a", "  \n"}));
  EXPECT_EQ(words_of("  "), (WordList{"  "}));
  EXPECT_EQ(words_of("a \u00A0b"), (WordList{"a", " ", "\u00A0", "b"}));
}

TEST(ByteLevelWords, ClassesAreUnicodes) {
  EXPECT_EQ(words_of("\u00E9\u4F60\u0436 \u0663\u00BD\u2167"),
            (WordList{"\u00E9\u4F60\u0436", " \u0663\u00BD\u2167"}));
  EXPECT_EQ(words_of("e\u0301x"), (WordList{"e", "\u0301", "x"}));
  EXPECT_EQ(words_of("a\u3000b\u200Bc"), (WordList{"a", "\u3000", "b", "\u200B", "c"}));
}

// Python's white space, not that of regular expressions.
TEST(ByteLevelWords, SeparatorsOfAsciiAreSigns) {
  EXPECT_EQ(words_of("a\x1C\x1F!b"), (WordList{"a", "\x1C\x1F!", "b"}));
}

TEST(ByteLevelWords, LieEndToEndForAnyBytes) {
  for (std::uint64_t round = 0; round < 500; ++round) {
    CounterRng rng(9, Purpose::test, round);
    std::string text;
    for (std::int64_t i = rng.between(0, 40); i > 0; --i) text += static_cast<char>(rng.below(256));
    std::string joined;
    for (const std::string& word : words_of(text)) joined += word;
    ASSERT_EQ(joined, text);
  }
}

// Random merges over few letters, words on both sides of the border between the two ways of merging.
TEST(ByteLevelMerger, EqualsTheOracle) {
  for (std::uint64_t round = 0; round < 300; ++round) {
    CounterRng rng(10, Purpose::test, round);
    std::vector<std::string> pieces{"<unk>", "a", "b", "c"};
    std::vector<std::pair<std::string, std::string>> pairs;
    std::vector<BpeMerge> merges;
    const auto id_of = [&](const std::string& piece) {
      const auto found = std::find(pieces.begin(), pieces.end(), piece);
      if (found != pieces.end()) return static_cast<std::uint32_t>(found - pieces.begin());
      pieces.push_back(piece);
      return static_cast<std::uint32_t>(pieces.size() - 1);
    };
    for (std::int64_t i = rng.between(0, 20); i > 0; --i) {
      const std::string left = pieces[1 + rng.below(pieces.size() - 1)];
      const std::string right = pieces[1 + rng.below(pieces.size() - 1)];
      if (std::find(pairs.begin(), pairs.end(), std::pair(left, right)) != pairs.end()) continue;
      pairs.emplace_back(left, right);
      merges.push_back({id_of(left), id_of(right), id_of(left + right)});
    }
    if (round % 2 == 1) {
      std::reverse(pairs.begin(), pairs.end());
      std::reverse(merges.begin(), merges.end());
    }
    const ByteLevelMerger merger(pieces, merges, 0);
    for (const std::int64_t longest : {6, 20, 49, 120}) {
      std::string word;
      for (std::int64_t i = rng.between(1, longest); i > 0; --i) word += "abc"[rng.below(3)];
      std::vector<ByteLevelMerger::Symbol> symbols;
      merger.encode(word, symbols);
      std::vector<std::string> found;
      std::size_t at = 0;
      for (const ByteLevelMerger::Symbol& symbol : symbols) {
        found.push_back(pieces[symbol.id]);
        ASSERT_EQ(word.substr(at, symbol.end - at), found.back());
        at = symbol.end;
      }
      ASSERT_EQ(found, reference::encode_bpe_merges(word, pairs)) << word;
    }
  }
}

TEST(ByteLevelMerger, ALongRunIsNoTrouble) {
  const ByteLevelMerger merger({"<unk>", "a", "aa", "aaaa"}, {{1, 1, 2}, {2, 2, 3}}, 0);
  std::vector<ByteLevelMerger::Symbol> symbols;
  merger.encode(std::string(400'001, 'a'), symbols);
  EXPECT_EQ(symbols.size(), 100'001u);
  EXPECT_EQ(symbols.back().end, 400'001u);
}

TEST(ByteLevelMerger, BytesWithoutAPieceAreUnknownAndMergeWithNothing) {
  const ByteLevelMerger merger({"<unk>", "a"}, {}, 0);
  std::vector<ByteLevelMerger::Symbol> symbols;
  merger.encode("axya", symbols);
  PieceIds ids;
  for (const ByteLevelMerger::Symbol& symbol : symbols) ids.push_back(symbol.id);
  EXPECT_EQ(ids, (PieceIds{1, 0, 0, 1}));
}

TEST(ByteLevelTokenizer, KnowsItsPiecesAndSpecialIds) {
  const auto tokenizer = load_small();
  EXPECT_EQ(tokenizer->vocab_size(), 271u);
  EXPECT_EQ(tokenizer->special(), (SpecialIds{1, 3, 0, 2, 270}));
  EXPECT_FALSE(tokenizer->is_dna());
  EXPECT_EQ(tokenizer->word_start(), "\u0120");
  EXPECT_EQ(tokenizer->piece_length(262), 4u);
  EXPECT_EQ(tokenizer->piece_length(270), 0u);
  EXPECT_TRUE(tokenizer->is_special(0));
  EXPECT_FALSE(tokenizer->is_special(4));
}

// Whatever pieces a character's bytes are in.
TEST(ByteLevelTokenizer, CountsTheCharactersThatBeginInPieces) {
  const auto tokenizer = load_small();
  const std::string text = "n\xC3\xA9 \xE2\x82\xAC hello\xC2\xA0\xF0\x9F\x98\x80";
  std::vector<std::uint32_t> ids;
  tokenizer->encode(text, ids);
  std::uint32_t characters = 0, bytes = 0;
  for (const std::uint32_t id : ids) {
    characters += tokenizer->piece_characters(id);
    bytes += tokenizer->piece_length(id);
  }
  EXPECT_EQ(bytes, text.size());
  EXPECT_EQ(characters, 12u);
}

TEST(ByteLevelTokenizer, GivesTheIdsAndOffsetsOfRoberta) {
  const auto tokenizer = load_small();
  expect_byte_level(*tokenizer, "the the", {120, 261, 262}, {{0, 1}, {1, 3}, {4, 7}});
  expect_byte_level(*tokenizer, "low's all", {112, 264, 268, 36, 101, 263},
                    {{0, 1}, {1, 3}, {3, 5}, {6, 6}, {6, 7}, {7, 9}});
  expect_byte_level(*tokenizer, "   the\n", {267, 262, 14}, {{2, 2}, {3, 6}, {6, 7}});
  expect_byte_level(*tokenizer, "aaaaa  the ", {265, 266, 36, 262, 36},
                    {{0, 2}, {2, 5}, {6, 6}, {7, 10}, {11, 11}});
  expect_byte_level(*tokenizer, "'S 's 12x", {43, 87, 36, 43, 119, 36, 53, 54, 124},
                    {{0, 1}, {1, 2}, {3, 3}, {3, 4}, {4, 5}, {6, 6}, {6, 7}, {7, 8}, {8, 9}});
}

TEST(ByteLevelTokenizer, PartsOfACharacterStandForAllOfIt) {
  const auto tokenizer = load_small();
  expect_byte_level(*tokenizer, "caf\u00E9 \u4F60", {103, 101, 106, 269, 36, 232, 193, 164},
                    {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {5, 5}, {5, 6}, {5, 6}, {5, 6}});
  PieceIds ids;
  PieceIds begins;
  tokenizer->encode("caf\u00E9 \u4F60", ids, &begins);
  EXPECT_EQ(begins, (PieceIds{0, 1, 2, 3, 5, 6, 6, 6}));
}

TEST(ByteLevelTokenizer, ABlankInFrontIsNoPartOfTheText) {
  const auto tokenizer = load_small(R"({"add_prefix_space": true})");
  expect_byte_level(*tokenizer, "the the", {262, 262}, {{0, 3}, {4, 7}});
  expect_byte_level(*tokenizer, "   the\n", {267, 262, 14}, {{2, 2}, {3, 6}, {6, 7}});
  expect_byte_level(*tokenizer, "caf\u00E9 \u4F60", {36, 103, 101, 106, 269, 36, 232, 193, 164},
                    {{0, 0}, {0, 1}, {1, 2}, {2, 3}, {3, 4}, {5, 5}, {5, 6}, {5, 6}, {5, 6}});
  expect_byte_level(*tokenizer, "'S", {36, 43, 87}, {{0, 0}, {0, 1}, {1, 2}});
  expect_byte_level(*tokenizer, "\u4F60", {36, 232, 193, 164}, {{0, 0}, {0, 1}, {0, 1}, {0, 1}});
  expect_byte_level(*tokenizer, "", {}, {});
}

TEST(ByteLevelTokenizer, BlanksBelongToPiecesWithoutTrimming) {
  const auto tokenizer = load_small(R"({"trim_offsets": false})");
  expect_byte_level(*tokenizer, "the the", {120, 261, 262}, {{0, 1}, {1, 3}, {3, 7}});
  expect_byte_level(*tokenizer, "   the\n", {267, 262, 14}, {{0, 2}, {2, 6}, {6, 7}});
  expect_byte_level(*tokenizer, "aaaaa  the ", {265, 266, 36, 262, 36},
                    {{0, 2}, {2, 5}, {5, 6}, {6, 10}, {10, 11}});
}

TEST(ByteLevelTokenizer, TextIsLiteralAndFillMaskReadsNames) {
  const auto tokenizer = load_small();
  for (const std::uint32_t id : encode_text(*tokenizer, "<mask></s><s>").ids) {
    EXPECT_FALSE(tokenizer->is_special(id));
  }
  PieceIds ids;
  PieceIds begins;
  tokenizer->encode_with_special_pieces("the <mask> the", ids, &begins);
  EXPECT_EQ(ids, (PieceIds{120, 261, 270, 262}));
  EXPECT_EQ(begins, (PieceIds{0, 1, 3, 10}));
}

TEST(ByteLevelTokenizer, EveryTextHasAllItsBytes) {
  const auto tokenizer = load_small();
  const std::u32string letters = U"the al'ow \n\t\u00E9\u4F60\U0001F600\u0301 ";
  for (std::uint64_t round = 0; round < 200; ++round) {
    CounterRng rng(12, Purpose::test, round);
    std::u32string text;
    for (std::int64_t i = rng.between(0, 80); i > 0; --i) text += letters[rng.below(letters.size())];
    const std::string bytes = encode_utf8(text);
    std::string pieces;
    std::string expected;
    for (const std::uint32_t id : encode_text(*tokenizer, bytes, {WhiteSpace::keep, false}).ids) {
      pieces += tokenizer->piece(id);
    }
    for (const char byte : bytes) expected += byte_level_characters()[static_cast<unsigned char>(byte)];
    ASSERT_EQ(pieces, expected);
  }
}

// As transformers' decode() has it: bytes in place of their stand-ins.
TEST(ByteLevelTokenizer, PiecesBecomeTheTextThatTheyCameFrom) {
  const auto tokenizer = load_small();
  const std::string text = " the low\n\tcaf\xC3\xA9  \xE2\x82\xAC 'x\x7F";
  PieceIds ids;
  tokenizer->encode(text, ids);
  std::vector<std::int32_t> written{0};
  written.insert(written.end(), ids.begin(), ids.end());
  written.push_back(2);
  EXPECT_EQ(text_of_pieces(*tokenizer, written), text);
  // A model may stop within a character.
  const std::vector<std::int32_t> half{4 + 'a', 4 + 0xC3, 4 + 'b'};
  EXPECT_EQ(text_of_pieces(*tokenizer, half),
            "a\xEF\xBF\xBD"
            "b");
}

TEST(ByteLevelJson, GivesTheSameAsTheTwoFiles) {
  const auto from_json = load_json_text(small_json().dump());
  const auto from_files = load_small();
  EXPECT_EQ(from_json->special(), from_files->special());
  EXPECT_NE(from_json->digest(), from_files->digest());
  for (const char* text : {"the the", "   low's\u00E9 all \n", "aaaaa 'S"}) {
    const EncodedText one = encode_text(*from_json, text);
    const EncodedText two = encode_text(*from_files, text);
    EXPECT_EQ(one.ids, two.ids);
    EXPECT_EQ(one.begin, two.begin);
    EXPECT_EQ(one.end, two.end);
  }
  BpeFile pairs = small_json();
  for (BpeFile& merge : pairs["model"]["merges"]) {
    const std::string text = merge.get<std::string>();
    merge = BpeFile::array({text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1)});
  }
  EXPECT_EQ(encode_text(*load_json_text(pairs.dump()), "low the").ids,
            encode_text(*from_files, "low the").ids);
}

TEST(ByteLevelJson, SettingsComeFromTheFileUnlessTheConfigSaysOtherwise) {
  BpeFile file = small_json();
  file["pre_tokenizer"]["add_prefix_space"] = true;
  file["post_processor"]["add_prefix_space"] = true;
  expect_byte_level(*load_json_text(file.dump()), "the", {262}, {{0, 3}});
  expect_byte_level(*load_json_text(file.dump(), R"({"add_prefix_space": false})"), "the", {120, 261},
                    {{0, 1}, {1, 3}});
  BpeFile untrimmed = small_json();
  untrimmed["post_processor"]["trim_offsets"] = false;
  expect_byte_level(*load_json_text(untrimmed.dump()), "a the", {101, 262}, {{0, 1}, {1, 5}});
}

TEST(ByteLevelJson, NamesWhatIsNotUnderstood) {
  const auto refused = [](const char* pointer, const BpeFile& value, const std::string& part) {
    BpeFile file = small_json();
    file[BpeFile::json_pointer(pointer)] = value;
    expect_bad_files([&] { load_json_text(file.dump()); }, part);
  };
  refused("/normalizer", {{"type", "NFC"}}, "normalizer type NFC");
  refused("/pre_tokenizer/use_regex", false, "use_regex");
  refused("/post_processor", {{"type", "TemplateProcessing"}}, "post_processor type TemplateProcessing");
  refused("/post_processor/add_prefix_space", true, "add_prefix_space");
  refused("/post_processor/cls", BpeFile::array({"<s>", 2}), "another id");
  refused("/post_processor/sep", 3, "not a name and an id");
  refused("/model/type", "Unigram", "model type Unigram");
  refused("/model/dropout", 0.1, "model.dropout");
  refused("/model/byte_fallback", true, "model.byte_fallback");
  refused("/model/ignore_merges", 1, "neither true nor false");
  refused("/model/end_of_word_suffix", "</w>", "end_of_word_suffix");
  refused("/model/unk_token", "<none>", "<none>");
  refused("/model/unk_token", 3, "unk_token");
  refused("/model/merges", "x", "not a list");
  refused("/model/merges/0", "a", "merge 1 is not a pair");
  refused("/model/vocab", BpeFile::object(), "no pieces");
  refused("/model", nullptr, "model is not an object");
  refused("/added_tokens/0/id", 5, "<s>");
  refused("/added_tokens/0", 5, "not an object");
  refused("/added_tokens", 5, "not a list");
}

TEST(ByteLevelFiles, TakeAddedTokensAndWindowsLines) {
  std::string merges = merges_text();
  for (std::size_t at = merges.find('\n'); at != std::string::npos; at = merges.find('\n', at + 2)) {
    merges.insert(at, 1, '\r');
  }
  const auto tokenizer = load_files(small_vocabulary().dump(), merges, {}, R"({"<x>": 271})");
  EXPECT_EQ(tokenizer->vocab_size(), 272u);
  EXPECT_FALSE(tokenizer->is_special(271));  // transformers takes it for a word
  expect_byte_level(*tokenizer, "the<x>", {120, 261, 271}, {{0, 1}, {1, 3}, {3, 6}});
  expect_byte_level(*tokenizer, "the the", {120, 261, 262}, {{0, 1}, {1, 3}, {4, 7}});
}

TEST(ByteLevelFiles, NeedNoVersionLine) {
  const std::string merges = merges_text();
  const auto tokenizer = load_files(small_vocabulary().dump(), merges.substr(merges.find('\n') + 1));
  expect_byte_level(*tokenizer, "the the", {120, 261, 262}, {{0, 1}, {1, 3}, {4, 7}});
}

TEST(ByteLevelFiles, SayWhatContradictsItself) {
  const auto vocabulary = [](const std::string& text, const std::string& part) {
    expect_bad_files([&] { load_files(text, merges_text()); }, part);
  };
  vocabulary("", "vocab.json: not a JSON object");
  vocabulary("[1]", "not a JSON object");
  vocabulary("{}", "no pieces");
  vocabulary(std::string(100'000, '['), "not a JSON object");
  vocabulary(R"({"a": 0, "b": 0})", "id 0 is");
  vocabulary(R"({"a": 0, "a": 1})", "'a' is there twice");
  vocabulary(R"({"a": 0, "b": 2})", "has id 2 of 2 pieces");
  vocabulary(R"({"a": -1})", "has no id");
  vocabulary(R"({"a": 1e3})", "has no id");
  vocabulary(R"({"a": 4294967296})", "has no id");
  vocabulary(R"({"": 0})", "empty piece");
  const auto merges = [](const std::string& text, const std::string& part) {
    expect_bad_files([&] { load_files(small_vocabulary().dump(), text); }, part);
  };
  merges("a\n", "merges.txt:1: 'a' is not a pair");
  merges("#version: 0.2\na b c\n", "merges.txt:2");
  merges("h e\na  a\n", "merges.txt:2");
  merges("h e\nh e\n", "merges.txt:2: the merge of 'h' and 'e' is there twice");
  merges("q e\n", "needs 'qe', which is not a piece");
  merges("xx e\n", "needs 'xx'");
  merges(std::string(5000, 'x'), "is not a pair");
  expect_bad_files([] { load_files(small_vocabulary().dump(), merges_text(), {}, R"({"a": 271})"); },
                   "has id 101 and id 271");
}

TEST(ByteLevelFiles, NeedBothFilesAndTheSpecialPieces) {
  const TemporaryFolder folder;
  testing::write_text(folder / "vocab.json", small_vocabulary().dump());
  expect_bad_files([&] { load_tokenizer(folder.path().string()); }, "merges.txt: no such file");
  BpeFile vocabulary = small_vocabulary();
  vocabulary.erase("<mask>");
  expect_bad_files([&] { load_files(vocabulary.dump(), merges_text()); }, "no piece <mask> (mask_token)");
  EXPECT_EQ(
      load_files(vocabulary.dump(), merges_text(), R"({"mask_token": {"content": "<unk>"}})")->special().mask,
      3u);
}

}  // namespace
}  // namespace bigbird
