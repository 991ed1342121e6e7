// tokenizer.json of text: read as the tokenizers package reads it (tests/peers/make_tokenizer_json.py), and
// written so that it alone, without the files that it was made of, gives the same ids and places.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/rng.h"
#include "lib/core/unicode.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/tokenization/byte_level_bpe.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/text_steps.h"
#include "lib/tokenization/text_vocabulary.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_folder.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;
using FolderJson = nlohmann::ordered_json;

constexpr TextEncodingOptions unfolded{WhiteSpace::keep, false};

FolderJson golden_tokenizers() {
  return FolderJson::parse(
      testing::read_text(testing::source_dir() / "tests" / "golden" / "tokenizer_json_text.json"));
}

FolderJson read_json_file(const std::filesystem::path& path) {
  return FolderJson::parse(testing::read_text(path));
}

void expect_same(const Tokenizer& tokenizer, const FolderJson& line, const std::string& name) {
  const std::string text = line["text"].get<std::string>();
  const EncodedText found = encode_text(tokenizer, text, unfolded);
  EXPECT_EQ(FolderJson(found.ids), line["ids"]) << name << ": " << line["text"].dump();
  FolderJson offsets = FolderJson::array();
  for (std::size_t i = 0; i < found.ids.size(); ++i) {
    offsets.push_back(FolderJson::array({found.begin[i], found.end[i]}));
  }
  EXPECT_EQ(offsets, line["offsets"]) << name << ": " << line["text"].dump();
}

// Texts of everything that steps look at: blanks of many kinds, word signs, letters with marks, names of
// bytes.
std::string odd_text(CounterRng& random) {
  static const std::vector<std::string> parts{"the",
                                              "cat",
                                              " ",
                                              "  ",
                                              "   ",
                                              "\n",
                                              "\t",
                                              "\xC2\xA0",
                                              "a",
                                              "T",
                                              "\xC3\xA9",
                                              "e\xCC\x81",
                                              "\xE2\x96\x81",
                                              "\xE4\xBD\xA0",
                                              "\xF0\x9F\x98\x80",
                                              "<0x41>",
                                              "\x1c",
                                              "-",
                                              "\xE2\x80\xA6",
                                              "\xE3\x80\x80",
                                              "sat",
                                              "tt",
                                              "'s",
                                              "\xE2\x80\x9C"};
  std::string text;
  for (std::uint64_t i = random.below(9); i > 0; --i) text += parts[random.below(parts.size())];
  return text;
}

// The files of `from` without what tokenizer.json was made of, and without the note that says so.
std::unique_ptr<Tokenizer> json_alone(const std::filesystem::path& from) {
  const TemporaryFolder alone;
  FolderJson config = read_json_file(from / "tokenizer_config.json");
  config.erase("bigbird");
  testing::write_text(alone / "tokenizer_config.json", config.dump());
  testing::write_text(alone / "tokenizer.json", testing::read_text(from / "tokenizer.json"));
  return load_tokenizer(alone.path().string());
}

void expect_equal_on_odd_texts(const Tokenizer& files, const Tokenizer& json,
                               const TextEncodingOptions& first) {
  EXPECT_EQ(json.vocab_size(), files.vocab_size());
  EXPECT_EQ(json.special(), files.special());
  CounterRng random(7, Purpose::test, 0);
  for (int round = 0; round < 3000; ++round) {
    const std::string text = odd_text(random);
    const EncodedText expected = encode_text(files, text, first);
    const EncodedText found = encode_text(json, text, unfolded);
    ASSERT_EQ(found.ids, expected.ids) << FolderJson(text).dump();
  }
}

std::string google_model() {
  return testing::read_text(testing::source_dir() / "tests" / "golden" / "tokenizer_google_layout.model");
}

void train_words(const std::filesystem::path& folder, bool bytes) {
  TextVocabularyOptions options;
  options.output = folder.string();
  options.vocab_size = bytes ? 480 : 220;
  options.byte_fallback = bytes;
  int line = 0;
  train_text_vocabulary(
      [&](std::string_view& text) {
        text =
            line % 2 == 0 ? "the cat sat on the mat - caf\xC3\xA9" : "that tattered hat's the cheetah's tea";
        return ++line < 60;
      },
      options);
}

TEST(TokenizerJsonOfText, IsReadAsTheTokenizersPackageReadsIt) {
  const FolderJson golden = golden_tokenizers();
  for (const auto& [name, tokenizer] : golden.items()) {
    const TemporaryFolder folder;
    testing::write_text(folder / "tokenizer.json", tokenizer["file"].dump());
    const auto loaded = load_tokenizer(folder.path().string());
    ASSERT_GT(tokenizer["lines"].size(), 20u);
    for (const FolderJson& line : tokenizer["lines"]) expect_same(*loaded, line, name);
  }
}

TEST(TokenizerJsonOfText, NamesOfSpecialPiecesAreTextAndAddedTokensAreFound) {
  const TemporaryFolder folder;
  testing::write_text(folder / "tokenizer.json", golden_tokenizers()["bigbird"]["file"].dump());
  const auto tokenizer = load_tokenizer(folder.path().string());
  for (const std::uint32_t id : encode_text(*tokenizer, "[SEP]the[MASK]</s>", unfolded).ids) {
    EXPECT_NE(id, tokenizer->special().sep);
    EXPECT_NE(id, tokenizer->special().mask);
  }
  std::vector<std::uint32_t> ids;
  tokenizer->encode_with_special_pieces("the [MASK]", ids);
  EXPECT_EQ(ids.back(), tokenizer->special().mask);
  EXPECT_EQ(tokenizer->piece(encode_text(*tokenizer, "<n>", unfolded).ids.at(0)), "<n>");
}

TEST(TokenizerJsonOfText, RefusesWhatContradictsItself) {
  const auto refused = [](const char* pointer, const FolderJson& value, const std::string& part) {
    FolderJson file = golden_tokenizers()["bigbird"]["file"];
    file[FolderJson::json_pointer(pointer)] = value;
    const TemporaryFolder folder;
    testing::write_text(folder / "tokenizer.json", file.dump());
    try {
      load_tokenizer(folder.path().string());
      ADD_FAILURE() << part;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
    }
  };
  refused("/model/vocab/7/0", "", "piece 7 is empty");
  refused("/model/vocab/7", "the", "entry 7 is not a piece and a score");
  refused("/model/vocab/7/1", 1e300, "score that is not a number");
  refused("/model/vocab", FolderJson::object(), "holds no pieces");
  refused("/model/unk_id", 4000, "unk_id is not a piece");
  refused("/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "!"}}, "is not base64");
  refused("/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "AAECAw=="}},
          "table of characters");
  refused("/normalizer", {{"type", "Nmt"}}, "normalizer type Nmt is not understood");
  refused("/pre_tokenizer", {{"type", "Digits"}}, "pre_tokenizer type Digits");
}

TEST(TokenizerFolder, AVocabularyOfTextIsTheSameByItsTokenizerJsonAlone) {
  for (const bool bytes : {false, true}) {
    const TemporaryFolder folder;
    train_words(folder / "words", bytes);
    const auto files = load_tokenizer((folder / "words").string());
    EXPECT_EQ(files->digest(), sha256_bytes(testing::read_text(folder / "words" / "spiece.model")));
    expect_equal_on_odd_texts(*files, *json_alone(folder / "words"), unfolded);
    const FolderJson config = read_json_file(folder / "words" / "tokenizer_config.json");
    EXPECT_EQ(config["tokenizer_class"], "PreTrainedTokenizerFast");
    EXPECT_EQ(config["bigbird"][repeats_key],
              sha256_bytes(testing::read_text(folder / "words" / "tokenizer.json")));
  }
}

TEST(TokenizerFolder, AUnigramModelIsTheSameByItsTokenizerJsonAlone) {
  const TemporaryFolder from, to;
  testing::write_text(from / "spiece.model", google_model());
  testing::write_text(from / "tokenizer_config.json",
                      R"({"tokenizer_class": "BigBirdTokenizer", "model_max_length": 512, "kept": 1})");
  write_tokenizer_files(from.path().string(), to.path().string(), {.positions = 4096});
  const auto files = load_tokenizer(from.path().string());
  expect_equal_on_odd_texts(*files, *json_alone(to.path()), unfolded);
  EXPECT_EQ(load_tokenizer(to.path().string())->digest(), files->digest());
  const FolderJson config = read_json_file(to / "tokenizer_config.json");
  EXPECT_EQ(config["model_max_length"], 4096);
  EXPECT_EQ(config["kept"], 1);
  EXPECT_EQ(config["mask_token"], "[MASK]");
  EXPECT_EQ(config["model_input_names"], FolderJson::array({"input_ids", "attention_mask"}));
  const FolderJson file = read_json_file(to / "tokenizer.json");
  EXPECT_EQ(file["post_processor"]["single"][0]["SpecialToken"]["id"], "[CLS]");
}

TEST(TokenizerFolder, FoldingGoesIntoTheTokenizerJsonOnce) {
  const TemporaryFolder from, to, again;
  testing::write_text(from / "spiece.model", google_model());
  const TextEncodingOptions folding{WhiteSpace::fold, true};
  write_tokenizer_files(from.path().string(), to.path().string(), {.encoding = folding});
  const auto files = load_tokenizer(from.path().string());
  expect_equal_on_odd_texts(*files, *json_alone(to.path()), folding);
  write_tokenizer_files(to.path().string(), again.path().string(), {.encoding = folding});
  EXPECT_EQ(testing::read_text(to / "tokenizer.json"), testing::read_text(again / "tokenizer.json"));
}

TEST(TokenizerFolder, ADnaVocabularyIsTheSameByItsTokenizerJsonAlone) {
  const TemporaryFolder from, to;
  testing::write_text(
      from / "spiece.model",
      serialize_sentencepiece_model(make_dna_model(
          {"AA", "AC", "TT", "AAAA", "ACA", "GT", "AAAAA", "TTT", "GTT", "ACAC", "CC", "NN"}, 16)));
  write_tokenizer_files(from.path().string(), to.path().string());
  const auto files = load_tokenizer(from.path().string());
  const auto json = json_alone(to.path());
  EXPECT_TRUE(json->is_dna());
  CounterRng random(3, Purpose::test, 0);
  for (int round = 0; round < 2000; ++round) {
    std::string bases, small;
    for (std::uint64_t i = random.below(40); i > 0; --i) {
      bases += "AAACCGTTTN"[random.below(10)];
      small += static_cast<char>(bases.back() | 0x20);
    }
    std::vector<std::uint32_t> expected, found, of_small;
    files->encode(bases, expected);
    json->encode(bases, found);
    json->encode(small, of_small);
    ASSERT_EQ(found, expected) << bases;
    ASSERT_EQ(of_small, expected) << small;
  }
}

TEST(TokenizerFolder, AByteLevelTokenizerIsTheSameByItsTokenizerJsonAlone) {
  const TemporaryFolder from, to;
  const char* const blank = "\xC4\xA0";
  FolderJson vocabulary = FolderJson::object();
  for (const char* piece : {"<s>", "<pad>", "</s>", "<unk>"}) vocabulary[piece] = vocabulary.size();
  for (const std::string& piece : byte_level_characters()) vocabulary[piece] = vocabulary.size();
  for (const std::string piece : {"th", "the", "at"}) vocabulary[piece] = vocabulary.size();
  for (const std::string piece : {"c", "t", "the"}) vocabulary[blank + piece] = vocabulary.size();
  vocabulary["<mask>"] = vocabulary.size();
  testing::write_text(from / "vocab.json", vocabulary.dump());
  testing::write_text(from / "merges.txt", "#version: 0.2\nt h\nth e\na t\n" + (blank + std::string(" c\n")) +
                                               blank + " t\n" + blank + " the\n");
  testing::write_text(from / "tokenizer_config.json", R"({"model_max_length": 512})");
  write_tokenizer_files(from.path().string(), to.path().string(), {.positions = 4096});
  const auto files = load_tokenizer(from.path().string());
  EXPECT_EQ(load_tokenizer(to.path().string())->digest(), files->digest());
  const auto json = json_alone(to.path());
  expect_equal_on_odd_texts(*files, *json, unfolded);
  const FolderJson config = read_json_file(to / "tokenizer_config.json");
  EXPECT_EQ(config["tokenizer_class"], "PreTrainedTokenizerFast");
  EXPECT_EQ(config["mask_token"], "<mask>");
  EXPECT_EQ(config["cls_token"], "<s>");
  EXPECT_EQ(config["model_max_length"], 4096);
  // Of a folder that holds nothing else it is the only file, and is copied.
  const TemporaryFolder only, copied;
  testing::write_text(only / "tokenizer.json", testing::read_text(to / "tokenizer.json"));
  write_tokenizer_files(only.path().string(), copied.path().string());
  EXPECT_EQ(testing::read_text(copied / "tokenizer.json"), testing::read_text(only / "tokenizer.json"));
  EXPECT_EQ(read_json_file(copied / "tokenizer_config.json")["mask_token"], "<mask>");
}

// generate_merges() of transformers 4.57.1, run on the same pieces.
TEST(TokenizerFolder, MergesOfAConvertedModelStandAsTransformersSortsThem) {
  const std::string sign = "\xE2\x96\x81";
  SentencePieceModel model;
  model.type = ModelType::bpe;
  model.normalizer = "identity";
  model.pieces = {{"<pad>", 0, PieceType::control}, {"<unk>", 0, PieceType::unknown}};
  for (const char* name : {"[CLS]", "[SEP]", "[MASK]"}) model.pieces.push_back({name, 0, PieceType::control});
  for (const std::string& letter : {sign, std::string("a"), std::string("b")})
    model.pieces.push_back({letter, -9});
  model.pieces.insert(model.pieces.end(), {{"aa", -1}, {"aaa", -2}, {"ab", -2}, {sign + "aaa", -3}});
  const TemporaryFolder from, to;
  testing::write_text(from / "spiece.model", serialize_sentencepiece_model(model));
  write_tokenizer_files(from.path().string(), to.path().string());
  EXPECT_EQ(read_json_file(to / "tokenizer.json")["model"]["merges"],
            FolderJson::parse(R"([["a","a"],["aa","a"],["a","aa"],["a","b"],["\u2581","aaa"]])"));
  const auto files = load_tokenizer(from.path().string());
  EXPECT_EQ(encode_text(*files, "aaaa \n", unfolded).ids, (std::vector<std::uint32_t>{5, 8, 8}));
  expect_equal_on_odd_texts(*files, *json_alone(to.path()), unfolded);
}

// Other hands change it (add_tokens() and save_pretrained()): then it is read, as AutoTokenizer reads it.
TEST(TokenizerFolder, AChangedTokenizerJsonIsReadItself) {
  const TemporaryFolder folder;
  train_words(folder / "words", false);
  const auto before = load_tokenizer((folder / "words").string());
  FolderJson file = read_json_file(folder / "words" / "tokenizer.json");
  const std::uint64_t id = before->vocab_size();
  file["added_tokens"].push_back({{"id", id}, {"content", "<gene>"}, {"special", false}});
  testing::write_text(folder / "words" / "tokenizer.json", file.dump());
  const auto after = load_tokenizer((folder / "words").string());
  EXPECT_EQ(after->vocab_size(), id + 1);
  EXPECT_EQ(encode_text(*after, "the <gene>", unfolded).ids.back(), id);
  EXPECT_NE(after->digest(), before->digest());
}

TEST(TokenizerFolder, ATokenizerJsonThatIsNotUnderstoodGivesWayToTheModelBesideIt) {
  const TemporaryFolder folder;
  testing::write_text(folder / "spiece.model", google_model());
  FolderJson file = golden_tokenizers()["bigbird"]["file"];
  file["normalizer"] = {{"type", "Nmt"}};
  testing::write_text(folder / "tokenizer.json", file.dump());
  std::string warned;
  set_log_sink([&](LogLevel level, const std::string& line) {
    if (level == LogLevel::warning) warned += line;
  });
  EXPECT_EQ(encode_text(*load_tokenizer(folder.path().string()), "the", unfolded).ids.size(), 1u);
  set_log_sink({});
  EXPECT_NE(warned.find("Nmt is not understood; spiece.model is read instead"), std::string::npos);
}

TEST(CharacterMap, Base64GoesBothWays) {
  for (const std::string bytes : {"", "a", "ab", "abc", "\xFF\x01\x80z"}) {
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
  }
  EXPECT_FALSE(decode_base64("a"));
  EXPECT_FALSE(decode_base64("ab*d"));
}

}  // namespace
}  // namespace bigbird
