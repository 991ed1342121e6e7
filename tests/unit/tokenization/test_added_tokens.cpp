// Tokens that were added to a vocabulary, and what SentencePiece's trainer was told to define: the ids that
// transformers 4.57.1 gives for the same files (fast classes for byte-level BPE; both views of
// SentencePiece).
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/tokenization/added_tokens.h"
#include "lib/tokenization/byte_level_bpe.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using AddedJson = nlohmann::json;
using AddedIds = std::vector<std::uint32_t>;

AddedIds found_ids(const Tokenizer& tokenizer, const std::string& text) {
  AddedIds ids;
  std::vector<std::uint32_t> offsets;
  tokenizer.encode(text, ids, &offsets);
  AddedIds alone, of_ranges;
  std::vector<TextRange> ranges;
  tokenizer.encode(text, alone);
  tokenizer.encode_ranges(text, of_ranges, ranges);
  EXPECT_EQ(ids, alone) << text;
  EXPECT_EQ(ids, of_ranges) << text;
  EXPECT_EQ(offsets.size(), ids.size());
  EXPECT_EQ(ranges.size(), ids.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(offsets[i], ranges[i].begin) << text;
    EXPECT_LE(ranges[i].end, text.size());
    EXPECT_GE(ranges[i].begin, ranges[i == 0 ? 0 : i - 1].begin);
  }
  return ids;
}

// <s> 0, <pad> 1, </s> 2, <unk> 3, the bytes 4 to 259, ten merges 260 to 269, <mask> 270.
void write_byte_level(const testing::TemporaryFolder& folder) {
  const auto& byte = byte_level_characters();
  const std::string& blank = byte[' '];
  const std::vector<std::pair<std::string, std::string>> merges{
      {blank, "t"}, {"h", "e"},  {blank + "t", "he"}, {"l", "l"}, {"o", "w"},
      {"a", "a"},   {"aa", "a"}, {blank, blank},      {"'", "s"}, {byte[0xC3], byte[0xA9]}};
  AddedJson vocabulary = AddedJson::object();
  const auto add = [&](const std::string& piece) { vocabulary[piece] = vocabulary.size(); };
  for (const char* special : {"<s>", "<pad>", "</s>", "<unk>"}) add(special);
  for (const std::string& character : byte) add(character);
  std::string text = "#version: 0.2\n";
  for (const auto& [left, right] : merges) {
    add(left + right);
    text.append(left).append(" ").append(right).append("\n");
  }
  add("<mask>");
  testing::write_text(folder / "vocab.json", vocabulary.dump());
  testing::write_text(folder / "merges.txt", text);
}

AddedJson described(const char* content, bool normalized, const char* flag = nullptr) {
  AddedJson token = {{"content", content}, {"normalized", normalized}, {"special", false}};
  if (flag != nullptr) token[flag] = true;
  return token;
}

TEST(AddedTokens, OfAByteLevelVocabularyAreFoundByTheirFlags) {
  const testing::TemporaryFolder folder;
  write_byte_level(folder);
  AddedJson decoder = {{"271", described("TP53", true)},
                       {"272", described("TP5", false)},
                       {"273", described("lef", true, "lstrip")},
                       {"274", described("rig", true, "rstrip")},
                       {"275", described("one", true, "single_word")},
                       {"276", described("<gene>", false, "special")}};
  decoder["2"] = described("</s>", true, "special");
  const AddedJson config = {{"added_tokens_decoder", decoder}, {"additional_special_tokens", {"<gene>"}}};
  testing::write_text(folder / "tokenizer_config.json", config.dump());
  testing::write_text(folder / "added_tokens.json",
                      R"({"<gene>": 276, "TP5": 272, "TP53": 271, "lef": 273, "one": 275, "rig": 274})");
  const auto tokenizer = load_tokenizer(folder.path().string());
  EXPECT_EQ(tokenizer->vocab_size(), 277u);
  const std::vector<std::pair<const char*, AddedIds>> cases{
      {"the TP53 the", {120, 261, 36, 272, 55, 262}},
      {"theTP53the", {120, 261, 272, 55, 120, 261}},
      {"the lef the rig  the", {120, 261, 273, 262, 36, 274, 120, 261}},
      {"one the one, bone ones", {275, 262, 36, 275, 48, 36, 102, 115, 114, 105, 36, 115, 114, 105, 119}},
      {"<gene> the<gene>", {276, 262, 276}},
      {"lef rig", {273, 36, 274}},
      {"TP53TP5 TP53", {272, 55, 272, 36, 272, 55}},
      {"a  lef\tthe rig\nthe", {101, 273, 13, 120, 261, 36, 274, 120, 261}}};
  for (const auto& [text, ids] : cases) EXPECT_EQ(found_ids(*tokenizer, text), ids) << text;
  EXPECT_EQ(found_ids(*tokenizer, "</s>").size(), 4u) << "the name of a special piece is text";
  EXPECT_TRUE(tokenizer->is_special(276));
  EXPECT_FALSE(tokenizer->is_special(271));
  AddedIds named;
  tokenizer->encode_with_special_pieces("the TP5 <mask>", named);
  EXPECT_EQ(named, (AddedIds{120, 261, 36, 272, 270}));
}

TEST(AddedTokens, OfAddedTokensJsonAloneAndOfNamesWithoutIds) {
  const testing::TemporaryFolder folder;
  write_byte_level(folder);
  const auto before = load_tokenizer(folder.path().string());
  testing::write_text(folder / "added_tokens.json", R"({"TP53": 271})");
  testing::write_text(folder / "special_tokens_map.json",
                      R"({"additional_special_tokens": ["<gene>", "aa"]})");
  const auto tokenizer = load_tokenizer(folder.path().string());
  EXPECT_EQ(found_ids(*tokenizer, "the TP53<gene>"), (AddedIds{120, 261, 36, 271, 272}));
  EXPECT_EQ(found_ids(*tokenizer, "aaa"), (AddedIds{265, 101}))
      << "a piece that is called special is one piece";
  EXPECT_NE(tokenizer->digest(), before->digest());
}

// A vocabulary with what spm_train --user_defined_symbols leaves in it.
SentencePieceModel defined_symbols(ModelType type) {
  SentencePieceModel model;
  model.type = type;
  model.normalizer = "identity";
  model.remove_extra_whitespaces = false;
  model.pieces = {{"<pad>", 0, PieceType::control},       {"</s>", 0, PieceType::control},
                  {"<s>", 0, PieceType::control},         {"<unk>", 0, PieceType::unknown},
                  {"[CLS]", 0, PieceType::user_defined},  {"[SEP]", 0, PieceType::user_defined},
                  {"[MASK]", 0, PieceType::user_defined}, {"<URL>", 0, PieceType::user_defined},
                  {"<URL>x", 0, PieceType::user_defined}, {"<t>", 0, PieceType::user_defined}};
  const std::string sign = "\xE2\x96\x81";
  float score = -1.0f;
  for (const std::string& text :
       {sign, std::string("t"), std::string("h"), std::string("e"), std::string("a"), std::string("b"),
        std::string("U"), std::string("R"), std::string("L"), std::string("<"), std::string(">"),
        std::string("x"), std::string("th"), sign + "th", sign + "the", std::string("ab"),
        std::string("URL")}) {
    model.pieces.push_back({text, score -= 0.5f});
  }
  const std::size_t unused = model.pieces.size();
  model.pieces.push_back({"bb", -2, PieceType::unused});
  EXPECT_EQ(unused, 27u);
  return model;
}

std::unique_ptr<Tokenizer> load_symbols(ModelType type, const std::string& config) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "spiece.model", serialize_sentencepiece_model(defined_symbols(type)));
  if (!config.empty()) testing::write_text(folder / "tokenizer_config.json", config);
  return load_tokenizer(folder.path().string());
}

// As the library reads them; which folders it is asked for is load_tokenizer()'s matter.
std::unique_ptr<Tokenizer> library_symbols(ModelType type) {
  const SentencePieceModel model = defined_symbols(type);
  return make_sentencepiece_tokenizer(model, {0, 3, 4, 5, 6}, serialize_sentencepiece_model(model), "model");
}

TEST(DefinedSymbols, AreOnePieceInAnyContext) {
  const auto unigram = library_symbols(ModelType::unigram);
  EXPECT_EQ(found_ids(*unigram, "the <URL> the"), (AddedIds{24, 10, 7, 24}));
  EXPECT_EQ(found_ids(*unigram, "the<URL>the"), (AddedIds{24, 7, 11, 12, 13}));
  EXPECT_EQ(found_ids(*unigram, "<URL>x<URL>"), (AddedIds{10, 8, 7})) << "the longest first";
  EXPECT_EQ(found_ids(*unigram, "bb URL"), (AddedIds{10, 15, 15, 10, 26}));
  const auto bpe = library_symbols(ModelType::bpe);
  EXPECT_EQ(found_ids(*bpe, "the<URL>the"), (AddedIds{24, 7, 22, 13}));
  EXPECT_EQ(found_ids(*bpe, "  a <URL>"), (AddedIds{10, 10, 10, 14, 10, 7}));
  for (const Tokenizer* tokenizer : {unigram.get(), bpe.get()}) {
    for (const std::uint32_t id : found_ids(*tokenizer, "<t> a [SEP]"))
      EXPECT_NE(id, 9u) << "reserved names are text";
    EXPECT_FALSE(tokenizer->is_special(7));
    EXPECT_TRUE(tokenizer->is_special(9));
  }
}

TEST(DefinedSymbols, CutTheTextInTheFastView) {
  const auto fast = load_symbols(ModelType::unigram, R"({"tokenizer_class": "BigBirdTokenizerFast"})");
  EXPECT_EQ(found_ids(*fast, "the <URL> the"), (AddedIds{24, 7, 24}));
  EXPECT_EQ(found_ids(*fast, "the<URL>the"), (AddedIds{24, 7, 24}));
  EXPECT_EQ(found_ids(*fast, "  a <URL>"), (AddedIds{10, 14, 7}));
  EXPECT_EQ(found_ids(*fast, "<URL>x<URL>"), (AddedIds{8, 7}));
}

TEST(AddedTokens, OfASentencePieceVocabularyInBothViews) {
  const std::string added =
      R"("added_tokens_decoder": {"28": {"content": "TP53", "normalized": true, "special": false},
         "29": {"content": "<gene>", "normalized": false, "special": true}}})";
  const auto fast = load_symbols(ModelType::unigram, R"({"tokenizer_class": "BigBirdTokenizer", )" + added);
  EXPECT_EQ(fast->vocab_size(), 30u);
  EXPECT_NE(fast->digest(), load_symbols(ModelType::unigram, "")->digest());
  EXPECT_EQ(found_ids(*fast, "the TP53 ab"), (AddedIds{24, 10, 28, 10, 14, 15}));
  EXPECT_EQ(found_ids(*fast, "theTP53ab "), (AddedIds{24, 28, 10, 14, 15}));
  EXPECT_EQ(found_ids(*fast, "<gene>ab <gene>"), (AddedIds{29, 10, 14, 15, 29}));
  std::vector<std::string> pieces;
  for (const ModelPiece& piece : defined_symbols(ModelType::unigram).pieces) pieces.push_back(piece.text);
  AddedToken word, gene;
  word.text = "TP53";
  word.id = 28;
  word.normalized = true;
  gene.text = "<gene>";
  gene.id = 29;
  gene.special = true;
  pieces.insert(pieces.end(), {word.text, gene.text});
  const auto slow =
      with_added_tokens(library_symbols(ModelType::unigram), pieces, {word, gene}, {0, 3, 4, 5, 6}, "digest");
  EXPECT_EQ(found_ids(*slow, "the TP53 ab"), (AddedIds{24, 10, 28, 10, 10, 14, 15}));
  EXPECT_EQ(found_ids(*slow, "theTP53ab "), (AddedIds{24, 28, 10, 14, 15, 10}));
  EXPECT_EQ(found_ids(*slow, "<gene>ab <gene>"), (AddedIds{29, 10, 14, 15, 10, 29}));
}

TEST(AddedTokens, WithIdsThatAreNotTheirsAreRefused) {
  const auto expect_refusal = [](const std::string& added, const std::string& what) {
    const testing::TemporaryFolder folder;
    testing::write_text(folder / "spiece.model",
                        serialize_sentencepiece_model(defined_symbols(ModelType::bpe)));
    testing::write_text(folder / "added_tokens.json", added);
    try {
      load_tokenizer(folder.path().string());
      ADD_FAILURE() << added;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_NE(error.message().find("added_tokens.json"), std::string::npos) << error.message();
      EXPECT_NE(error.message().find(what), std::string::npos) << error.message();
    }
  };
  expect_refusal(R"({"new": 40})", "has id 40, but");
  expect_refusal(R"({"new": 11})", "has id 11, which is 't'");
  expect_refusal(R"({"new": -1})", "has no id below");
  expect_refusal("[]", "not a JSON object");
}

}  // namespace
}  // namespace bigbird
