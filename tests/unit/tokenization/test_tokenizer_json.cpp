// tokenizer.json: encoding by listed merges against the oracle, offsets through normalisation, patterns, and
// files that are broken or hold what is not understood.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/tokenization/bpe_encoder.h"
#include "lib/tokenization/text_steps.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_json.h"
#include "reference/tokenization.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;
using Json = nlohmann::json;

// GENA-LM's pipeline over ten pieces beside the special ones.
Json small_file() {
  return Json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id": 0, "content": "[UNK]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
      {"id": 1, "content": "[CLS]", "special": true}, {"id": 2, "content": "[SEP]", "special": true},
      {"id": 3, "content": "[PAD]", "special": true}, {"id": 4, "content": "[MASK]", "special": true},
      {"id": 5, "content": "-", "special": true}],
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Strip", "strip_left": true, "strip_right": true},
      {"type": "Replace", "pattern": {"Regex": "N{10,}"}, "content": "-"}]},
    "pre_tokenizer": {"type": "Split", "pattern": {"String": "-"}, "behavior": "Isolated", "invert": false},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
    "decoder": {"type": "BPEDecoder", "suffix": " "},
    "model": {"type": "BPE", "dropout": null, "unk_token": "[UNK]", "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": false,
      "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "[MASK]": 4, "-": 5, "A": 6, "C": 7, "G": 8, "N": 9,
                "R": 10, "T": 11, "AC": 12, "GT": 13, "ACGT": 14, "TT": 15},
      "merges": ["A C", "G T", "AC GT", "T T"]}})");
}

std::unique_ptr<Tokenizer> load(const Json& file) {
  const TemporaryFolder folder;
  testing::write_text(folder / "tokenizer.json", file.dump());
  return load_tokenizer(folder.path().string());
}

Error error_of(const std::string& bytes) {
  const TemporaryFolder folder;
  testing::write_text(folder / "tokenizer.json", bytes);
  try {
    load_tokenizer(folder.path().string());
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "loaded: " << bytes.substr(0, 300);
  return {ErrorKind::runtime, ""};
}

void expect_refused(const Json& file, const std::string& part) {
  const Error error = error_of(file.dump());
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_NE(error.message().find("tokenizer.json: "), std::string::npos) << error.message();
  EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
  EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
  EXPECT_FALSE(error.hint().empty());
}

TEST(JsonTokenizer, KnowsItsPiecesAndSpecialIds) {
  const auto tokenizer = load(small_file());
  EXPECT_EQ(tokenizer->vocab_size(), 16u);
  EXPECT_EQ(tokenizer->special(), (SpecialIds{3, 0, 1, 2, 4}));
  EXPECT_TRUE(tokenizer->is_dna());
  for (std::uint32_t id = 0; id < 16; ++id) {
    EXPECT_EQ(tokenizer->is_special(id), id < 6) << id;
    EXPECT_EQ(tokenizer->piece_length(id), id < 6 ? 0 : tokenizer->piece(id).size());
  }
  EXPECT_EQ(tokenizer->digest().size(), 64u);
}

TEST(JsonTokenizer, PlacesEveryIdInTheTextItWasGiven) {
  const auto tokenizer = load(small_file());
  const std::string run(12, 'N');
  const std::string text = "  ACGT" + run + "TT-A" + run + "\n";
  std::vector<std::uint32_t> ids{99};
  std::vector<std::uint32_t> begins{77};
  tokenizer->encode(text, ids, &begins);
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{99, 14, 5, 15, 5, 6, 5}));
  EXPECT_EQ(begins, (std::vector<std::uint32_t>{77, 2, 6, 18, 20, 21, 22}));
  std::vector<std::uint32_t> again{99};
  tokenizer->encode(text, again);
  EXPECT_EQ(again, ids);
}

TEST(JsonTokenizer, GivesOneUnknownForEveryCharacterThatIsNoPiece) {
  const auto tokenizer = load(small_file());
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> begins;
  tokenizer->encode("AxR\xC3\xA9\xFFT", ids, &begins);
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{6, 0, 10, 0, 0, 11}));
  EXPECT_EQ(begins, (std::vector<std::uint32_t>{0, 1, 2, 3, 5, 6}));
}

// Random lists of merges, of few and of many letters, in orders that no training gives.
TEST(BpeEncoder, EqualsTheOracleForListedMerges) {
  int irregular = 0;
  for (std::uint64_t index = 0; index < 600; ++index) {
    CounterRng rng(6, Purpose::test, index);
    const std::string alphabet = std::string("ACGTNacgt").substr(0, 2 + rng.below(8));
    std::vector<std::string> pieces;
    for (const char letter : alphabet) pieces.emplace_back(1, letter);
    std::vector<std::pair<std::string, std::string>> merges;
    for (std::int64_t i = rng.between(0, 25); i > 0; --i) {
      const std::pair<std::string, std::string> pair{pieces[rng.below(pieces.size())],
                                                     pieces[rng.below(pieces.size())]};
      if (std::find(merges.begin(), merges.end(), pair) != merges.end()) continue;
      merges.push_back(pair);
      const std::string made = pair.first + pair.second;
      if (std::find(pieces.begin(), pieces.end(), made) == pieces.end()) pieces.push_back(made);
    }
    if (index % 3 == 0) std::reverse(merges.begin(), merges.end());
    const auto number = [&](const std::string& piece) {
      return static_cast<std::uint32_t>(std::find(pieces.begin(), pieces.end(), piece) - pieces.begin());
    };
    std::vector<BpeMerge> listed;
    for (const auto& [left, right] : merges) {
      listed.push_back({number(left), number(right), number(left + right)});
    }
    const BpeEncoder encoder(pieces, listed);
    irregular += encoder.is_regular() ? 0 : 1;
    for (int round = 0; round < 20; ++round) {
      std::string text;
      for (std::int64_t i = rng.between(0, 60); i > 0; --i) text += alphabet[rng.below(alphabet.size())];
      std::vector<std::uint32_t> numbers;
      encoder.encode(text, numbers);
      std::vector<std::string> found;
      for (const std::uint32_t piece : numbers) found.push_back(pieces[piece]);
      ASSERT_EQ(found, reference::encode_bpe_merges(text, merges)) << text;
    }
  }
  EXPECT_GT(irregular, 100);
  EXPECT_LT(irregular, 500);
}

TEST(TextPattern, FindsRunsAndLiterals) {
  const auto find = [](const char* expression, const std::string& text) {
    const auto pattern = TextPattern::regular_expression(expression);
    EXPECT_TRUE(pattern) << expression;
    const auto match = pattern->find(text, 0);
    return match ? std::to_string(match->begin) + "-" + std::to_string(match->end) : "none";
  };
  EXPECT_EQ(find("N{3,}", "NNANNNNC"), "3-7");
  EXPECT_EQ(find("N{3}", "NNANNNNC"), "3-6");
  EXPECT_EQ(find("N{2,3}", "ANNNNC"), "1-4");
  EXPECT_EQ(find("N", "AANN"), "2-3");
  EXPECT_EQ(find("[^ACGT]+", "ACxy\xC3\xA9T"), "2-6");
  EXPECT_EQ(find("[a-c\\-]+", "xa-cd"), "1-4");
}

TEST(TextPattern, RefusesWhatItWouldReadWrongly) {
  for (const char* expression :
       {"",       "NN",    "N*",   "N?",     "N+?",         "(N)",   "N|A",        "^N", "N{0,}", "N{,3}",
        "N{3,2}", "N{3",   ".",    "\\d",    "\\w+",        "[",     "[]",         "[a", "[z-a]", "N\\A",
        "\\zN",   "[\\s]", "\xC3", "[a-c-]", "[[:alpha:]]", "\\AN$", "N{9999999}", "\\"}) {
    EXPECT_FALSE(TextPattern::regular_expression(expression)) << expression;
  }
}

TEST(LoadTokenizer, PrefersTokenizerJsonToSpieceModel) {
  const TemporaryFolder folder;
  testing::write_text(folder / "tokenizer.json", small_file().dump());
  EXPECT_EQ(load_tokenizer(folder.path().string())->vocab_size(), 16u);
  testing::write_text(folder / "spiece.model", "this is not a protobuf");
  EXPECT_EQ(load_tokenizer(folder.path().string())->vocab_size(), 16u);
  Json file = small_file();
  file["model"]["type"] = "WordLevel";
  testing::write_text(folder / "tokenizer.json", file.dump());
  EXPECT_THROW(load_tokenizer(folder.path().string()), Error);
  EXPECT_EQ(tokenizer_files(folder.path().string()),
            (std::vector<std::string>{"spiece.model", "tokenizer.json"}));
}

TEST(LoadTokenizer, ReadsNamesOfSpecialPiecesFromTheFilesBesideIt) {
  Json file = small_file();
  file["added_tokens"][3]["content"] = "<nothing>";
  file["model"]["vocab"].erase("[PAD]");
  file["model"]["vocab"]["<nothing>"] = 3;
  expect_refused(file, "[PAD]");
  const TemporaryFolder folder;
  testing::write_text(folder / "tokenizer.json", file.dump());
  testing::write_text(folder / "special_tokens_map.json", R"({"pad_token": "<nothing>"})");
  EXPECT_EQ(load_tokenizer(folder.path().string())->special().pad, 3u);
  testing::write_text(folder / "tokenizer_config.json", R"({"pad_token": {"content": "A"}})");
  EXPECT_EQ(load_tokenizer(folder.path().string())->special().pad, 6u);
}

TEST(TokenizerJsonErrors, NameWhatIsNotUnderstood) {
  const auto with = [](const char* pointer, const Json& value) {
    Json file = small_file();
    file[Json::json_pointer(pointer)] = value;
    return file;
  };
  expect_refused(with("/model/type", "WordLevel"), "model type WordLevel is not understood");
  expect_refused(with("/model/type", "WordLevel"), "model type WordLevel");
  expect_refused(with("/model/ignore_merges", true), "model.ignore_merges");
  expect_refused(with("/model/dropout", 0.1), "model.dropout");
  expect_refused(with("/model/continuing_subword_prefix", "##"), "continuing_subword_prefix");
  expect_refused(with("/model/end_of_word_suffix", "</w>"), "end_of_word_suffix");
  expect_refused(with("/normalizer", {{"type", "StripAccents"}}), "normalizer type StripAccents");
  expect_refused(
      with("/pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "last"}}),
      "prepend_scheme last");
  expect_refused(with("/normalizer/normalizers/1/pattern", {{"Regex", "N*"}}), "regular expression 'N*'");
  expect_refused(with("/pre_tokenizer", {{"type", "ByteLevel"}}), "pre_tokenizer type ByteLevel");
  expect_refused(with("/pre_tokenizer/behavior", "MergedWithNext"), "behavior MergedWithNext");
  expect_refused(with("/pre_tokenizer/invert", true), "pre_tokenizer.invert");
  expect_refused(with("/post_processor", {{"type", "RobertaProcessing"}}), "post_processor type Roberta");
  expect_refused(with("/model/merges/3", "\xC3\xA9 T"), "which is not a piece");
}

TEST(TokenizerJsonErrors, NameWhatContradictsItself) {
  const auto with = [](const char* pointer, const Json& value) {
    Json file = small_file();
    file[Json::json_pointer(pointer)] = value;
    return file;
  };
  expect_refused(with("/model/vocab/TT", 14), "id 14 is");
  expect_refused(with("/model/vocab/TT", 17), "no piece has id 15");
  expect_refused(with("/model/vocab/TT", 4'000'000'000u), "has no id below 16777216");
  expect_refused(with("/model/vocab/TT", 16'000'000), "has id 16000000 of 22 pieces");
  expect_refused(with("/model/vocab/TT", -1), "has no id");
  expect_refused(with("/model/vocab/TT", "x"), "has no id");
  expect_refused(with("/model/vocab", Json::object()), "holds no pieces");
  expect_refused(with("/model/vocab", 3), "holds no pieces");
  expect_refused(with("/model/merges/3", "T\nT"), "merge 4 is not a pair");
  expect_refused(with("/model/merges/3", "T G"), "needs 'TG', which is not a piece");
  expect_refused(with("/model/merges/3", "Q T"), "needs 'Q'");
  expect_refused(with("/model/merges/3", "A C"), "is there twice");
  expect_refused(with("/model/merges/3", Json::array({"T"})), "merge 4 is not a pair");
  expect_refused(with("/model/merges", "T T"), "model.merges is not a list");
  expect_refused(with("/model/unk_token", "<unk>"), "lacks the unknown piece '<unk>'");
  expect_refused(with("/model/unk_token", nullptr), "model.unk_token is not a string");
  expect_refused(with("/added_tokens/5/id", 6), "has id 6, and 5 in model.vocab");
  expect_refused(with("/added_tokens/5/content", ""), "empty token");
  expect_refused(with("/added_tokens/5/content", "[PAD]"), "is there twice");
  expect_refused(with("/added_tokens/5/special", 1), "neither true nor false");
  expect_refused(with("/added_tokens/5", Json{{"id", 12'000'000}, {"content", "<far>"}}),
                 "far beyond the others");
  expect_refused(with("/post_processor/cls", Json::array({"[CLS]", 2})), "another id");
  expect_refused(with("/post_processor/cls", Json::array({"a\nb", 2})), "'a\\nb'");
  expect_refused(with("/model", nullptr), "model is not an object");
  Json lacking = small_file();
  lacking.erase("model");
  expect_refused(lacking, "model is missing");
}

TEST(TokenizerJsonErrors, BrokenJsonAndDeepNestingAreOneLine) {
  EXPECT_NE(error_of("").message().find("not a JSON object"), std::string::npos);
  EXPECT_NE(error_of("[]").message().find("not a JSON object"), std::string::npos);
  EXPECT_NE(error_of("{\"model\": ").message().find("not a JSON object"), std::string::npos);
  EXPECT_NE(error_of(std::string(200'000, '[')).message().find("not a JSON object"), std::string::npos);
  const std::string closed = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_NE(error_of(closed).message().find("not a JSON object"), std::string::npos);
  Json nested = Json{{"type", "Strip"}};
  for (int i = 0; i < 30; ++i) nested = Json{{"type", "Sequence"}, {"normalizers", Json::array({nested})}};
  Json file = small_file();
  file["normalizer"] = nested;
  expect_refused(file, "nested too deeply");
}

}  // namespace
}  // namespace bigbird
