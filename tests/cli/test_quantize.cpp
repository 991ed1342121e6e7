// `bigbird quantize`: promoter, chromatin and masked-token models made int8, what the folder says of it, that
// other verbs compute with it and say so, and inputs that must be refused.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/genomics/chromatin/dataset.h"
#include "tests/cli/text_fixture.h"
#include "tests/cli/variants_fixture.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird::testing {
namespace {

class Quantize : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    TinyClassifier shape;
    write_tiny_classifier(path("chromatin"), shape);
    shape.problem = ProblemType::single_label;
    shape.profiles = {{"promoter", "."}};
    shape.labels = 2;
    shape.window = {"promoter", 100, 60, 1};
    write_tiny_classifier(path("promoter"), shape);
    make_promoter_data();
    make_chromatin_data();
    write_tiny_shards(path("shards"), path("promoter"));
    write_tiny_shards(path("others"), path("promoter"), {.seed = 2});
    make_masked_model();
  }

  static std::string random_bases(CounterRng& random, int count) {
    std::string bases;
    for (int i = 0; i < count; ++i) bases += "ACGT"[random.below(4)];
    return bases;
  }

  // A label is whether the model says more than of half of the windows, but for one in ten.
  static void make_promoter_data() {
    std::filesystem::create_directories(path("data"));
    for (const char* side : {"train", "valid"}) {
      CounterRng random(21, Purpose::test, static_cast<std::uint64_t>(side[0]));
      std::vector<std::string> sequences;
      std::string fasta;
      for (int i = 0; i < 200; ++i) {
        sequences.push_back(random_bases(random, 100));
        fasta += fmt::format(">w{}\n{}\n", i, sequences.back());
      }
      const std::string windows = write(fmt::format("{}.fa", side), fasta);
      std::vector<double> scores;
      for (const auto& row :
           read_table(must({"promoter", "predict", "-m", path("promoter"), windows, "--strands", "+"}).out))
        scores.push_back(std::stod(row.at("score")));
      std::vector<double> sorted = scores;
      std::sort(sorted.begin(), sorted.end());
      std::string table = "id\tsequence\tlabel\n";
      for (std::size_t i = 0; i < scores.size(); ++i) {
        const bool positive = (scores[i] > sorted[sorted.size() / 2]) != (random.below(10) == 0);
        table += fmt::format("w{}\t{}\t{}\n", i, sequences[i], positive ? 1 : 0);
      }
      write(fmt::format("data/{}.tsv", side), table);
    }
  }

  static void make_chromatin_data() {
    CounterRng random(22, Purpose::test, 0);
    write("genome.fa", ">chr1\n" + random_bases(random, 14'000) + "\n");
    ChromatinDatasetWriter writer(path("bins"), false, {{"chr1", 14'000}}, TinyClassifier().profiles,
                                  TinyClassifier().window, {});
    for (int i = 0; i < 300; ++i) {
      const auto label = static_cast<std::uint8_t>(random.below(8));
      writer.write({0, i < 150 ? Split::train : Split::valid, 100 + 20 * i}, {&label, 1});
    }
    writer.commit("../genome.fa", "{}");
  }

  static void make_masked_model() {
    ModelConfig config;
    config.vocab_size = static_cast<std::int64_t>(load_tokenizer(path("promoter"))->vocab_size());
    config.hidden_size = 16;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 2;
    config.intermediate_size = 32;
    config.max_position_embeddings = 64;
    config.block_size = 8;
    config.num_random_blocks = 1;
    config.random_mode = RandomMode::hf_train;
    config.sep_token_id = 3;
    config.head = HeadType::masked_lm;
    config.initializer_range = 0.2;
    const ParameterLayout layout(config);
    std::filesystem::create_directories(path("masked"));
    write_model_files(path("masked"), config, layout, initial_parameters(layout, config, 4), path("promoter"),
                      "tiny\n");
  }

  static Words quantize(const std::string& model, const std::string& to, const Words& more) {
    return Words{"quantize", path(model), "-o", path(to), "--force"} + more;
  }
  static nlohmann::json quantization(const std::string& model) {
    return nlohmann::json::parse(read_text(path(model + "/config.json"))).at("bigbird").at("quantization");
  }
};

TEST_F(Quantize, APromoterModelKeepsItsAurocAndSaysWhatItIs) {
  const RunResult run = must(quantize("promoter", "p8", {"--data", path("data"), "--max-loss", "0.05"}));
  const auto rows = read_table(run.out);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].at("layer"), "bert.encoder.layer.0.attention.self");
  for (const auto& row : rows) {
    EXPECT_GT(std::stod(row.at("error")), 0.0);
    EXPECT_LT(std::stod(row.at("error")), 0.5);
  }
  const auto json = quantization("p8");
  EXPECT_EQ(json.at("int8").size() + json.at("kept").size(), 4u);
  const auto& measured = json.at("measured");
  EXPECT_EQ(measured.at("measure"), "auroc");
  EXPECT_EQ(measured.at("examples"), 200);
  EXPECT_EQ(measured.at("max_loss"), 0.05);
  EXPECT_GT(measured.at("full").get<double>(), 0.85);
  EXPECT_NEAR(measured.at("loss").get<double>(),
              measured.at("full").get<double>() - measured.at("int8").get<double>(), 1e-12);
  EXPECT_LE(measured.at("loss").get<double>(), 0.05);
  EXPECT_GT(measured.at("effects_spearman").get<double>(), 0.9);
  EXPECT_LE(measured.at("effects_spearman").get<double>(), 1.0);

  // The measured numbers are those of promoter evaluate.
  for (const auto& [model, key] : {std::pair{"promoter", "full"}, {"p8", "int8"}}) {
    const auto evaluated = nlohmann::json::parse(
        must({"promoter", "evaluate", "-m", path(model), "--data", path("data/valid.tsv"), "--strands", "+"})
            .out);
    EXPECT_NEAR(evaluated.at("auroc").get<double>(), measured.at(key).get<double>(), 1e-9) << key;
  }
  // Scores are near those of before, not the same, and their header says int8.
  const Words predict{
      "promoter", "predict", "--strands", "+", "--provenance", "inline", "--data", path("data/valid.tsv"),
      "-m"};
  const std::string before = must(predict + Words{path("promoter")}).out,
                    after = must(predict + Words{path("p8")}).out;
  const auto full = read_table(before), int8 = read_table(after);
  double most = 0.0;
  for (std::size_t i = 0; i < full.size(); ++i)
    most = std::max(most, std::abs(std::stod(full[i].at("score")) - std::stod(int8[i].at("score"))));
  EXPECT_GT(most, 0.0);
  EXPECT_LT(most, 0.2);
  EXPECT_TRUE(holds(after, " arithmetic=int8")) << after.substr(0, 300);
  EXPECT_FALSE(holds(before, "arithmetic="));
  EXPECT_EQ(must(predict + Words{path("p8"), "-@", "3", "--batch-tokens", "64"}).out, after);

  EXPECT_TRUE(holds(must({"info", path("p8")}).out, "int8.layers_kept\t"));
  EXPECT_TRUE(holds(must({"info", path("promoter")}).out, "int8\tnone"));
  const RunResult check = must({"check", path("p8")});
  EXPECT_TRUE(holds(check.out, "\nint8\tok\t")) << check.out;
  EXPECT_TRUE(holds(check.out, "\nself-test\tok\t")) << check.out;
  EXPECT_FALSE(holds(must({"check", path("promoter")}).out, "int8"));
}

TEST_F(Quantize, TheFolderDependsNeitherOnThreadsNorOnTheTimeOfDay) {
  const Words more{"--data", path("data"), "--max-loss", "0.05", "--effect-samples", "20"};
  must(quantize("promoter", "one", more + Words{"-@", "1"}));
  const std::string weights = read_text(path("one/model.safetensors")),
                    config = read_text(path("one/config.json"));
  must(quantize("promoter", "one", more + Words{"-@", "3"}));
  EXPECT_EQ(read_text(path("one/model.safetensors")), weights);
  EXPECT_EQ(read_text(path("one/config.json")), config);
}

TEST_F(Quantize, SoManyLayersStayAsAreAskedFor) {
  const auto rows = read_table(
      must(quantize("promoter", "kept", {"--data", path("data"), "--keep-layers", "2", "--max-loss", "1"}))
          .out);
  std::vector<double> kept, int8;
  for (const auto& row : rows) (row.at("form") == "kept" ? kept : int8).push_back(std::stod(row.at("error")));
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_GE(*std::min_element(kept.begin(), kept.end()), *std::max_element(int8.begin(), int8.end()));
  EXPECT_EQ(quantization("kept").at("kept").size(), 2u);
  EXPECT_TRUE(holds(must({"info", path("kept")}).out, "int8.layers_kept\t2"));
}

TEST_F(Quantize, AChromatinModelIsMeasuredByItsMeanAuroc) {
  must(quantize("chromatin", "c8", {"--data", path("bins"), "--max-loss", "0.05"}));
  const auto measured = quantization("c8").at("measured");
  EXPECT_EQ(measured.at("examples"), 150);
  const auto evaluated = nlohmann::json::parse(must({"chromatin", "evaluate", "-m", path("c8"), "--data",
                                                     path("bins"), "--split", "valid", "--strands", "+"})
                                                   .out);
  EXPECT_TRUE(holds(evaluated.dump(), "\"arithmetic\":\"int8\"")) << evaluated.dump();
  must(quantize(
      "chromatin", "c8",
      {"--data", path("bins"), "--max-loss", "0.05", "--samples", "60", "--fasta-ref", path("genome.fa")}));
  EXPECT_EQ(quantization("c8").at("measured").at("examples"), 60);
  EXPECT_TRUE(holds(must({"check", path("c8")}).out, "\nint8\tok\t"));
}

TEST_F(Quantize, AMaskedTokenModelIsMeasuredByItsDivergence) {
  must(quantize("masked", "m8", {"--data", path("shards"), "--max-loss", "0.2", "--effect-samples", "4"}));
  const auto measured = quantization("m8").at("measured");
  EXPECT_EQ(measured.at("measure"), "kl");
  EXPECT_GT(measured.at("loss").get<double>(), 0.0);
  EXPECT_LT(measured.at("loss").get<double>(), 0.2);
  EXPECT_GT(measured.at("examples").get<int>(), 10);
  EXPECT_FALSE(measured.contains("effects_spearman"));
  // What the folder gives is the loss that was measured.
  const RunResult evaluated =
      must({"evaluate", "-m", path("m8"), "--data", path("shards"), "--no-nsp", "--seed", "1"});
  EXPECT_NEAR(nlohmann::json::parse(evaluated.out).at("mlm_loss").get<double>(),
              measured.at("int8").get<double>(), 1e-6);
  EXPECT_TRUE(holds(must({"check", path("m8")}).out, "\nint8\tok\t"));
}

TEST_F(Quantize, AModelThatLosesTooMuchIsRefusedAndLeavesNothing) {
  const RunResult run = run_bigbird(
      quantize("masked", "refused", {"--data", path("shards"), "--max-loss", "0", "--effect-samples", "4"}));
  EXPECT_NE(run.status, 0);
  EXPECT_TRUE(holds(run.err, "more than 0")) << run.err;
  EXPECT_TRUE(holds(run.err, "--max-loss")) << run.err;
  EXPECT_FALSE(std::filesystem::exists(path("refused")));
}

TEST_F(Quantize, CheckNoticesOtherDataAndALossThatDoesNotComeAgain) {
  must(quantize("masked", "m8", {"--data", path("shards"), "--max-loss", "0.2", "--effect-samples", "4"}));
  RunResult run = run_bigbird({"check", path("m8"), "--data", path("others")});
  EXPECT_NE(run.status, 0);
  EXPECT_TRUE(holds(run.out, "int8\tfailed\t")) << run.out;
  EXPECT_TRUE(holds(run.out, "not the data that the loss was measured on")) << run.out;
  // A folder that claims less than it loses.
  std::string config = read_text(path("m8/config.json"));
  const double quantized = quantization("m8").at("measured").at("int8").get<double>();
  auto json = nlohmann::ordered_json::parse(config);
  json["bigbird"]["quantization"]["measured"]["int8"] = quantized - 0.15;
  write("m8/config.json", json.dump(2));
  run = run_bigbird({"check", path("m8")});
  EXPECT_TRUE(holds(run.out, "\nint8\tfailed\t")) << run.out;
  std::filesystem::rename(path("shards.json"), path("away.json"));
  EXPECT_TRUE(holds(run_bigbird({"check", path("m8")}).out, "\nint8\tskipped\t"));
  std::filesystem::rename(path("away.json"), path("shards.json"));
}

TEST_F(Quantize, TrainingAndConvertGoOnFromTheValuesWithoutIt) {
  must(quantize("promoter", "p8", {"--data", path("data"), "--max-loss", "0.05"}));
  must({"convert", path("p8"), path("plain"), "--force"});
  EXPECT_FALSE(holds(read_text(path("plain/config.json")), "quantization"));
  EXPECT_TRUE(holds(read_text(path("plain/README.md")), "from_pretrained"));
  EXPECT_FALSE(holds(must({"promoter", "predict", "-m", path("plain"), "--data", path("data/valid.tsv")}).out,
                     "arithmetic="));
  const RunResult run = must({"promoter", "finetune", "--data", path("data"), "--init", path("p8"), "-o",
                              path("run"), "--steps", "2", "--batch", "4", "--force"});
  EXPECT_TRUE(holds(run.err, "int8 layers are taken as the numbers")) << run.err;
  EXPECT_FALSE(holds(read_text(path("run/final/config.json")), "quantization"));
}

TEST_F(Quantize, BadInputIsRefusedByName) {
  const auto refused = [&](const Words& words, const std::string& message) {
    const RunResult run = run_bigbird(words);
    EXPECT_NE(run.status, 0);
    EXPECT_TRUE(holds(run.err, message)) << run.err;
    EXPECT_FALSE(std::filesystem::exists(path("bad")));
  };
  must(quantize("promoter", "p8", {"--data", path("data"), "--max-loss", "0.05"}));
  refused(quantize("p8", "bad", {"--data", path("data")}), "its layers are int8 already");
  refused(quantize("none", "bad", {"--data", path("data")}), "no such model folder");
  refused(quantize("promoter", "bad", {"--data", path("bins")}), "holds no valid side");
  refused(quantize("chromatin", "bad", {"--data", path("data/valid.tsv")}), "not a folder");
  refused(quantize("promoter", "bad", {"--data", path("data"), "--keep-layers", "4"}), "--keep-layers 4");
  refused(quantize("promoter", "bad", {"--data", path("data"), "--keep-layers", "some"}),
          "--keep-layers some");
  refused(quantize("promoter", "bad", {"--data", path("data"), "--max-loss", "-1"}), "--max-loss");
  refused(quantize("masked", "bad", {"--data", path("nowhere")}), "nowhere");
  refused({"quantize", path("promoter"), "-o", path("bad")}, "--data");
  write_tiny_text_model(path("text"), {.head = HeadType::question_answering});
  refused(quantize("text", "bad", {"--data", path("data")}), "the model's head is");
}

}  // namespace
}  // namespace bigbird::testing
