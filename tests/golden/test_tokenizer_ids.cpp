// Token ids against Hugging Face's tokenizers and transformers (tests/peers/tokenizer_ids.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/io/files/file.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;

nlohmann::json golden() {
  return nlohmann::json::parse(
      testing::read_text(testing::source_dir() / "tests" / "golden" / "tokenizer_ids.json"));
}

// Where the peer rewrites a run of N it calls only the run's last letter the piece's place; ours is the run.
bool rewrites(const std::string& text) {
  return text.find(std::string(10, 'N')) != std::string::npos;
}

void expect_peers_ids(const Tokenizer& tokenizer, const nlohmann::json& cases) {
  ASSERT_GT(cases.size(), 10u);
  for (const nlohmann::json& entry : cases) {
    const std::string text = entry["text"];
    std::vector<std::uint32_t> ids;
    std::vector<std::uint32_t> begins;
    tokenizer.encode_with_special_pieces(text, ids, &begins);
    EXPECT_EQ(ids, entry["ids"].get<std::vector<std::uint32_t>>()) << text;
    ASSERT_EQ(ids.size(), begins.size());
    if (entry.contains("begins") && !rewrites(text)) {
      EXPECT_EQ(begins, entry["begins"].get<std::vector<std::uint32_t>>()) << text;
    }
  }
}

// A folder that holds this tokenizer.json and nothing else.
std::unique_ptr<Tokenizer> load_json(const std::string& bytes) {
  const TemporaryFolder folder;
  testing::write_text(folder / "tokenizer.json", bytes);
  return load_tokenizer(folder.path().string());
}

std::string gena_bytes(const std::string& name) {
  const auto path = *testing::shared_dir() / "data" / "tokenizer-gena-lm" / (name + ".tokenizer.json.gz");
  return InputStream(path.string()).read_all();
}

TEST(TokenizerJson, GivesThePeersIdsForGenaLmsPipeline) {
  const nlohmann::json entry = golden()["small_dna"];
  const auto tokenizer = load_json(entry["tokenizer"].dump());
  EXPECT_TRUE(tokenizer->is_dna());
  expect_peers_ids(*tokenizer, entry["cases"]);
}

TEST(TokenizerJson, GivesThePeersIdsForEveryStepThatIsUnderstood) {
  const nlohmann::json entry = golden()["awkward"];
  const auto tokenizer = load_json(entry["tokenizer"].dump());
  EXPECT_FALSE(tokenizer->is_dna());
  expect_peers_ids(*tokenizer, entry["cases"]);
}

TEST(TokenizerJson, GivesThePeersIdsForGenaLmsVocabularies) {
  BIGBIRD_REQUIRE_SHARED();
  for (const std::string name : {"t2t_1000h_multi_32k", "BPE_32k"}) {
    const auto tokenizer = load_json(gena_bytes(name));
    EXPECT_TRUE(tokenizer->is_dna());
    EXPECT_EQ(tokenizer->vocab_size(), 32000u);
    EXPECT_EQ(tokenizer->special(), (SpecialIds{3, 0, 1, 2, 4}));
    expect_peers_ids(*tokenizer, golden()[name]["cases"]);
  }
}

// Ids of 8,000 real bases by a separate merge program; the tokens join back to the sequence.
TEST(TokenizerJson, GivesTheExpectedIdsOfBrca1) {
  BIGBIRD_REQUIRE_SHARED();
  LineReader lines(
      (*testing::shared_dir() / "data" / "tokenizer-gena-lm" / "expected_ids.brca_8000bp.tsv").string());
  std::string_view line;
  int compared = 0;
  while (lines.next(line)) {
    if (line.empty() || line[0] == '#') continue;
    const auto tokenizer = load_json(gena_bytes(std::string(line.substr(0, line.find('\t')))));
    std::vector<std::uint32_t> expected;
    std::string sequence;
    for (std::size_t at = line.rfind('\t') + 1; at < line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      expected.push_back(static_cast<std::uint32_t>(std::stoul(std::string(line.substr(at, end - at)))));
      sequence += tokenizer->piece(expected.back());
      at = end + 1;
    }
    ASSERT_EQ(sequence.size(), 8000u);
    std::vector<std::uint32_t> ids;
    tokenizer->encode(sequence, ids);
    EXPECT_EQ(ids, expected);
    ++compared;
  }
  EXPECT_EQ(compared, 2);
}

TEST(SentencePiece, GivesThePeersIdsForGooglesLayout) {
  const TemporaryFolder folder;
  const std::string bytes =
      testing::read_text(testing::source_dir() / "tests" / "golden" / "tokenizer_google_layout.model");
  testing::write_text(folder / "spiece.model", bytes);
  const SpecialIds special = load_tokenizer(folder.path().string())->special();
  EXPECT_EQ(special, (SpecialIds{0, 100, 65, 66, 67}));
  // The peer is the slow class, which is the library; a folder is read as its fast class.
  const auto tokenizer =
      make_sentencepiece_tokenizer(parse_sentencepiece_model(bytes, "model"), special, bytes, "model");
  EXPECT_FALSE(tokenizer->is_dna());
  expect_peers_ids(*tokenizer, golden()["google_layout"]["cases"]);
}

}  // namespace
}  // namespace bigbird
