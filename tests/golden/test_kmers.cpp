// Ids of k-mers against transformers: EsmTokenizer of Nucleotide Transformer's vocabularies, and DNABERT's
// words (tests/peers/make_esm.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/inference/windows.h"
#include "lib/tokenization/tokenizer.h"
#include "tests/support/kmers.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

nlohmann::json kmers() {
  return nlohmann::json::parse(read_text(source_dir() / "tests/golden/kmers.json"));
}

std::vector<std::int32_t> read(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<std::int32_t> ids;
  encode_window(tokenizer, text, 1000, ids);
  return ids;
}

void write_esm_tokenizer(const TemporaryFolder& folder, const std::string& more, const std::string& end) {
  write_text(folder / "vocab.txt", "<unk>\n<pad>\n<mask>\n<cls>\n" + every_kmer(6) + "A\nT\nC\nG\nN" + more);
  write_text(folder / "tokenizer_config.json",
             R"({"tokenizer_class": "EsmTokenizer", "unk_token": "<unk>", "pad_token": "<pad>",
                 "mask_token": "<mask>", "cls_token": "<cls>", "eos_token": )" +
                 end + "}");
}

TEST(Kmers, EsmTokenizersIdsAreTransformers) {
  const nlohmann::json file = kmers();
  for (const char* name : {"version_1", "version_2", "with_end"}) {
    SCOPED_TRACE(name);
    const nlohmann::json& of = file.at(name);
    std::string more;
    for (const nlohmann::json& piece : of.at("more")) more += "\n" + piece.get<std::string>();
    const TemporaryFolder folder;
    write_esm_tokenizer(folder, more, of.at("end").dump());
    const auto tokenizer = load_tokenizer(folder.path().string());
    EXPECT_TRUE(tokenizer->is_dna());
    EXPECT_EQ(tokenizer->special().has_sep, !of.at("end").is_null());
    for (std::size_t i = 0; i < file.at("texts").size(); ++i) {
      const std::string text = file.at("texts").at(i);
      EXPECT_EQ(read(*tokenizer, text), of.at("ids").at(i).get<std::vector<std::int32_t>>()) << text;
    }
  }
}

TEST(Kmers, DnabertsWordsAreTransformers) {
  const nlohmann::json file = kmers();
  const TemporaryFolder folder;
  write_text(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" + every_kmer(3));
  const auto tokenizer = load_tokenizer(folder.path().string());
  EXPECT_TRUE(tokenizer->is_dna());
  for (std::size_t i = 0; i < file.at("texts").size(); ++i) {
    const std::string text = file.at("texts").at(i);
    EXPECT_EQ(read(*tokenizer, text), file.at("words_of_3").at(i).get<std::vector<std::int32_t>>()) << text;
  }
  std::vector<std::uint32_t> ids, begins;
  tokenizer->encode("ACGTA", ids, &begins);
  EXPECT_EQ(begins, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(tokenizer->piece(ids[1]), "CGT");
  EXPECT_EQ(tokenizer->piece_length(ids[1]), 1u);
}

TEST(Kmers, PiecesHaveTheirBasesAndPlaces) {
  const TemporaryFolder folder;
  write_esm_tokenizer(folder, "", "null");
  const auto tokenizer = load_tokenizer(folder.path().string());
  EXPECT_EQ(tokenizer->vocab_size(), 4105u);
  std::vector<std::uint32_t> ids, begins;
  tokenizer->encode("ACGTACGNTTTTTTRYA", ids, &begins);
  std::vector<std::string> pieces;
  for (const std::uint32_t id : ids) pieces.push_back(tokenizer->piece(id));
  EXPECT_EQ(pieces, (std::vector<std::string>{"ACGTAC", "G", "N", "TTTTTT", "<unk>", "A"}));
  EXPECT_EQ(begins, (std::vector<std::uint32_t>{0, 6, 7, 8, 14, 16}));
  EXPECT_EQ(tokenizer->piece_length(ids[0]), 6u);
  EXPECT_FALSE(tokenizer->is_special(ids[2]));
  EXPECT_TRUE(tokenizer->is_special(ids[4]));
  EXPECT_EQ(read(*tokenizer, ""), (std::vector<std::int32_t>{3}));
}

TEST(Kmers, OtherVocabulariesOfEsmTokenizerAreRefused) {
  const auto refusal = [](const std::string& lines) {
    const TemporaryFolder folder;
    write_text(folder / "vocab.txt", lines);
    write_text(folder / "tokenizer_config.json", R"({"tokenizer_class": "EsmTokenizer", "eos_token": null})");
    try {
      load_tokenizer(folder.path().string());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_FALSE(error.hint().empty());
      return error.message().substr(folder.path().string().size() + 1);
    }
    return std::string("read");
  };
  const std::string special = "<cls>\n<pad>\n<unk>\n<mask>\n";
  EXPECT_EQ(refusal(special + "L\nA\nG"), "vocab.txt: piece 'L' is of neither bases nor special");
  EXPECT_EQ(refusal(special), "vocab.txt: no piece is of bases");
  EXPECT_EQ(refusal("<cls>\n<pad>\n<unk>\nA\nC\nG\nT"),
            "vocab.txt: the model has no piece [MASK] (mask_token)");
}

}  // namespace
}  // namespace bigbird::testing
