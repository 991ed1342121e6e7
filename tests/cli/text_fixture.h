// Models of text small enough for tests of seconds, over the vocabulary of single letters
// (tests/support/tiny_text_data.h): an encoder to fine-tune, and classifiers of random weights whose outputs
// differ clearly between texts; and the set-up that tests of the text verbs share. Header-only: the including
// test links bigbird_lib.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/layout.h"
#include "lib/model_folder/checkpoint.h"
#include "tests/cli/words.h"
#include "tests/support/support.h"
#include "tests/support/tiny_text_data.h"

namespace bigbird::testing {

struct TinyTextModel {
  HeadType head = HeadType::classification;
  ProblemType problem = ProblemType::single_label;
  std::int64_t labels = 3;
  std::vector<std::string> names = {};  // none: LABEL_0, LABEL_1 ...
  std::int64_t positions = 64;
  std::uint64_t seed = 1;
};

// Width 16, blocks of 8 tokens, over the tokenizer that is put into the folder.
inline ModelConfig tiny_text_config(const std::filesystem::path& folder) {
  write_tiny_text_tokenizer(folder);
  ModelConfig config;
  config.vocab_size = tiny_text_pieces;
  config.hidden_size = 16;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.intermediate_size = 32;
  config.max_position_embeddings = 64;
  config.block_size = 8;
  config.num_random_blocks = 1;
  config.random_mode = RandomMode::hf_train;
  config.sep_token_id = tiny_sep;
  config.initializer_range = 0.4;  // many times the usual spread: logits that differ between texts
  config.tokenizer_digest = load_tokenizer(folder.string())->digest();
  return config;
}

// The model folder, of one layer.
inline void write_tiny_text_model(const std::filesystem::path& folder, const TinyTextModel& shape = {}) {
  ModelConfig config = tiny_text_config(folder);
  config.max_position_embeddings = shape.positions;
  config.head = shape.head;
  if (shape.head == HeadType::classification) {
    config.problem_type = shape.problem;
    config.num_labels = shape.labels;
    config.label_names = shape.names;
  }
  const ParameterLayout layout(config);
  write_model_files(folder.string(), config, layout, initial_parameters(layout, config, shape.seed), "",
                    "tiny\n");
}

// A model that writes (BigBird-Pegasus's form), of random weights, in the same vocabulary: [CLS] begins a
// text, [SEP] ends it, the more often the larger its bias.
inline void write_tiny_summary_model(const std::filesystem::path& folder, float end_bias = 0.0f) {
  ModelConfig config = tiny_text_config(folder);
  config.num_hidden_layers = 2;
  config.type_vocab_size = 0;
  config.random_mode = RandomMode::hf_eval;
  config.norm_type = NormType::prenorm;
  config.embedding_norm = EmbeddingNorm::none;
  config.layer_norm_eps = 1e-5;
  config.eos_token_id = tiny_sep;
  config.head = HeadType::generation;
  config.decoder = {
      .num_hidden_layers = 2, .num_attention_heads = 4, .intermediate_size = 24, .start_token_id = tiny_cls};
  const ParameterLayout layout(config);
  std::vector<float> parameters = initial_parameters(layout, config, 5);
  parameters[static_cast<std::size_t>(layout.offset("final_logits_bias") + config.eos_token_id)] = end_bias;
  write_model_files(folder.string(), config, layout, parameters, "", "tiny\n");
}

// A short text of lower-case letters, another one for every number.
inline std::string tiny_text(std::uint64_t number) {
  std::string text;
  for (std::uint64_t i = 0, state = number * 7919 + 17; i < 3 + number % 5; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += (text.empty() ? "" : " ") + std::string(1, static_cast<char>('a' + (state >> 33) % 26)) +
            std::string(1, static_cast<char>('a' + (state >> 40) % 26));
  }
  return text;
}

// A folder for all tests of a suite, and commands in it that must end well or be refused.
class TextFixture : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { folder_ = new TemporaryFolder; }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }
  static std::string write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_->path() / name).parent_path());
    write_text(folder_->path() / name, text);
    return path(name);
  }
  static RunResult must(const Words& words, const std::string& input = {}) {
    const RunResult run = run_bigbird(words, input);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  }
  // A vocabulary "pieces", shards "text" to pretrain on and "table.csv" of labelled texts.
  static void write_text_task() {
    std::string books, table = "text,label\n";
    for (std::uint64_t d = 0; d < 40; ++d) {
      for (std::uint64_t line = 0; line < 8; ++line)
        books += tiny_text(8 * d + line) + " river garden mill\n";
      books += "\n";
      table += tiny_text(d) + (d % 2 == 0 ? ",even\n" : ",odd\n");
    }
    write("books.txt", books);
    write("table.csv", table);
    must({"text", "vocabulary", path("books.txt"), "-o", path("pieces"), "--vocab-size", "150",
          "--required-characters", "abcdefghijklmnopqrstuvwxyz"});
    must({"text", "pretrain-data", path("books.txt"), "-m", path("pieces"), "-o", path("text")});
  }
  static RunResult refused(const Words& words, int status, const std::string& what,
                           const std::string& input = {}) {
    const RunResult run = run_bigbird(words, input);
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_TRUE(holds(run.err, what)) << run.err;
    EXPECT_TRUE(holds(run.err, "hint: ")) << run.err;
    EXPECT_EQ(run.out, "");
    return run;
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

}  // namespace bigbird::testing
