// convert, info and check as programs: what they write and say, and how they fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/io/weights/safetensors.h"
#include "lib/io/weights/stored_tensor.h"
#include "lib/model_folder/checkpoint.h"
#include "tests/support/support.h"
#include "tests/support/torch_bytes.h"

namespace bigbird {
namespace {

using testing::run_bigbird;
using testing::RunResult;

class ConvertTest : public ::testing::Test {
 protected:
  ConvertTest() {
    config_.vocab_size = 20;
    config_.hidden_size = 8;
    config_.num_hidden_layers = 1;
    config_.num_attention_heads = 2;
    config_.intermediate_size = 12;
    config_.max_position_embeddings = 64;
    config_.block_size = 4;
    config_.random_mode = RandomMode::hf_train;
    config_.head = HeadType::masked_lm;
    parameters_ = initial_parameters(ParameterLayout(config_), config_, 3);
    std::filesystem::create_directories(path("from"));
    write_model_files(path("from"), config_, ParameterLayout(config_), parameters_, "", "a card\n");
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  RunResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-@", "1"});
    return run_bigbird(arguments);
  }
  RunResult convert(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"convert", path("from"), path("to")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  nlohmann::json json_of(const RunResult& result) {
    EXPECT_EQ(result.status, 0) << result.err;
    return nlohmann::json::parse(result.out);
  }

  testing::TemporaryFolder folder_;
  ModelConfig config_;
  std::vector<float> parameters_;
};

TEST_F(ConvertTest, WritesTheSameModelWithCardProvenanceAndSelfTest) {
  const RunResult result = convert();
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(load_model(path("to"), LoadOptions{}).parameters, parameters_);
  const std::string card = testing::read_text(path("to") + "/README.md");
  EXPECT_NE(card.find("BigBirdForMaskedLM.from_pretrained"), std::string::npos) << card;
  EXPECT_NE(card.find("Converted from `" + path("from") + "`"), std::string::npos) << card;
  const RunResult check = run({"check", path("to")});
  EXPECT_EQ(check.status, 0) << check.out << check.err;
  EXPECT_NE(check.out.find("self-test\tok"), std::string::npos) << check.out;
}

TEST_F(ConvertTest, SixteenBitsHalveTheFileAndPassTheirOwnSelfTest) {
  ASSERT_EQ(convert({"--dtype", "bf16"}).status, 0);
  const SafetensorsFile file(path("to") + "/model.safetensors");
  EXPECT_EQ(file.info("bert.embeddings.word_embeddings.weight").type, TensorType::bf16);
  EXPECT_EQ(run({"check", path("to")}).status, 0);
}

TEST_F(ConvertTest, AnExistingFolderIsKeptWithoutForce) {
  ASSERT_EQ(convert().status, 0);
  const RunResult again = convert({"--dtype", "bf16"});
  EXPECT_EQ(again.status, 1);
  EXPECT_NE(again.err.find("hint: "), std::string::npos) << again.err;
  EXPECT_EQ(SafetensorsFile(path("to") + "/model.safetensors").info("cls.predictions.bias").type,
            TensorType::f32);
  EXPECT_EQ(convert({"--dtype", "bf16", "--force"}).status, 0);
  EXPECT_EQ(SafetensorsFile(path("to") + "/model.safetensors").info("cls.predictions.bias").type,
            TensorType::bf16);
}

TEST_F(ConvertTest, AFailureLeavesNothingBehind) {
  testing::write_text(path("from") + "/model.safetensors", "damaged");
  const RunResult result = convert();
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("model.safetensors"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(path("to")));
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    entries += entry.path().filename() == "from" ? 0u : 1u;
  }
  EXPECT_EQ(entries, 0u);
}

TEST_F(ConvertTest, MissingTensorsAreNamedAndMayBeAllowed) {
  std::vector<testing::FloatTensor> tensors;
  const ParameterLayout layout(config_);
  for (const TensorSpec& spec : layout.tensors()) {
    if (spec.name.starts_with("cls.")) continue;
    const auto begin = parameters_.begin() + spec.offset;
    tensors.push_back({spec.name, spec.shape, {begin, begin + spec.count}});
  }
  std::filesystem::remove(path("from") + "/model.safetensors");
  testing::write_text(path("from") + "/pytorch_model.bin", testing::torch_bytes(tensors));
  const RunResult refused = convert();
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("tensors are missing: cls.predictions.transform.dense.weight"),
            std::string::npos)
      << refused.err;
  // They begin from random values of the seed.
  const auto with_seed = [&](const std::string& seed) {
    EXPECT_EQ(convert({"--allow-missing", "cls.*", "--force", "--seed", seed}).status, 0);
    return load_model(path("to"), LoadOptions{}).parameters;
  };
  EXPECT_EQ(convert({"--allow-missing", "cls.*"}).status, 0);
  const std::vector<float> first = load_model(path("to"), LoadOptions{}).parameters;
  EXPECT_EQ(first, with_seed("1"));
  const std::vector<float> second = with_seed("2");
  for (const TensorSpec& spec : layout.tensors()) {
    const bool same = std::equal(first.begin() + spec.offset, first.begin() + spec.offset + spec.count,
                                 second.begin() + spec.offset);
    if (!spec.name.starts_with("cls.")) {
      EXPECT_TRUE(same) << spec.name;
    } else if (spec.name == "cls.predictions.transform.dense.weight") {
      EXPECT_FALSE(same);
    }
  }
}

TEST_F(ConvertTest, TheGenaFormNeedsAPlanThatIsWrittenDown) {
  const RunResult refused = convert({"--to-dialect", "gena"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("/from: GENA-LM's form cannot hold a plan that is drawn for every length"),
            std::string::npos)
      << refused.err;
  EXPECT_EQ(refused.err.find(".tmp-"), std::string::npos) << refused.err;
  ASSERT_EQ(
      run_bigbird({"attention", "--length", "64", "--heads", "2", "--block-size", "4", "--random-blocks", "1",
                   "--random-mode", "hf-train", "--max-positions", "64", "-o", path("plan.json")})
          .status,
      0);
  const RunResult done = convert({"--to-dialect", "gena", "--plan", path("plan.json")});
  ASSERT_EQ(done.status, 0) << done.err;
  const LoadedModel model = load_model(path("to"), LoadOptions{});
  EXPECT_EQ(model.dialect, Dialect::gena);
  EXPECT_EQ(model.parameters, parameters_);
  EXPECT_EQ(run({"check", path("to")}).status, 0);
}

TEST_F(ConvertTest, UnknownTypesAndDialectsAreUsageErrors) {
  EXPECT_EQ(convert({"--dtype", "fp8"}).status, 2);
  EXPECT_EQ(convert({"--to-dialect", "keras"}).status, 2);
}

TEST_F(ConvertTest, CheckNoticesAnotherFileAndOtherNumbers) {
  ASSERT_EQ(convert().status, 0);
  parameters_[40] += 1.0f;
  write_model_files(path("to"), config_, ParameterLayout(config_), parameters_, "", "a card\n");
  const RunResult result = run({"check", path("to"), "--json"});
  EXPECT_EQ(result.status, 1);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_FALSE(json["passed"]);
  for (const auto& check : json["checks"]) {
    const bool wrong = check["check"] == "files" || check["check"] == "self-test";
    EXPECT_EQ(check["status"] == "failed", wrong) << check;
  }
  EXPECT_EQ(run({"check", path("to"), "--write-digest"}).status, 0);
}

TEST_F(ConvertTest, CheckNamesTensorsThatAreNotFinite) {
  parameters_[5] = std::numeric_limits<float>::infinity();
  write_model_files(path("from"), config_, ParameterLayout(config_), parameters_, "", "a card\n");
  const RunResult result = run({"check", path("from")});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.out.find(
                "finite\tfailed\tNaN or infinity in: bert.embeddings.word_embeddings.weight (1 values)"),
            std::string::npos)
      << result.out;
  EXPECT_EQ(run({"check", path("from"), "--allow-nan"}).status, 0);
  EXPECT_EQ(convert().status, 1);
  EXPECT_EQ(convert({"--allow-nan"}).status, 0);
}

TEST_F(ConvertTest, CheckOfNoModelFails) {
  const RunResult result = run({"check", path("nowhere")});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.out.find("tensors\tfailed"), std::string::npos) << result.out;
}

TEST_F(ConvertTest, InfoDescribesAModelAndItsMemory) {
  const auto json = json_of(run({"info", path("from"), "--json", "--length", "10", "--batch", "3"}));
  EXPECT_EQ(json["kind"], "model");
  EXPECT_EQ(json["dialect"], "hf");
  EXPECT_EQ(json["head"], "masked-lm");
  EXPECT_EQ(json["random_mode"], "hf-train");
  EXPECT_EQ(json["parameters"]["total"], ParameterLayout(config_).count());
  const auto& parts = json["parameters"];
  EXPECT_EQ(parts["embeddings"].get<int>() + parts["layers"].get<int>() + parts["pooler"].get<int>() +
                parts["head"].get<int>(),
            parts["total"].get<int>());
  EXPECT_EQ(json["memory_bytes"]["padded_length"], 12);
  EXPECT_GT(json["memory_bytes"]["training"]["total"], json["memory_bytes"]["inference"]["total"]);
  const RunResult text = run({"info", path("from")});
  EXPECT_EQ(text.status, 0);
  EXPECT_NE(text.out.find("kind\tmodel\n"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("memory_bytes.inference.total\t"), std::string::npos) << text.out;
}

TEST_F(ConvertTest, InfoKnowsGenomesIntervalsAndNothingElse) {
  testing::write_text(path("genome.fa"), ">one\nACGTACGT\n>two\nAC\n");
  const auto genome = json_of(run({"info", path("genome.fa"), "--json"}));
  EXPECT_EQ(genome["kind"], "genome");
  EXPECT_EQ(genome["bases"], 10);
  EXPECT_EQ(genome["lengths"]["two"], 2);
  testing::write_text(path("a.bed"), "one\t1\t4\none\t5\t6\n");
  const auto intervals = json_of(run({"info", path("a.bed"), "--json"}));
  EXPECT_EQ(intervals["kind"], "intervals");
  EXPECT_EQ(intervals["bases"], 4);
  testing::write_text(path("documents.bed"), "one\t0\t8\tdoc0\t0\t+\t0\t8\t0\t2\t4,4\t0,4\n");
  EXPECT_EQ(json_of(run({"info", path("documents.bed"), "--json"}))["sentences"], 2);
  testing::write_text(path("notes.odt"), "PK x");
  const RunResult other = run({"info", path("notes.odt")});
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("not a kind of file that is described"), std::string::npos) << other.err;
  EXPECT_EQ(run({"info", path("nowhere")}).status, 1);
}

}  // namespace
}  // namespace bigbird
