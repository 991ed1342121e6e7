// Ids and offsets against Hugging Face's on the lines that tests/peers/text_tokenization.py and
// tokenizer_folders.py write; skipped where BIGBIRD_PEER_TOKENS does not name the output of one of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

using PeerCase = nlohmann::json;

class TextTokenizationPeers : public ::testing::TestWithParam<std::string> {};

// Of the folder that the variable names; without it one name that is skipped.
std::vector<std::string> peer_folders() {
  const char* const output = std::getenv("BIGBIRD_PEER_TOKENS");
  if (output == nullptr || !std::filesystem::is_directory(output)) return {"none"};
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(output)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_P(TextTokenizationPeers, GiveTheSameIdsAndOffsets) {
  const char* const output = std::getenv("BIGBIRD_PEER_TOKENS");
  if (output == nullptr) GTEST_SKIP() << "BIGBIRD_PEER_TOKENS names no output of text_tokenization.py";
  const auto folder = std::filesystem::path(output) / GetParam();
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const auto tokenizer = load_tokenizer(folder.string());
  TextEncodingOptions encoding{WhiteSpace::keep, false};
  if (std::ifstream settings(folder / "text.json"); settings) {
    if (PeerCase::parse(settings)["white_space"] == "fold") encoding.white_space = WhiteSpace::fold;
  }
  std::ifstream file(folder / "cases.jsonl");
  int lines = 0;
  int other_ids = 0;
  int other_offsets = 0;
  std::size_t tokens = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const PeerCase expected = PeerCase::parse(line);
    const std::string text = expected["text"].get<std::string>();
    const EncodedText found = encode_text(*tokenizer, text, encoding);
    tokens += found.ids.size();
    const bool same_ids = PeerCase(found.ids) == expected["ids"];
    // Without places, ids alone are compared.
    const bool same_offsets = !expected.contains("begin") || (PeerCase(found.begin) == expected["begin"] &&
                                                              PeerCase(found.end) == expected["end"]);
    other_ids += same_ids ? 0 : 1;
    other_offsets += same_offsets ? 0 : 1;
    if (same_ids && same_offsets) continue;
    if (other_ids + other_offsets <= 20) {
      ADD_FAILURE() << "line " << lines + 1 << ": " << expected["text"].dump() << "\n expected "
                    << expected.dump() << "\n found    " << PeerCase(found.ids).dump() << " "
                    << PeerCase(found.begin).dump() << PeerCase(found.end).dump();
    }
  }
  EXPECT_GT(lines, 0);
  EXPECT_EQ(other_ids, 0);
  EXPECT_EQ(other_offsets, 0);
  RecordProperty("lines", lines);
  RecordProperty("tokens", std::to_string(tokens));
}

INSTANTIATE_TEST_SUITE_P(Folders, TextTokenizationPeers, ::testing::ValuesIn(peer_folders()));

}  // namespace
}  // namespace bigbird
