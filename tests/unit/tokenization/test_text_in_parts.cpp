// Long texts are encoded part by part: whatever the vocabulary and the size of parts, ids and places are
// those of the text as a whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/core/unicode.h"
#include "lib/tokenization/passing_characters.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"
#include "tests/support/sanitizer.h"
#include "tests/support/support.h"
#include "tests/unit/tokenization/random_vocabularies.h"

namespace bigbird {
namespace {

using testing::chain_letter;
using testing::chain_of;
using testing::PlacedId;
using testing::random_merges;
using testing::random_pieces;
using testing::random_text;
using testing::random_unigram;
using testing::RandomMerges;
using testing::Strings;

constexpr std::size_t whole_text = std::size_t{1} << 40;

std::vector<PlacedId> placed_ids(const Tokenizer& tokenizer, const std::string& text,
                                 std::size_t most = whole_text) {
  std::vector<PlacedId> pieces;
  tokenizer.for_each_piece(text, [&](std::uint32_t id, TextRange range) {
    pieces.emplace_back(id, range.begin, range.end);
    return pieces.size() < most;
  });
  return pieces;
}

// `parts` is a tokenizer that cuts, `whole` the same one that does not.
void expect_equal_pieces(const Tokenizer& parts, const Tokenizer& whole, const std::string& text) {
  const std::vector<PlacedId> expected = placed_ids(whole, text);
  ASSERT_EQ(placed_ids(parts, text), expected) << text;
  const std::size_t half = expected.size() / 2;
  if (half > 0) {
    const std::vector<PlacedId> first(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(half));
    ASSERT_EQ(placed_ids(parts, text, half), first) << text;
  }
  std::vector<std::uint32_t> ids, all;
  parts.encode(text, ids);
  whole.encode(text, all);
  ASSERT_EQ(ids, all) << text;
}

const std::string word_sign = "\u2581";

SentencePieceModel random_model(CounterRng& rng, ModelType type, bool byte_fallback) {
  SentencePieceModel model;
  model.type = type;
  model.normalizer = "identity";
  model.byte_fallback = byte_fallback;
  model.pieces = {{"<unk>", 0, PieceType::unknown}, {"<s>", 0, PieceType::control}};
  if (byte_fallback) {
    for (int byte = 0; byte < 256; ++byte) {
      constexpr const char* digits = "0123456789ABCDEF";
      model.pieces.push_back(
          {std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">", 0, PieceType::byte});
    }
  }
  const std::size_t letters = 1 + rng.below(4);
  Strings alphabet{word_sign};
  for (std::size_t i = 0; i < letters; ++i) alphabet.push_back(std::string(1, static_cast<char>('a' + i)));
  for (const std::string& piece : random_pieces(rng, alphabet, rng.below(24))) {
    // Some scores are equal.
    const auto score = -static_cast<float>(rng.below(2) == 0 ? model.pieces.size() : rng.below(6));
    model.pieces.push_back({piece, score});
  }
  return model;
}

const Strings& library_bits() {
  static const Strings bits{"a",  "b",  "c",       "ab", "ba",     "aaa",    " ",          " ",
                            "  ", "\n", word_sign, "x",  "\u00E9", "\u4F60", "\U0001F600", "e\u0301"};
  return bits;
}

TEST(TextInParts, TheLibrarysModelsGiveTheIdsOfTheWholeText) {
  for (std::uint64_t round = 0; round < (testing::under_sanitizer ? 24 : 72); ++round) {
    CounterRng rng(47, Purpose::test, round);
    const ModelType type = round % 6 == 4   ? ModelType::word
                           : round % 6 == 5 ? ModelType::character
                                            : ModelType::bpe;
    const bool byte_fallback = round % 3 == 2;
    const SentencePieceModel model = random_model(rng, type, byte_fallback);
    const std::string bytes = serialize_sentencepiece_model(model);
    const SpecialIds special{0, 0, 1, 1, 1};
    const auto whole = make_sentencepiece_tokenizer(model, special, bytes, "model", whole_text);
    for (const std::size_t part : {1U, 3U, 16U}) {
      const auto parts = make_sentencepiece_tokenizer(model, special, bytes, "model", part);
      expect_equal_pieces(*parts, *whole, random_text(rng, library_bits(), 400));
      expect_equal_pieces(*parts, *whole, random_text(rng, {"a", "b", "ab"}, 3000));
      expect_equal_pieces(*parts, *whole, std::string(1000, 'a') + "  " + std::string(2000, 'b'));
      expect_equal_pieces(*parts, *whole, "  a" + std::string(200, ' ') + "\u00E9\u00E9\u00E9  a   ");
    }
  }
}

// Words have places of their own, merged pieces go over words: as a whole where a cut is not certain.
TEST(TextInParts, LibraryModelsThatCannotBeCutAreLeftWhole) {
  CounterRng rng(48, Purpose::test, 0);
  for (int kind = 0; kind < 4; ++kind) {
    SentencePieceModel model = random_model(rng, ModelType::bpe, false);
    if (kind == 0) model.pieces.push_back({"bab", -1, PieceType::user_defined});
    if (kind == 1) model.pieces.back().type = PieceType::unused;
    if (kind == 2) model.remove_extra_whitespaces = false;
    if (kind == 3) model.add_dummy_prefix = false;
    const std::string bytes = serialize_sentencepiece_model(model);
    const SpecialIds special{0, 0, 1, 1, 1};
    const auto whole = make_sentencepiece_tokenizer(model, special, bytes, "model", whole_text);
    const auto parts = make_sentencepiece_tokenizer(model, special, bytes, "model", 2);
    for (int i = 0; i < 20; ++i) expect_equal_pieces(*parts, *whole, random_text(rng, library_bits(), 300));
  }
}

TEST(TextInParts, AChainThatItsLastLetterDecidesIsNotCut) {
  constexpr std::size_t letters = 500;
  const RandomMerges chain = chain_of(letters);
  TokenizerJson definition;
  definition.pieces = chain.pieces;
  definition.merges = chain.merges;
  const PieceTable table = subword_pieces(definition);
  const SpecialIds none{0, 0, 0, 0, 0};
  SentencePieceModel model;
  model.type = ModelType::bpe;
  model.normalizer = "identity";
  model.pieces = {{"<unk>", 0, PieceType::unknown}, {word_sign, -1}};
  for (std::size_t i = 1; i < chain.pieces.size(); ++i)
    model.pieces.push_back({chain.pieces[i], -static_cast<float>(i)});
  const std::string bytes = serialize_sentencepiece_model(model);
  const auto whole = make_subword_tokenizer(definition, none, table, "", "model", whole_text);
  const auto whole_library = make_sentencepiece_tokenizer(model, none, bytes, "model", whole_text);
  for (const std::size_t part : {8U, 50U, 300U}) {
    const auto parts = make_subword_tokenizer(definition, none, table, "", "model", part);
    const auto library = make_sentencepiece_tokenizer(model, none, bytes, "model", part);
    for (const std::size_t last : {0U, 1U, 40U, 41U}) {
      std::string text;
      for (std::size_t i = letters; i-- > last;) text += chain_letter(i);
      expect_equal_pieces(*parts, *whole, text);
      expect_equal_pieces(*library, *whole_library, text);
    }
  }
}

TEST(TextInParts, ByteLevelBpeGivesTheIdsOfTheWholeText) {
  for (std::uint64_t round = 0; round < (testing::under_sanitizer ? 12 : 40); ++round) {
    CounterRng rng(51, Purpose::test, round);
    ByteLevelDefinition definition;
    const RandomMerges random = random_merges(rng, {"a", "b", "\u0120"}, rng.below(16));
    definition.pieces = random.pieces;
    definition.merges = random.merges;
    definition.add_prefix_space = round % 2 == 0;
    definition.trim_offsets = round % 3 != 0;
    const SpecialIds special{0, 0, 0, 0, 0};
    const auto whole = make_byte_level_tokenizer(definition, special, "", whole_text);
    const std::string text = random_text(rng, {"a", "b", "ab", "aaaa", " ", "\n", "\u00E9", "7"}, 3000);
    for (const std::size_t part : {1U, 7U, 64U}) {
      const auto parts = make_byte_level_tokenizer(definition, special, "", part);
      expect_equal_pieces(*parts, *whole, text);
      expect_equal_pieces(*parts, *whole, random_text(rng, {"a", "b"}, 3000));
      expect_equal_pieces(*parts, *whole, std::string(3000, ' ') + "a");
    }
  }
}

NormalizerStep replacing(TextPattern pattern, std::string content) {
  NormalizerStep step;
  step.kind = NormalizerStep::Kind::replace;
  step.pattern = std::move(pattern);
  step.content = std::move(content);
  return step;
}

NormalizerStep plain_step(NormalizerStep::Kind kind) {
  NormalizerStep step;
  step.kind = kind;
  if (kind == NormalizerStep::Kind::strip) step.strip_left = step.strip_right = true;
  if (kind == NormalizerStep::Kind::prepend) step.content = word_sign;
  return step;
}

std::vector<NormalizerStep> random_normalizer(CounterRng& rng) {
  using Kind = NormalizerStep::Kind;
  const auto expression = [](const char* text) { return *TextPattern::regular_expression(text); };
  const std::vector<NormalizerStep> all{plain_step(Kind::strip),
                                        plain_step(Kind::lower),
                                        plain_step(Kind::nfc),
                                        plain_step(Kind::nfd),
                                        plain_step(Kind::nfkc),
                                        plain_step(Kind::nfkd),
                                        plain_step(Kind::prepend),
                                        replacing(expression(" {2,}"), " "),
                                        replacing(expression("\\A[ b]+"), ""),
                                        replacing(expression("[c ]+\\z"), "a"),
                                        replacing(TextPattern::literal("bc"), "cb"),
                                        replacing(TextPattern::literal(" "), word_sign),
                                        replacing(TextPattern::literal("\u00E9"), "e")};
  std::vector<NormalizerStep> steps;
  for (std::uint64_t i = rng.below(4); i > 0; --i) steps.push_back(all[rng.below(all.size())]);
  return steps;
}

std::vector<SplitStep> random_splits(CounterRng& rng) {
  std::vector<SplitStep> steps;
  if (rng.below(3) == 0) {
    SplitStep step;
    step.pattern = *TextPattern::regular_expression(rng.below(2) == 0 ? "[bd]+" : "d");
    step.keep_matches = rng.below(2) == 0;
    steps.push_back(step);
  }
  if (rng.below(2) == 0) {
    SplitStep step;
    step.kind = SplitStep::Kind::white_space;
    steps.push_back(step);
  }
  if (rng.below(3) > 0) {
    SplitStep step;
    step.kind = SplitStep::Kind::metaspace;
    step.sign = word_sign;
    step.prepend = prepend_names[rng.below(prepend_names.size())].first;
    step.cuts = rng.below(3) > 0;
    steps.push_back(step);
  }
  return steps;
}

TokenizerJson random_definition(CounterRng& rng) {
  TokenizerJson definition;
  definition.unknown = 0;
  const Strings alphabet{"a", "b", "c", word_sign, "e", "\u00E9"};
  if (rng.below(2) == 0) {
    definition.model = SubwordModel::unigram;
    definition.pieces = random_pieces(rng, alphabet, rng.below(24));
    definition.pieces.insert(definition.pieces.begin(), "<unk>");
    definition.scores.assign(definition.pieces.size(), -3);
    definition.pieces.erase(definition.pieces.begin());
    for (const UnigramPiece& piece : random_unigram(rng, definition.pieces))
      definition.scores[piece.id] = piece.score;
    definition.pieces.insert(definition.pieces.begin(), "<unk>");
  } else {
    const RandomMerges random = random_merges(rng, alphabet, rng.below(24));
    definition.pieces = random.pieces;
    definition.merges = random.merges;
    definition.fuse_unknown = rng.below(2) == 0;
  }
  definition.normalizer = random_normalizer(rng);
  definition.splits = random_splits(rng);
  for (const char* text : {"abba", "d d", "\u4F60\u4F60"}) {
    if (rng.below(3) > 0) continue;
    AddedToken token;
    token.text = text;
    token.id = static_cast<std::uint32_t>(definition.pieces.size());
    token.normalized = rng.below(2) == 0;
    token.single_word = rng.below(3) == 0;
    token.strips_left = rng.below(3) == 0;
    token.strips_right = rng.below(3) == 0;
    definition.pieces.emplace_back(text);
    definition.added.push_back(token);
    if (definition.model == SubwordModel::unigram) definition.scores.push_back(-1);
  }
  if (rng.below(3) == 0) {
    definition.byte_fallback = true;
    for (int byte = 0; byte < 256; ++byte) {
      constexpr const char* digits = "0123456789ABCDEF";
      definition.pieces.push_back(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">");
      if (definition.model == SubwordModel::unigram) definition.scores.push_back(-2);
    }
  }
  return definition;
}

// Marks, joiners, flags, syllables and their parts, white space of all kinds, capital letters.
const Strings& mixed_bits() {
  static const Strings bits{"a",
                            "b",
                            "c",
                            "d",
                            "ab",
                            "aaaa",
                            "cccc",
                            " ",
                            "  ",
                            "\n",
                            "\u3000",
                            word_sign,
                            "A",
                            "AAAA",
                            "\u00E9",
                            "e\u0301",
                            "\u0301",
                            "\u4F60",
                            "\u4F60\u597D\u4F60\u597D",
                            "\uFB01",
                            "\u1100\u1161",
                            "\uAC00",
                            "\uAC01\u11A8",
                            "\U0001F600",
                            "\u200D",
                            "\U0001F1E6",
                            "\u00C5",
                            "\u212B",
                            "\u0130",
                            "\u03A3"};
  return bits;
}

TEST(TextInParts, TokenizersOfStepsGiveTheIdsOfTheWholeText) {
  for (std::uint64_t round = 0; round < (testing::under_sanitizer ? 60 : 300); ++round) {
    CounterRng rng(52, Purpose::test, round);
    const TokenizerJson definition = random_definition(rng);
    const SpecialIds special{0, 0, 0, 0, 0};
    const auto make = [&](std::size_t part) {
      return make_subword_tokenizer(definition, special, subword_pieces(definition), "", "model", part);
    };
    const auto whole = make(whole_text);
    for (const std::size_t part : {1U, 5U, 40U}) {
      const auto parts = make(part);
      expect_equal_pieces(*parts, *whole, random_text(rng, mixed_bits(), 400));
      expect_equal_pieces(*parts, *whole, random_text(rng, {"a", "b", "ab", "aaa", "\u4F60", "x"}, 800));
      if (HasFatalFailure()) FAIL() << "round " << round << ", parts of " << part;
    }
  }
}

// A vocabulary with a table of characters, as the published one has it.
TEST(TextInParts, APublishedLayoutGivesTheIdsOfTheWholeText) {
  const std::string bytes =
      testing::read_text(testing::source_dir() / "tests" / "golden" / "tokenizer_google_layout.model");
  const SentencePieceModel model = parse_sentencepiece_model(bytes, "model");
  const SpecialIds special{0, 100, 65, 66, 67};
  for (const ConvertedClass converted : {ConvertedClass::bigbird, ConvertedClass::pegasus}) {
    const TokenizerJson definition = converted_definition(model, special, converted, "model");
    const auto whole =
        make_subword_tokenizer(definition, special, piece_table(model), "", "model", whole_text);
    for (std::uint64_t round = 0; round < 60; ++round) {
      CounterRng rng(53, Purpose::test, round);
      const std::size_t part = 1 + rng.below(64);
      const auto parts = make_subword_tokenizer(definition, special, piece_table(model), "", "model", part);
      Strings bits = mixed_bits();
      for (const char* more : {"The ", "paper ", "tokens", "sat on", "the mat. ", "unhappiness", "[MASK]"})
        bits.emplace_back(more);
      expect_equal_pieces(*parts, *whole, random_text(rng, bits, 2000));
    }
  }
}

TEST(TextInParts, CharactersThatAStepLooksForDoNotPass) {
  std::vector<NormalizerStep> steps{replacing(TextPattern::literal("xy"), "z"),
                                    plain_step(NormalizerStep::Kind::nfkc)};
  AddedToken token;
  token.text = "qq";
  const PassingCharacters passing(steps, {}, {token});
  for (const char32_t c : U"abzAZ019.\u4F60\uAC00\U0001F600") {
    EXPECT_TRUE(c == 0 || passing.passes(c)) << static_cast<std::uint32_t>(c);
  }
  for (const char32_t c : U"xyq \n\u00A0\u0301\u200D\u1161\u11A8\U0001F1E6") {
    EXPECT_FALSE(passing.passes(c)) << static_cast<std::uint32_t>(c);
  }
  EXPECT_FALSE(passing.passes(U'\uFB01')) << "becomes two characters";
  EXPECT_EQ(passing.find_cut("abcdefg", 1), std::size_t{3});
  EXPECT_EQ(passing.find_cut("abc xabc abcd", 1), std::size_t{11});
  EXPECT_FALSE(passing.find_cut("abc abc abc", 1));
}

// A stop is looked for between the parts of a text, and a text of one unknown character in millions of places
// is one piece (SentencePiece alone takes the square of its length).
TEST(TextInParts, AStopEndsALongText) {
  CounterRng rng(54, Purpose::test, 0);
  const SentencePieceModel model = random_model(rng, ModelType::bpe, false);
  const std::string bytes = serialize_sentencepiece_model(model);
  const SpecialIds special{0, 0, 1, 1, 1};
  const auto library = make_sentencepiece_tokenizer(model, special, bytes, "model");
  TokenizerJson definition;
  definition.pieces = {"<unk>", "a", "aa"};
  definition.merges = {{1, 1, 2}};
  const auto steps =
      make_subword_tokenizer(definition, {0, 0, 0, 0, 0}, subword_pieces(definition), "", "model");
  ByteLevelDefinition byte_level;
  byte_level.pieces = definition.pieces;
  byte_level.merges = definition.merges;
  const auto bytes_first = make_byte_level_tokenizer(byte_level, {0, 0, 0, 0, 0}, "");
  const std::string text(200000, 'a');
  for (const Tokenizer* tokenizer : {library.get(), steps.get(), bytes_first.get()}) {
    std::vector<std::uint32_t> ids;
    request_cancel(15);
    EXPECT_THROW(tokenizer->encode(text, ids), Error);
    clear_cancel();
    EXPECT_NO_THROW(tokenizer->encode(text, ids));
  }
  std::string unknown;
  for (int i = 0; i < 700000; ++i) unknown += "\u4F60";
  EXPECT_LE(placed_ids(*library, unknown).size(), 2u);
}

TEST(EncodeTextBegin, StopsInALongTextWithoutWords) {
  CounterRng rng(55, Purpose::test, 0);
  const SentencePieceModel model = random_model(rng, ModelType::bpe, false);
  const auto tokenizer =
      make_sentencepiece_tokenizer(model, {0, 0, 1, 1, 1}, serialize_sentencepiece_model(model), "model");
  const std::string text = random_text(rng, {"a", "b"}, std::size_t{1} << 20 | 1);
  const EncodedText whole = encode_text(*tokenizer, text);
  for (const std::size_t least : {std::size_t{1}, std::size_t{100}, whole.ids.size(), whole.ids.size() + 1}) {
    const EncodedText begin = encode_text_begin(*tokenizer, text, {}, least);
    ASSERT_EQ(begin.ids.size(), std::min(least, whole.ids.size()));
    EXPECT_EQ(begin.whole, least >= whole.ids.size());
    EXPECT_TRUE(std::equal(begin.ids.begin(), begin.ids.end(), whole.ids.begin()));
    EXPECT_TRUE(std::equal(begin.byte_end.begin(), begin.byte_end.end(), whole.byte_end.begin()));
    std::vector<std::uint32_t> ids{7};
    EXPECT_EQ(encode_begin(*tokenizer, text, least, ids), begin.whole);
    ASSERT_EQ(ids.size(), begin.ids.size() + 1);
    EXPECT_TRUE(std::equal(begin.ids.begin(), begin.ids.end(), ids.begin() + 1));
  }
}

TEST(EncodeIds, AreThoseOfEncodeTextWithTheSameUnknownCharacters) {
  CounterRng rng(56, Purpose::test, 0);
  for (int round = 0; round < 20; ++round) {
    const SentencePieceModel model = random_model(rng, ModelType::bpe, round % 2 == 1);
    const auto tokenizer =
        make_sentencepiece_tokenizer(model, {0, 0, 1, 1, 1}, serialize_sentencepiece_model(model), "model");
    const std::string text = random_text(rng, library_bits(), 300);
    for (const bool ascii : {false, true}) {
      const TextEncodingOptions options{WhiteSpace::fold, ascii};
      const EncodedText all = encode_text(*tokenizer, text, options);
      const EncodedText ids = encode_ids(*tokenizer, text, options);
      EXPECT_EQ(ids.ids, all.ids);
      EXPECT_EQ(ids.unknown_pieces, all.unknown_pieces);
      EXPECT_EQ(ids.unknown_characters, all.unknown_characters);
      EXPECT_TRUE(ids.begin.empty());
    }
  }
}

}  // namespace
}  // namespace bigbird
