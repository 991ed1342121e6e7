// A Longformer as a user of text meets it: begun from a RoBERTa, pretrained, resumed, given classes and
// answers in folders that transformers' classes have, converted, and what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/text_fixture.h"
#include "tests/support/tiny_question_model.h"
#include "tests/support/tiny_roberta.h"

namespace bigbird::testing {
namespace {

namespace fs = std::filesystem;

class LongformerVerbs : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    write_tiny_roberta(folder_->path() / "roberta");
    std::string books, table = "text,label\n";
    for (std::uint64_t d = 0; d < 40; ++d) {
      for (std::uint64_t line = 0; line < 8; ++line) books += tiny_text(8 * d + line) + " the cat\n";
      books += "\n";
      table += tiny_text(d) + (d % 2 == 0 ? ",even\n" : ",odd\n");
    }
    write("books.txt", books);
    write("table.csv", table);
    write("questions.json", tiny_questions_json(four_tiny_questions()));
    must({"text", "pretrain-data", path("books.txt"), "-m", path("roberta"), "-o", path("text")});
    must(pretrain("run"));
  }
  static Words pretrain(const std::string& run, const Words& more = {}) {
    return Words{"pretrain",
                 "--train",
                 path("text"),
                 "-m",
                 path("roberta"),
                 "--init",
                 path("roberta"),
                 "-o",
                 path(run),
                 "--attention",
                 "longformer",
                 "--attention-window",
                 "24",
                 "--length",
                 "160",
                 "--batch",
                 "4",
                 "--steps",
                 "4",
                 "--save-every",
                 "2",
                 "--device",
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

TEST_F(LongformerVerbs, L5ARobertaIsPretrainedAsALongformerOfTheLengthThatIsAsked) {
  const nlohmann::json json = config("run/final");
  EXPECT_EQ(json.at("model_type"), "longformer");
  EXPECT_EQ(json.at("architectures")[0], "LongformerForMaskedLM");
  EXPECT_EQ(json.at("attention_window"), (std::vector<int>{24, 24}));
  EXPECT_EQ(json.at("max_position_embeddings"), 192 + 2);  // 160 in blocks of 64
  EXPECT_EQ(json.at("type_vocab_size"), 1);
  must({"check", path("run/final")});
  EXPECT_EQ(
      nlohmann::json::parse(must({"info", path("run/final"), "--json"}).out).at("loads_in_transformers"),
      true);
  // As if it had been killed after its first checkpoint.
  const std::string trained = weights("run/final");
  fs::remove_all(path("run/final"));
  fs::remove_all(path("run/checkpoint-4"));
  must(pretrain("run", {"--resume"}));
  EXPECT_TRUE(trained == weights("run/final"));
  const auto measured = nlohmann::json::parse(
      must({"evaluate", "-m", path("run/final"), "--data", path("text"), "--device", "cpu"}).out);
  EXPECT_GT(measured.at("mlm_loss"), 0.0);
  must({"embed", "-m", path("run/final"), "--lines", path("books.txt"), "-o", path("vectors.npy"), "--device",
        "cpu"});
  // And it goes on: what is read again is itself.
  must({"pretrain", "--train", path("text"), "-m", path("roberta"), "--init", path("run/final"), "-o",
        path("more"), "--length", "192", "--batch", "4", "--steps", "1", "--device", "cpu"});
  EXPECT_EQ(config("more/final").at("attention_window"), (std::vector<int>{24, 24}));
}

TEST_F(LongformerVerbs, L2ClassesAndAnswersHaveTransformersClasses) {
  must({"text", "classify", "finetune", "--train", path("table.csv"), "--init", path("run/final"), "-o",
        path("classes"), "--steps", "2", "--batch", "4", "--device", "cpu"});
  const nlohmann::json classes = config("classes/final");
  EXPECT_EQ(classes.at("architectures")[0], "LongformerForSequenceClassification");
  EXPECT_EQ(classes.at("bigbird").at("attention_options").at("global"), "task");
  const auto scores = [&](const char* batch) {
    return must({"text", "classify", "predict", "-m", path("classes/final"), path("table.csv"),
                 "--batch-tokens", batch, "--device", "cpu", "--no-provenance"})
        .out;
  };
  EXPECT_EQ(scores("8"), scores("4k"));

  must({"text", "qa", "finetune", "--train", path("questions.json"), "--init", path("run/final"), "-o",
        path("answers"), "--steps", "2", "--batch", "4", "--length", "64", "--overlap", "16", "--device",
        "cpu"});
  EXPECT_EQ(config("answers/final").at("architectures")[0], "LongformerForQuestionAnswering");
  must({"check", path("answers/final")});
  const auto answers = [&](const char* batch) {
    return must({"text", "qa", "predict", "-m", path("answers/final"), path("questions.json"), "-o", "-",
                 "--length", "64", "--overlap", "16", "--batch-tokens", batch, "--device", "cpu",
                 "--no-provenance"})
        .out;
  };
  EXPECT_EQ(answers("8"), answers("4k"));
}

TEST_F(LongformerVerbs, ConvertSetsOptionsOnTopOfTheFoldersOwn) {
  must({"convert", path("run/final"), path("globals"), "--global", "first:3"});
  EXPECT_EQ(config("globals").at("attention_window"), (std::vector<int>{24, 24}));
  EXPECT_EQ(config("globals").at("bigbird").at("attention_options").at("global"), "first:3");
  must({"convert", path("globals"), path("windows"), "--attention", "longformer", "--attention-window",
        "8:16"});
  EXPECT_EQ(config("windows").at("attention_window"), (std::vector<int>{8, 16}));
  EXPECT_EQ(config("windows").at("bigbird").at("attention_options").at("global"), "first:3");
  must({"convert", path("roberta"), path("long"), "--attention", "longformer", "--max-positions", "1000"});
  EXPECT_EQ(config("long").at("max_position_embeddings"), 1024 + 2);
  EXPECT_EQ(config("long").at("attention_window"), (std::vector<int>{512, 512}));
  refused({"convert", path("run/final"), path("no"), "--global", "first:400"}, 1,
          "400 global tokens of at most 192 positions");
  refused({"convert", path("run/final"), path("no"), "--global", "last:4"}, 2,
          "--global: 'last:4' is neither task, none, question nor first:N");
  refused({"convert", path("run/final"), path("no"), "--parts", "2"}, 2,
          "--parts is of attention blockbert, not of longformer");
  refused({"convert", path("run/final"), path("no"), "--max-positions", "4096"}, 2,
          "is neither an original Pegasus, whose positions are sinusoids, nor a BERT or RoBERTa");
  refused(Words{"pretrain", "--train", path("text"), "-m", path("roberta"), "--init", path("run/final"), "-o",
                path("no"), "--length", "256"},
          2, "has 192 positions");
  EXPECT_FALSE(fs::exists(path("no")));
}

}  // namespace
}  // namespace bigbird::testing
