// An LED folder as a user of text meets it: looked at, trained on documents and their summaries, writing,
// measured and converted, over a byte-level vocabulary as the published ones have.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/text_fixture.h"

namespace bigbird::testing {
namespace {

// Width 16, 48 positions, 24 of the decoder, of random weights.
void write_tiny_led(const std::filesystem::path& folder) {
  write_tiny_byte_level_tokenizer(folder);
  const auto tokenizer = load_tokenizer(folder.string());
  ModelConfig config;
  config.vocab_size = static_cast<std::int64_t>(tokenizer->vocab_size());
  config.tokenizer_digest = tokenizer->digest();
  config.hidden_size = 16;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 32;
  config.max_position_embeddings = 48;
  config.type_vocab_size = 0;
  config.block_size = 8;
  config.pad_token_id = 1;
  config.bos_token_id = 0;
  config.eos_token_id = config.sep_token_id = 2;
  config.layer_norm_eps = 1e-5;
  config.initializer_range = 0.2;
  config.attention = AttentionPattern::longformer;
  config.attention_options.longformer = {{4, 8}, 0};
  config.embedding_norm = EmbeddingNorm::before_dropout;
  config.activation = Activation::gelu_erf;
  config.head = HeadType::generation;
  config.decoder = {
      .num_hidden_layers = 2, .num_attention_heads = 4, .intermediate_size = 24, .positions = 24};
  const ParameterLayout layout(config);
  write_model_files(folder.string(), config, layout, initial_parameters(layout, config, 5), "", "tiny\n");
}

class LedVerbs : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    write_tiny_led(path("led"));
    write("led/generation_config.json", R"({"num_beams": 2, "max_length": 12, "decoder_start_token_id": 2})");
    std::string rows;
    for (std::uint64_t i = 0; i < 6; ++i)
      rows +=
          nlohmann::json{
              {"id", i}, {"document", tiny_text(i) + "\n" + tiny_text(i + 50)}, {"summary", summary(i)}}
              .dump() +
          "\n";
    write("pairs.jsonl", rows);
    write("lines.txt", tiny_text(1) + "\n" + tiny_text(2) + "\n");
  }
  // Two lines, whose break is a token of its own as in all that LED reads, and a letter of two bytes.
  static std::string summary(std::uint64_t number) {
    return std::string(1, static_cast<char>('a' + number)) + "\n\xC3\xA9y";
  }
  static Words finetune(const std::string& run, const Words& more) {
    return Words{"text",    "summarize", "finetune",  "--train",    path("pairs.jsonl"),
                 "--init",  path("led"), "-o",        path(run),    "--batch",
                 "3",       "--lr",      "5e-3",      "--schedule", "huggingface",
                 "--final", "last",      "--dropout", "0",          "--device",
                 "cpu"} +
           more;
  }
  static nlohmann::json config(const std::string& folder) {
    return nlohmann::json::parse(read_text(path(folder + "/config.json")));
  }
  static std::string weights(const std::string& folder) {
    return read_text(path(folder + "/model.safetensors"));
  }
};

TEST_F(LedVerbs, L6LearnsItsSummariesAndWritesThem) {
  const RunResult learned = must(finetune("run", {"--steps", "400"}));
  EXPECT_TRUE(holds(learned.err, "documents of at most")) << learned.err;
  const nlohmann::json json = config("run/final");
  EXPECT_EQ(json.at("model_type"), "led");
  EXPECT_EQ(json.at("max_decoder_position_embeddings"), 24);
  EXPECT_EQ(json.at("attention_window"), (std::vector<int>{4, 8}));
  const RunResult written = must({"text", "summarize", "predict", "-m", path("run/final"),
                                  path("pairs.jsonl"), "--device", "cpu", "-v"});
  for (const char* row : {"memory planned: ", "keys and values of the sources"})
    EXPECT_TRUE(holds(written.err, row)) << written.err;
  std::istringstream lines(written.out);
  std::uint64_t i = 0;
  for (std::string line; std::getline(lines, line); ++i) {
    EXPECT_EQ(nlohmann::json::parse(line).at("summary"), summary(i));
    EXPECT_EQ(nlohmann::json::parse(line).at("tokens"), 6);  // <s> a \n \u00e9 y </s>
  }
  EXPECT_EQ(i, 6u);
  const auto measured =
      nlohmann::json::parse(must({"text", "summarize", "evaluate", "--data", path("pairs.jsonl"), "-m",
                                  path("run/final"), "--line-break", "", "--device", "cpu"})
                                .out);
  EXPECT_EQ(measured.at("rouge").at("rouge1").at("f1"), 1.0);
}

TEST_F(LedVerbs, L6ARunGoesOnBitByBit) {
  must(finetune("whole", {"--steps", "4"}));
  must(finetune("part", {"--steps", "4", "--save-every", "2"}));
  std::filesystem::remove_all(path("part/final"));
  std::filesystem::remove_all(path("part/checkpoint-4"));
  must(finetune("part", {"--steps", "4", "--save-every", "2", "--resume"}));
  EXPECT_TRUE(weights("part/final") == weights("whole/final"));
}

TEST_F(LedVerbs, L6FoldersAreLookedAtAndConverted) {
  const auto info = nlohmann::json::parse(must({"info", path("led"), "--json"}).out);
  EXPECT_EQ(info.at("loads_in_transformers"), true);
  EXPECT_GT(info.at("parameters").at("decoder").get<int>(), 0);
  must({"convert", path("led"), path("copy")});
  EXPECT_TRUE(holds(must({"check", path("copy")}).out, "self-test\tok"));
  EXPECT_EQ(config("copy").at("model_type"), "led");
  EXPECT_TRUE(holds(read_text(path("copy/README.md")), "LEDForConditionalGeneration.from_pretrained"));
  EXPECT_TRUE(holds(read_text(path("copy/README.md")), "learned, 48; of the decoder 24"));
  must({"convert", path("led"), path("globals"), "--global", "first:3"});
  EXPECT_EQ(config("globals").at("bigbird").at("attention_options").at("global"), "first:3");
  EXPECT_EQ(config("globals").at("attention_window"), (std::vector<int>{4, 8}));
  must({"convert", path("led"), path("full"), "--attention", "full"});
  EXPECT_EQ(config("full").at("model_type"), "bigbird_extended");
  must({"text", "summarize", "predict", "-m", path("full"), path("pairs.jsonl"), "--device", "cpu"});
  must({"embed", "-m", path("led"), "--lines", path("lines.txt"), "-o", path("vectors.npy"), "--device",
        "cpu"});
}

TEST_F(LedVerbs, L6ADecoderOfFewerPositionsSaysSo) {
  refused({"text", "summarize", "predict", "-m", path("led"), path("pairs.jsonl"), "--max-tokens", "30",
           "--device", "cpu"},
          2, "has 24 positions for them");
  must({"text", "summarize", "predict", "-m", path("led"), path("pairs.jsonl"), "--max-tokens", "23",
        "--device", "cpu"});
  refused({"text", "summarize", "predict", "-m", path("led"), path("pairs.jsonl"), "--length", "49",
           "--device", "cpu"},
          2, "takes 2 to 48 tokens");
  // Fewer tokens than the default.
  const RunResult cut = must(finetune("cut", {"--steps", "1", "--target-length", "4"}));
  EXPECT_TRUE(holds(cut.err, "6 of 6 summaries are longer than 4 tokens and were cut")) << cut.err;
}

}  // namespace
}  // namespace bigbird::testing
