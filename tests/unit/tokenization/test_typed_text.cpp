// Typed sequences, as a FASTA would be read, and words and bases where the other is wanted.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"
#include "lib/tokenization/typed_text.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

std::unique_ptr<Tokenizer> dna_vocabulary() {
  const std::string bytes = serialize_sentencepiece_model(make_dna_model({"AC", "GT", "ACGT", "TT"}, 8));
  return make_dna_tokenizer(parse_sentencepiece_model(bytes, "model"), SpecialIds{}, bytes);
}

// GENA-LM's kind: merges, ids of its own, and an added token for runs of N.
std::unique_ptr<Tokenizer> json_vocabulary() {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "tokenizer.json", R"({
    "added_tokens": [
      {"id": 0, "content": "[UNK]", "special": true}, {"id": 1, "content": "[CLS]", "special": true},
      {"id": 2, "content": "[SEP]", "special": true}, {"id": 3, "content": "[PAD]", "special": true},
      {"id": 4, "content": "[MASK]", "special": true}, {"id": 5, "content": "-", "special": true}],
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Strip", "strip_left": true, "strip_right": true},
      {"type": "Replace", "pattern": {"Regex": "N{10,}"}, "content": "-"}]},
    "pre_tokenizer": {"type": "Split", "pattern": {"String": "-"}, "behavior": "Isolated", "invert": false},
    "model": {"type": "BPE", "unk_token": "[UNK]", "fuse_unk": false,
      "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "[MASK]": 4, "-": 5, "A": 6, "C": 7, "G": 8, "N": 9,
                "T": 10, "AC": 11, "GT": 12, "ACGT": 13, "TT": 14},
      "merges": ["A C", "G T", "AC GT", "T T"]}})");
  return load_tokenizer(folder.path().string());
}

std::unique_ptr<Tokenizer> text_vocabulary() {
  const testing::TemporaryFolder folder;
  std::filesystem::copy_file(testing::source_dir() / "tests/golden/tokenizer_google_layout.model",
                             folder / "spiece.model");
  return load_tokenizer(folder.path().string());
}

struct Typed {
  std::vector<std::uint32_t> ids, begins;
  std::uint64_t replaced = 0;
};

Typed typed(const std::string& text, const Tokenizer& tokenizer) {
  Typed result;
  result.replaced = encode_typed_text(text, tokenizer, "text", result.ids, result.begins);
  return result;
}

std::string refusal(const std::string& text, const Tokenizer& tokenizer) {
  try {
    typed(text, tokenizer);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_FALSE(error.hint().empty());
    EXPECT_EQ(error.message().find('\n'), std::string::npos);
    return error.message();
  }
  return "";
}

TEST(TypedText, SequencesAreReadAsThoseOfFiles) {
  for (const auto& tokenizer : {dna_vocabulary(), json_vocabulary()}) {
    const Typed plain = typed("ACGTNTT[MASK]ACGTT", *tokenizer);
    for (const char* text : {"acgtntt[MASK]acgtt", "ACGUNUU[MASK]acguu", "ACGTYTT[MASK]ACGTT",
                             "acgtrtt[MASK]ACGUT", "ACGTNTT [MASK] ACGTT", "  ACGTNTT\t[MASK]ACGTT \r"}) {
      EXPECT_EQ(typed(text, *tokenizer).ids, plain.ids) << text;
    }
    EXPECT_EQ(typed("ACGTYTT[MASK]RCGTS", *tokenizer).replaced, 3u);
    EXPECT_EQ(plain.replaced, 0u);
    std::vector<std::uint32_t> as_read;
    tokenizer->encode_with_special_pieces("ACGTNTT[MASK]ACGTT", as_read);
    EXPECT_EQ(plain.ids, as_read);
  }
}

TEST(TypedText, PlacesAreThoseOfTheTypedText) {
  for (const auto& tokenizer : {dna_vocabulary(), json_vocabulary()}) {
    EXPECT_EQ(typed(" acgt [MASK]  uu", *tokenizer).begins, (std::vector<std::uint32_t>{1, 6, 14}));
    EXPECT_EQ(typed("[MASK] A [SEP]", *tokenizer).begins, (std::vector<std::uint32_t>{0, 7, 9}));
  }
}

TEST(TypedText, WordsAreNoDna) {
  for (const auto& tokenizer : {dna_vocabulary(), json_vocabulary()}) {
    EXPECT_NE(refusal("Paris is the [MASK] of France.", *tokenizer).find("'P' in column 1 is not a base"),
              std::string::npos);
    EXPECT_NE(refusal("ACGT[mask]ACGT", *tokenizer).find("'[' in column 5"), std::string::npos);
    EXPECT_NE(refusal("[MASK]A CAT", *tokenizer).find("' ' in column 8"), std::string::npos);
    EXPECT_NE(refusal("AC\u00E9[MASK]", *tokenizer).find("'\u00E9' in column 3"), std::string::npos);
    EXPECT_NE(refusal("AC\x1B[MASK]", *tokenizer).find("'?' in column 3"), std::string::npos);
    EXPECT_NE(refusal("ACG-T", *tokenizer).find("'-' in column 4"), std::string::npos);
  }
}

TEST(TypedText, DnaIsNoText) {
  const auto tokenizer = text_vocabulary();
  for (const char* text : {"ACGTTGCA[MASK]GGTCA", "acguugcaggtca", " GATTACAGATTACA [MASK]", "ACGTNNNNNN"}) {
    EXPECT_NE(refusal(text, *tokenizer).find("this is DNA"), std::string::npos) << text;
  }
  for (const char* text : {"GATTACA [MASK]", "a cat can act", "aaaaaaaaaaaaaaaaaaa",
                           "Paris is the [MASK] of France.", "tactactactact.", ""}) {
    EXPECT_EQ(refusal(text, *tokenizer), "") << text;
  }
  std::vector<std::uint32_t> ids, begins;
  tokenizer->encode_with_special_pieces("The cat [MASK] sat", ids, &begins);
  EXPECT_EQ(typed("The cat [MASK] sat", *tokenizer).ids, ids);
  EXPECT_EQ(typed("The cat [MASK] sat", *tokenizer).begins, begins);
}

}  // namespace
}  // namespace bigbird
