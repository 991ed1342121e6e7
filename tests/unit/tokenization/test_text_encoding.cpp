// Texts as tasks encode them: ids and offsets of both views of a SentencePiece model as transformers 4.57.1
// gives them (tests/peers/text_tokenization.py compares 10,000 lines), folding, unknown characters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/core/unicode.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"
#include "lib/tokenization/unigram_encoder.h"
#include "reference/tokenization.h"
#include "tests/support/sanitizer.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;
using Ids = std::vector<std::uint32_t>;
using Offsets = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

constexpr TextEncodingOptions as_given{WhiteSpace::keep, false};

std::string google_bytes() {
  return testing::read_text(testing::source_dir() / "tests" / "golden" / "tokenizer_google_layout.model");
}

std::unique_ptr<Tokenizer> load_model(const std::string& bytes, const std::string& tokenizer_class) {
  const TemporaryFolder folder;
  testing::write_text(folder / "spiece.model", bytes);
  testing::write_text(folder / "tokenizer_config.json", "{\"tokenizer_class\": \"" + tokenizer_class + "\"}");
  return load_tokenizer(folder.path().string());
}

// The library, which is BigBirdTokenizer's (use_fast=False).
std::unique_ptr<Tokenizer> library_view(const std::string& bytes) {
  const SentencePieceModel model = parse_sentencepiece_model(bytes, "model");
  return make_sentencepiece_tokenizer(model, {0, 100, 65, 66, 67}, bytes, "model");
}

const Tokenizer& slow_view() {
  static const auto tokenizer = library_view(google_bytes());
  return *tokenizer;
}

const Tokenizer& fast_view() {
  static const auto tokenizer = load_model(google_bytes(), "BigBirdTokenizer");
  return *tokenizer;
}

Offsets offsets(const EncodedText& text) {
  Offsets result;
  for (std::size_t i = 0; i < text.ids.size(); ++i) result.emplace_back(text.begin[i], text.end[i]);
  return result;
}

void expect_encoding(const Tokenizer& tokenizer, const std::string& text, const Ids& ids,
                     const Offsets& places) {
  const EncodedText found = encode_text(tokenizer, text, as_given);
  EXPECT_EQ(found.ids, ids) << text;
  EXPECT_EQ(offsets(found), places) << text;
}

// Bytes and code points of every id must be the same place.
void expect_consistent(const EncodedText& found, const std::string& text) {
  const CodePointIndex index(text);
  ASSERT_EQ(found.ids.size(), found.begin.size());
  ASSERT_EQ(found.ids.size(), found.end.size());
  ASSERT_EQ(found.ids.size(), found.byte_begin.size());
  ASSERT_EQ(found.ids.size(), found.byte_end.size());
  EXPECT_EQ(found.code_points, index.size());
  for (std::size_t i = 0; i < found.ids.size(); ++i) {
    ASSERT_LE(found.begin[i], found.end[i]) << text;
    ASSERT_LE(found.end[i], index.size()) << text;
    ASSERT_EQ(found.byte_begin[i], index.byte_of(found.begin[i])) << text;
    ASSERT_EQ(found.byte_end[i], index.byte_of(found.end[i])) << text;
    if (i == 0) continue;
    ASSERT_LE(found.begin[i - 1], found.begin[i]) << text;
    ASSERT_LE(found.end[i - 1], found.end[i]) << text;
  }
}

TEST(SlowView, KeepsWhiteSpaceAsTheLibraryDoes) {
  expect_encoding(slow_view(), "The cat sat.", {197, 198, 199, 114}, {{0, 3}, {3, 7}, {7, 11}, {11, 12}});
  expect_encoding(slow_view(), "tab\tand\nline\n", {244, 165, 166, 100, 227, 100, 176, 229, 169, 100},
                  {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 7}, {7, 8}, {8, 9}, {9, 11}, {11, 12}, {12, 13}});
  expect_encoding(slow_view(), " \xC2\xA0the", {195, 195, 100, 220}, {{0, 0}, {0, 1}, {1, 2}, {2, 5}});
}

TEST(SlowView, MergesRunsOfUnknownCharacters) {
  expect_encoding(slow_view(), "caf\xC3\xA9 \xE4\xBD\xA0\xE5\xA5\xBD", {245, 165, 170, 100, 195, 100},
                  {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 7}});
}

TEST(FastView, StripsTheRightEnd) {
  expect_encoding(fast_view(), "The cat sat.", {197, 198, 199, 114}, {{0, 3}, {3, 7}, {7, 11}, {11, 12}});
  expect_encoding(fast_view(), "tab\tand\nline\n", {244, 165, 166, 100, 227, 100, 176, 229, 169},
                  {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 7}, {7, 8}, {8, 9}, {9, 11}, {11, 12}});
  expect_encoding(fast_view(), " \n\t\xE3\x80\x80", {}, {});
}

TEST(FastView, GivesARunOfBlanksThePlaceOfItsLast) {
  expect_encoding(fast_view(), "  two  blanks ", {244, 187, 179, 195, 166, 176, 165, 178, 175, 183},
                  {{1, 3}, {3, 4}, {4, 5}, {6, 7}, {7, 8}, {8, 9}, {9, 10}, {10, 11}, {11, 12}, {12, 13}});
}

TEST(FastView, PutsAWordSignInFrontThatSharesTheFirstPlace) {
  expect_encoding(fast_view(), " \xC2\xA0the", {195, 100, 220}, {{0, 1}, {1, 2}, {2, 5}});
  expect_encoding(fast_view(), "\xE4\xBD\xA0 the", {195, 100, 196}, {{0, 1}, {0, 1}, {1, 5}});
}

TEST(FastView, CutsWordsBeforeEveryWordSign) {
  expect_encoding(fast_view(), "paper\xE2\x96\x81token", {209, 213}, {{0, 5}, {5, 11}});
  const EncodedText signs = encode_text(fast_view(), "\xE2\x96\x81\xE2\x96\x81", as_given);
  EXPECT_EQ(signs.ids, (Ids{195, 195}));
  EXPECT_EQ(offsets(signs), (Offsets{{0, 1}, {1, 2}}));
}

// save_pretrained() strips "Fast" off the name, and AutoTokenizer loads the fast one all the same.
TEST(FastView, IsWhatAutoTokenizerLoadsWhateverTheFolderSays) {
  const TemporaryFolder bare;
  testing::write_text(bare / "spiece.model", google_bytes());
  for (const std::string text : {"the\n", "the \t", "the\xC2\xA0"}) {
    EXPECT_EQ(encode_text(*load_tokenizer(bare.path().string()), text, as_given).ids, Ids{196}) << text;
    for (const char* name : {"BigBirdTokenizerFast", "BigBirdTokenizer", "PreTrainedTokenizerFast", ""}) {
      EXPECT_EQ(encode_text(*load_model(google_bytes(), name), text, as_given).ids, Ids{196}) << name;
    }
  }
}

TEST(FastView, WordModelsAreTheLibrarys) {
  SentencePieceModel model = parse_sentencepiece_model(google_bytes(), "model");
  model.type = ModelType::word;
  const auto tokenizer = load_model(serialize_sentencepiece_model(model), "BigBirdTokenizer");
  EXPECT_EQ(encode_text(*tokenizer, "the", as_given).ids.size(), 1u);
}

std::unique_ptr<Tokenizer> fast_tokenizer(const SentencePieceModel& model, const std::string& where) {
  const SpecialIds special{0, 0, 0, 0, 0};
  return make_subword_tokenizer(converted_definition(model, special, ConvertedClass::bigbird, where), special,
                                piece_table(model), "", where);
}

TEST(FastView, RefusesPiecesThatContradictThemselves) {
  const auto message = [](std::vector<ModelPiece> pieces) {
    SentencePieceModel model;
    model.pieces = std::move(pieces);
    try {
      fast_tokenizer(model, "FILE");
    } catch (const Error& error) {
      EXPECT_EQ(error.message().find('\n'), std::string::npos);
      return error.message();
    }
    return std::string("none");
  };
  EXPECT_EQ(message({{"<unk>", 0, PieceType::unknown}, {"a"}, {"b"}}), "none");
  EXPECT_NE(message({{"<unk>", 0, PieceType::unknown}, {"a\n"}, {"a\n"}}).find("FILE: piece 2"),
            std::string::npos);
  EXPECT_NE(message({{"<unk>", 0, PieceType::unknown}, {""}}).find("is empty"), std::string::npos);
  EXPECT_NE(message({{"<unk>", 0, PieceType::unknown}, {"a", std::nanf("")}}).find("not a number"),
            std::string::npos);
}

TEST(UnigramEncoder, TakesTheBestSumOfScores) {
  const UnigramEncoder encoder({{"a", -1, 1}, {"b", -1, 2}, {"ab", -2.5, 3}, {"abc", -2, 4}, {"c", -1, 5}}, 0,
                               -2.5);
  const auto ids = [&](std::string_view word) {
    std::vector<FoundPiece> found;
    encoder.encode(word, found);
    Ids result;
    for (const FoundPiece& piece : found) result.push_back(piece.id);
    return result;
  };
  EXPECT_EQ(ids("ab"), (Ids{1, 2}));
  EXPECT_EQ(ids("abc"), (Ids{4}));
  EXPECT_EQ(ids("cabc"), (Ids{5, 4}));
  EXPECT_EQ(ids(""), Ids{});
  EXPECT_EQ(ids("xyaz"), (Ids{0, 1, 0}));
}

TEST(UnigramEncoder, PrefersThePieceThatBeginsFurthestLeftOfEqualSums) {
  const UnigramEncoder encoder({{"a", 0, 1}, {"b", 0, 2}, {"c", 0, 3}, {"ab", 0, 4}, {"bc", 0, 5}}, 9, 0);
  std::vector<FoundPiece> found;
  encoder.encode("abc", found);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].id, 1u);
  EXPECT_EQ(found[1].id, 5u);
  EXPECT_EQ(found[1].begin, 1u);
}

// Random vocabularies of equal scores: the longest match from the right, place by place.
TEST(FastView, EqualsTheOracleForEqualScores) {
  for (std::uint64_t round = 0; round < 200; ++round) {
    CounterRng rng(7, Purpose::test, round);
    const std::u32string letters = U"ab\u00E9\u4F60\U0001F600";
    std::vector<std::u32string> pieces{U"\u2581"};
    for (std::int64_t i = rng.between(1, 25); i > 0; --i) {
      std::u32string piece = rng.below(3) == 0 ? U"\u2581" : U"";
      for (std::int64_t length = rng.between(1, 4); length > 0; --length) piece += letters[rng.below(4)];
      if (std::find(pieces.begin(), pieces.end(), piece) == pieces.end()) pieces.push_back(piece);
    }
    // With every letter but one a piece, no piece competes with unknown characters.
    for (std::size_t i = 0; i < 4; ++i) {
      const std::u32string letter(1, letters[i]);
      if (std::find(pieces.begin(), pieces.end(), letter) == pieces.end()) pieces.push_back(letter);
    }
    SentencePieceModel model;
    model.pieces = {{"<unk>", 0, PieceType::unknown}};
    for (const std::u32string& piece : pieces) model.pieces.push_back({encode_utf8(piece), 0});
    const auto tokenizer = fast_tokenizer(model, "model");
    for (int texts = 0; texts < 20; ++texts) {
      std::u32string text;
      for (std::int64_t length = rng.between(0, 40); length > 0; --length) {
        text += rng.below(4) == 0 ? U' ' : letters[rng.below(letters.size())];
      }
      if (text.find_first_not_of(U' ') == std::u32string::npos) text.clear();
      const std::string bytes = encode_utf8(text);
      const EncodedText found = encode_text(*tokenizer, bytes, as_given);
      const auto expected = reference::longest_match_from_the_right(text, pieces);
      ASSERT_EQ(found.ids.size(), expected.size()) << bytes;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(tokenizer->piece(found.ids[i]),
                  expected[i].known ? encode_utf8(expected[i].piece) : "<unk>")
            << bytes;
        EXPECT_EQ(found.begin[i], expected[i].begin) << bytes;
        EXPECT_EQ(found.end[i], expected[i].end) << bytes;
      }
      expect_consistent(found, bytes);
    }
  }
}

TEST(LongestMatch, IsWhatItsDefinitionSays) {
  const std::vector<std::u32string> pieces{U"\u2581", U"\u2581a", U"b", U"ab", U"a", U"ba"};
  const auto found = reference::longest_match_from_the_right(U"  abab xyb", pieces);
  const std::vector<reference::MatchedPiece> expected{{U"\u2581", 1, 2, true}, {U"ab", 2, 4, true},
                                                      {U"ab", 4, 6, true},     {U"\u2581", 6, 7, true},
                                                      {U"xy", 7, 9, false},    {U"b", 9, 10, true}};
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(reference::longest_match_from_the_right(U"   ", pieces).empty());
}

TEST(PublishedVocabulary, GivesTheIdsAndOffsetsOfBothViews) {
  BIGBIRD_REQUIRE_SHARED();
  const std::string bytes =
      testing::read_text(*testing::shared_dir() / "data" / "tokenizer-bigbird" / "gpt2.model");
  const auto library = library_view(bytes);
  const auto own = load_model(bytes, "BigBirdTokenizer");
  for (const Tokenizer* tokenizer : {library.get(), own.get()}) {
    expect_encoding(*tokenizer, "Hello world, it's the 2nd\ttest.",
                    {18536, 1096, 112, 441, 439, 363, 463, 459, 100, 9389, 114},
                    {{0, 5},
                     {5, 11},
                     {11, 12},
                     {12, 15},
                     {15, 17},
                     {17, 21},
                     {21, 23},
                     {23, 25},
                     {25, 26},
                     {26, 30},
                     {30, 31}});
    expect_encoding(*tokenizer, "na\xC3\xAFve \xE2\x80\x9Cquotes\xE2\x80\x9D\xE2\x80\xA6 ",
                    {12486, 272, 404, 321, 100, 522, 6522, 100},
                    {{0, 2}, {2, 3}, {3, 5}, {5, 6}, {6, 7}, {7, 9}, {9, 13}, {13, 15}});
  }
  expect_encoding(*library, "a   b", {358, 376}, {{0, 1}, {1, 5}});
  expect_encoding(*own, "a   b", {358, 376}, {{0, 1}, {3, 5}});
  expect_encoding(*library, "\xE4\xBD\xA0\xE5\xA5\xBD x", {321, 100, 2225}, {{0, 0}, {0, 2}, {2, 4}});
  expect_encoding(*own, "\xE4\xBD\xA0\xE5\xA5\xBD x", {321, 100, 2225}, {{0, 1}, {0, 2}, {2, 4}});
}

TEST(LiteralText, NamesOfSpecialPiecesAreTextInBothViews) {
  const std::string text = "[CLS] the <sep_0>[SEP]</s>";
  for (const Tokenizer* tokenizer : {&slow_view(), &fast_view()}) {
    const EncodedText found = encode_text(*tokenizer, text, as_given);
    for (const std::uint32_t id : found.ids) EXPECT_GT(id, 100u) << text;
    expect_consistent(found, text);
    EXPECT_EQ(found.end.back(), text.size());
  }
}

TEST(LiteralText, ABpeModelReadsItsUserDefinedPiecesAsTextToo) {
  SentencePieceModel model;
  model.type = ModelType::bpe;
  model.normalizer = "identity";
  model.pieces = {{"<unk>", 0, PieceType::unknown}, {"[SEP]", 0, PieceType::user_defined}};
  float rank = 0;
  for (const char letter : std::string("[]SEPab")) model.pieces.push_back({std::string(1, letter), rank--});
  model.pieces.push_back({"\xE2\x96\x81", rank--});
  const std::string bytes = serialize_sentencepiece_model(model);
  const auto tokenizer = make_sentencepiece_tokenizer(model, {0, 0, 1, 1, 1}, bytes, "model");
  const EncodedText found = encode_text(*tokenizer, "a[SEP]b", as_given);
  EXPECT_EQ(found.ids, (Ids{9, 7, 2, 4, 5, 6, 3, 8}));
  EXPECT_EQ(found.begin, (std::vector<std::uint32_t>{0, 0, 1, 2, 3, 4, 5, 6}));
}

TEST(LiteralModel, ChangesTypesAndNothingElse) {
  SentencePieceModel model;
  model.pieces = {{"<unk>", 0, PieceType::unknown}, {"<t>", -3, PieceType::user_defined}, {"a", -1.5F}};
  const std::string bytes = serialize_sentencepiece_model(model);
  const SentencePieceModel changed = parse_sentencepiece_model(literal_model(bytes), "model");
  ASSERT_EQ(changed.pieces.size(), 3u);
  EXPECT_EQ(changed.pieces[0].type, PieceType::unknown);
  EXPECT_EQ(changed.pieces[1].type, PieceType::control);
  EXPECT_EQ(changed.pieces[1].text, "<t>");
  EXPECT_EQ(changed.pieces[1].score, -3);
  EXPECT_EQ(changed.pieces[2].type, PieceType::normal);
  EXPECT_THROW(literal_model(bytes.substr(0, bytes.size() - 1)), Error);
}

TEST(EncodeText, FoldsWhiteSpaceCodePointForCodePoint) {
  const std::string text =
      "The\xC2\xA0"
      "cat\xE2\x80\xA9sat\n";
  for (const Tokenizer* tokenizer : {&slow_view(), &fast_view()}) {
    const EncodedText found = encode_text(*tokenizer, text);
    EXPECT_EQ(found.ids[0], 197u);
    EXPECT_EQ(found.ids[1], 198u);
    EXPECT_EQ(found.ids[2], 199u);
    EXPECT_EQ(found.begin[1], 3u);
    EXPECT_EQ(found.end[1], 7u);
    EXPECT_EQ(found.byte_begin[1], 3u);
    EXPECT_EQ(found.byte_end[1], 8u);
    EXPECT_EQ(found.byte_begin[2], 8u);
    EXPECT_EQ(found.byte_end[2], 14u);
    EXPECT_EQ(found.code_points, 12u);
    EXPECT_EQ(found.unknown_pieces, 0u);
    expect_consistent(found, text);
  }
}

TEST(EncodeText, FoldsEveryCharacterOfWhiteSpace) {
  const std::u32string spaces =
      U"\t\n\v\f\r\u001C\u001D\u001E\u001F \u0085\u00A0\u1680\u2000\u200A\u2028\u2029\u202F\u205F\u3000";
  for (const char32_t c : spaces) {
    const std::string text = "the" + encode_utf8(std::u32string(1, c)) + "cat";
    EXPECT_EQ(encode_text(slow_view(), text).ids, (Ids{196, 198})) << static_cast<std::uint32_t>(c);
  }
  EXPECT_EQ(fold_text("a\u200Bb", {}).text, "a\u200Bb");  // a zero-width space is none
}

TEST(EncodeText, FoldsPunctuationWhenAsked) {
  const std::string text = "\u201Ccat\u2019s\u201D \u2014 the\u2026 \u00ABa\u00BB";
  const FoldedText folded = fold_text(text, {WhiteSpace::fold, true});
  EXPECT_EQ(folded.text, "\"cat's\" - the... \"a\"");
  EXPECT_EQ(folded.added, (std::vector<std::size_t>{14, 15}));
  EXPECT_EQ(fold_text(text, {}).text, text);
  const EncodedText found = encode_text(slow_view(), text, {WhiteSpace::fold, true});
  EXPECT_EQ(found.unknown_pieces, 0u);
  expect_consistent(found, text);
  // Three dots of one character, and the word behind them where it stands.
  const std::uint32_t ellipsis = 13;
  std::size_t dots = 0;
  for (std::size_t i = 0; i < found.ids.size(); ++i) {
    if (found.ids[i] != 114) continue;
    EXPECT_EQ(found.begin[i], ellipsis);
    EXPECT_EQ(found.end[i], ellipsis + 1);
    ++dots;
  }
  EXPECT_EQ(dots, 3u);
  EXPECT_EQ(found.end.back(), found.code_points);
}

TEST(EncodeText, KeepsOffsetsOfRandomTextsInOrder) {
  const std::u32string letters = U"ab the\t\n \u00A0\u00E9\u4F60\u2026\u201C\U0001F600\u0301\u2581.";
  for (std::uint64_t round = 0; round < 300; ++round) {
    CounterRng rng(8, Purpose::test, round);
    std::u32string text;
    for (std::int64_t i = rng.between(0, 60); i > 0; --i) text += letters[rng.below(letters.size())];
    const std::string bytes = encode_utf8(text);
    for (const Tokenizer* tokenizer : {&slow_view(), &fast_view()}) {
      for (const WhiteSpace space : {WhiteSpace::fold, WhiteSpace::keep}) {
        for (const bool ascii : {false, true}) {
          const EncodedText found = encode_text(*tokenizer, bytes, {space, ascii});
          expect_consistent(found, bytes);
        }
      }
    }
  }
}

// The begin of a long text: the ids of the whole, and no more of it than that takes.
TEST(EncodeTextBegin, GivesTheFirstIdsOfTheWholeText) {
  const std::vector<std::string> words = {
      "The",      "cat",        "sat.",         "caf\xC3\xA9",     "\xE4\xBD\xA0\xE5\xA5\xBD",
      "a",        "-",          "\xE2\x96\x81", "don't",           "e\xCC\x81",
      "\xCC\x81", "x\xC2\xA0y", "12,5",         "\xF0\x9F\x98\x80"};
  const std::vector<std::string> gaps = {" ", " ", " ", "  ", "\n", " \n\n", "\t", "\xC2\xA0", ""};
  for (const Tokenizer* tokenizer : {&slow_view(), &fast_view()}) {
    for (const WhiteSpace white_space : {WhiteSpace::keep, WhiteSpace::fold}) {
      for (std::uint64_t run = 0; run < (testing::under_sanitizer ? 2 : 8); ++run) {
        CounterRng rng(36, Purpose::test, run);
        std::string text;
        while (text.size() < 60000) text += words[rng.below(words.size())] + gaps[rng.below(gaps.size())];
        const TextEncodingOptions options{white_space, run % 2 == 1};
        const EncodedText whole = encode_text(*tokenizer, text, options);
        for (const std::size_t least :
             {std::size_t{1}, std::size_t{64}, std::size_t{3000}, whole.ids.size(), whole.ids.size() + 1}) {
          const EncodedText begin = encode_text_begin(*tokenizer, text, options, least);
          ASSERT_GE(begin.ids.size(), std::min(least, whole.ids.size()));
          ASSERT_EQ(begin.whole, begin.ids.size() == whole.ids.size());
          for (std::size_t i = 0; i < begin.ids.size(); ++i) {
            ASSERT_EQ(begin.ids[i], whole.ids[i]) << run << " " << i;
            ASSERT_EQ(begin.byte_begin[i], whole.byte_begin[i]);
            ASSERT_EQ(begin.byte_end[i], whole.byte_end[i]);
          }
          if (least == 64) {
            EXPECT_LT(begin.code_points, whole.code_points / 4) << "more was encoded than is asked for";
          }
        }
        Ids ids, all;
        EXPECT_FALSE(encode_begin(*tokenizer, text, 100, ids));
        tokenizer->encode(text, all);
        ASSERT_TRUE(ids.size() >= 100 && std::equal(ids.begin(), ids.end(), all.begin()));
      }
    }
  }
  // Long words of one piece: the first try, by the bytes that pieces have, gives too few.
  std::string rare;
  for (int word = 0; word < 600; ++word) {
    for (int i = 0; i < 100; ++i) rare += "\xE4\xBD\xA0";
    rare += ' ';
  }
  const EncodedText whole = encode_text(slow_view(), rare, as_given);
  const EncodedText begin = encode_text_begin(slow_view(), rare, as_given, 300);
  EXPECT_FALSE(begin.whole);
  ASSERT_GE(begin.ids.size(), 300u);
  EXPECT_TRUE(std::equal(begin.ids.begin(), begin.ids.end(), whole.ids.begin()));
  EXPECT_TRUE(encode_text_begin(slow_view(), "", as_given, 5).whole);
  EXPECT_TRUE(encode_text_begin(slow_view(), std::string(100000, 'a'), as_given, 5).whole) << "no word ends";
}

TEST(EncodeText, AnEmptyTextHasNoPieces) {
  const EncodedText found = encode_text(slow_view(), "");
  EXPECT_TRUE(found.ids.empty());
  EXPECT_EQ(found.code_points, 0u);
  EXPECT_TRUE(encode_text(fast_view(), " \n\t ").ids.empty());
}

TEST(EncodeText, RefusesWhatIsNoUtf8) {
  try {
    encode_text(slow_view(), "ab\xFFz");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_NE(error.message().find("byte 3"), std::string::npos) << error.message();
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(EncodeText, CountsUnknownCharacters) {
  const EncodedText found = encode_text(slow_view(), "caf\u00E9 \u4F60\u597D\u4F60 the", as_given);
  EXPECT_EQ(found.unknown_pieces, 2u);
  EXPECT_EQ(found.unknown_characters, (std::vector<std::pair<char32_t, std::uint32_t>>{
                                          {U'\u00E9', 1}, {U'\u4F60', 2}, {U'\u597D', 1}}));
}

TEST(Tokenizer, TheOffsetsOfOtherKindsGoToTheNextId) {
  const std::string bytes = serialize_sentencepiece_model(make_dna_model({"AC", "GT"}, 0));
  const auto tokenizer = make_dna_tokenizer(parse_sentencepiece_model(bytes, "model"), {}, bytes);
  const EncodedText found = encode_text(*tokenizer, "ACGTT", as_given);
  EXPECT_EQ(offsets(found), (Offsets{{0, 2}, {2, 4}, {4, 5}}));
  EXPECT_EQ(tokenizer->word_start(), "\u2581");
}

TEST(UnknownTally, WarnsAboveTheShareAndNamesTheCharacters) {
  UnknownTally tally;
  EXPECT_FALSE(tally.warning());
  EXPECT_EQ(tally.share(), 0);
  tally.add(encode_text(slow_view(),
                        "the cat sat on the mat the cat sat on the mat the cat sat on the mat the \u00E9"));
  EXPECT_EQ(tally.unknown_pieces(), 1u);
  EXPECT_FALSE(tally.warning(0.06));
  UnknownTally more;
  more.add(encode_text(slow_view(), "\u4F60\u597D \u4F60\u0301 \u200D", as_given));
  tally.add(more);
  const std::optional<std::string> warning = tally.warning();
  ASSERT_TRUE(warning);
  EXPECT_NE(
      warning->find("most often U+4F60 '\u4F60' (2), U+00E9 '\u00E9' (1), U+0301 (1), U+200D (1), U+597D"),
      std::string::npos)
      << *warning;
  EXPECT_EQ(warning->find('\n'), std::string::npos);
}

TEST(UnknownTally, NamesEightCharactersAndCountsTheOthers) {
  UnknownTally tally;
  tally.add(encode_text(slow_view(), "\u4E00\u4E01\u4E02\u4E03\u4E04\u4E05\u4E06\u4E07\u4E08\u4E09"));
  const std::string warning = tally.warning().value_or("");
  EXPECT_NE(warning.find("and 2 others"), std::string::npos) << warning;
  EXPECT_EQ(warning.find("U+4E08"), std::string::npos) << warning;
  EXPECT_EQ(tally.most_frequent(3).size(), 3u);
  EXPECT_EQ(tally.most_frequent(1)[0].first, U'\u4E00');
}

TEST(UnknownTally, IsTheSameInAnyOrder) {
  const EncodedText one = encode_text(slow_view(), "\u4E00\u4E01 a");
  const EncodedText two = encode_text(slow_view(), "\u4E02 b \u4E01");
  UnknownTally forwards;
  forwards.add(one);
  forwards.add(two);
  UnknownTally backwards;
  backwards.add(two);
  backwards.add(one);
  EXPECT_EQ(forwards.warning(), backwards.warning());
  EXPECT_EQ(forwards.pieces(), one.ids.size() + two.ids.size());
}

}  // namespace
}  // namespace bigbird
