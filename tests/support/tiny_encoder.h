// A genome, vocabulary and pretrained encoder of a few seconds, made with the binary itself: what tests of
// the verbs begin from.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/support.h"

namespace bigbird::testing {

struct TinyEncoder {
  std::string bases = "600k";
  std::string chromosomes = "2";
  std::string seed = "3";
  std::string vocabulary = "200";
  std::string layers = "1";
  std::string max_positions = "256";
  std::vector<std::string> more = {"--random-mode", "hf-train"};  // options of pretrain
};

// FOLDER/genome (simulate's), docs.bed, tokenizer, shards, and run/final after two steps.
inline void make_tiny_encoder(const std::filesystem::path& folder, const TinyEncoder& shape = {}) {
  const auto path = [&](const char* name) { return (folder / name).string(); };
  const std::string genome = path("genome/genome.fa.gz");
  std::vector<std::vector<std::string>> commands = {
      {"simulate", "-o", path("genome"), "--bp", shape.bases, "--chromosome-count", shape.chromosomes,
       "--seed", shape.seed},
      {"chunk", "-f", genome, "-o", path("docs.bed"), "--passes", "1"},
      {"train-bpe", "-f", genome, "-d", path("docs.bed"), "-o", path("tokenizer"), "--vocab-size",
       shape.vocabulary, "--sample-bp", "100k"},
      {"tokenize", "-m", path("tokenizer"), "-f", genome, "-d", path("docs.bed"), "-o", path("shards")}};
  std::vector<std::string>& pretrain = commands.emplace_back(std::vector<std::string>{
      "pretrain", "--train", path("shards"), "-m", path("tokenizer"), "-o", path("run")});
  for (const char* option : {"--width", "16", "--heads", "2", "--intermediate", "32", "--block-size", "16",
                             "--length", "128", "--batch", "2", "--steps", "2"}) {
    pretrain.emplace_back(option);
  }
  pretrain.insert(pretrain.end(), {"--layers", shape.layers, "--max-positions", shape.max_positions});
  pretrain.insert(pretrain.end(), shape.more.begin(), shape.more.end());
  for (const std::vector<std::string>& command : commands) {
    const RunResult run = run_bigbird(command);
    ASSERT_EQ(run.status, 0) << run.err;
  }
}

}  // namespace bigbird::testing
