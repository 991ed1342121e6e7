// The options of a training run, on every verb that trains: each reaches the field it names, with the default
// that the help shows; decay and clipping do to the weights what their formulas say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "lib/io/tables/tsv.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/training/run_folder.h"
#include "tests/cli/words.h"
#include "tests/support/support.h"
#include "tests/support/tiny_encoder.h"

namespace bigbird::testing {
namespace {

// One small genome, vocabulary, encoder and a data set for every verb.
class TrainingOptionsOf : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    TinyEncoder shape;
    shape.chromosomes = "3";
    make_tiny_encoder(folder_->path(), shape);
    must({"promoter", "build", "--tss", path("genome/promoters.tss.bed"), "-f", path("genome/genome.fa.gz"),
          "-o", path("examples"), "--left", "300", "--right", "100"});
    must({"chromatin", "build", "--peaks", path("genome/peaks/peaks.tsv"), "-f", path("genome/genome.fa.gz"),
          "-o", path("data"), "--window", "400", "--keep", "any", "--valid", "chr2", "--test", "chr3",
          "--gap", "0"});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }
  static RunResult must(const Words& words) {
    const RunResult run = run_bigbird(words);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  }
  static bool is_pretraining() { return GetParam() == "pretrain"; }
  static Words verb() {
    const std::size_t space = GetParam().find(' ');
    if (space == std::string::npos) return {GetParam()};
    return {GetParam().substr(0, space), GetParam().substr(space + 1)};
  }
  static std::map<std::string, Words> data_of_verbs() {
    return {{"pretrain",
             {"--train", path("shards"), "--valid", path("shards"), "-m", path("tokenizer"), "--eval-samples",
              "6"}},
            {"promoter finetune", {"--data", path("examples")}},
            {"chromatin finetune", {"--data", path("data"), "--eval-samples", "6"}}};
  }
  // A run that begins from RUN/final of the tiny encoder, of 64 tokens a sequence.
  static Words train(const std::string& run, const Words& more, const std::string& init = "run/final") {
    Words words = verb() + data_of_verbs().at(GetParam()) +
                  Words{"--init", path(init), "-o", path(run), "-@", "1", "--device", "cpu"} + more;
    if (std::find(words.begin(), words.end(), "--length") == words.end())
      words = words + Words{"--length", "64"};
    return words;
  }
  // The name of a run of this verb and test.
  static std::string run_name(const std::string& name) {
    return std::regex_replace(GetParam(), std::regex(" "), "-") + "-" + name;
  }

  static std::map<std::string, std::vector<float>> tensors(const std::string& file) {
    const SafetensorsFile opened(file);
    std::map<std::string, std::vector<float>> all;
    for (const TensorInfo& tensor : opened.tensors()) all[tensor.name] = opened.floats(tensor.name);
    return all;
  }
  static std::set<std::string> names_in(const std::string& run) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path(run))) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  static std::vector<std::string> column(const std::string& file, const std::string& name) {
    TsvReader table(path(file));
    std::vector<std::string> values;
    for (std::vector<std::string_view> fields; table.next(fields);) {
      values.emplace_back(fields[table.column(name)]);
    }
    return values;
  }

  static TemporaryFolder* folder_;
};

TemporaryFolder* TrainingOptionsOf::folder_ = nullptr;

TEST_P(TrainingOptionsOf, EveryOptionThatDecidesTheWeightsReachesItsField) {
  const std::string run = run_name("all");
  must(train(run, {"--length",       "96",  "--batch",       "3",           "--accumulate", "2",
                   "--steps",        "4",   "--dropout",     "0.25",        "--lr",         "0.002",
                   "--warmup",       "1",   "--schedule",    "huggingface", "--optimizer",  "torch",
                   "--beta1",        "0.8", "--beta2",       "0.95",        "--epsilon",    "0.001",
                   "--weight-decay", "0.5", "--clip-norm",   "0.75",        "--seed",       "11",
                   "--average",      "0.9", "--layer-decay", "0.8"}));
  const TrainState state = read_train_state(path(run + "/checkpoint-4"));
  std::map<std::string, std::string> expected = {{"batch", "3"},
                                                 {"accumulate", "2"},
                                                 {"steps", "4"},
                                                 {"model.hidden_dropout_prob", "0.25"},
                                                 {"learning_rate", "0.002"},
                                                 {"warmup", "1"},
                                                 {"schedule", "huggingface"},
                                                 {"optimizer", "torch"},
                                                 {"beta1", "0.8"},
                                                 {"beta2", "0.95"},
                                                 {"epsilon", "0.001"},
                                                 {"weight_decay", "0.5"},
                                                 {"clip_norm", "0.75"},
                                                 {"seed", "11"},
                                                 {"average_decay", "0.9"},
                                                 {"layer_decay", "0.8"}};
  if (is_pretraining()) {
    expected["length"] = "96";
  } else {
    expected["model.bigbird.input_length"] = "96";
    expected["init"] = path("run/final");
  }
  for (const auto& [name, value] : expected) {
    const auto found = state.options.find(name);
    ASSERT_NE(found, state.options.end()) << name;
    EXPECT_EQ(found->second, value) << name;
  }
}

TEST_P(TrainingOptionsOf, TheHelpShowsTheDefaults) {
  Words lines = {"--accumulate {N,auto}=auto ",
                 "--dropout FLOAT=auto ",
                 "--recipe {standard,paper}=standard\n",
                 "--lr FLOAT=auto ",
                 "--schedule {google,huggingface,inverse-sqrt}=huggingface\n",
                 "--optimizer {google,torch,lamb,adafactor}=torch\n",
                 "--beta1 FLOAT=0.9 ",
                 "--beta2 FLOAT=0.999 ",
                 "--epsilon FLOAT=auto ",
                 "--weight-decay FLOAT=0.01 ",
                 "--layer-decay FLOAT=1 ",
                 "--memory-limit UINT=auto ",
                 "--keep-last UINT=2 ",
                 "--keep-best UINT=1 ",
                 "--seed UINT=1 ",
                 "--warmup UINT "};
  lines = lines + (is_pretraining()
                       ? Words{"--length INT=1024 ", "--batch {N,auto}=16 ", "--steps UINT=5000 ",
                               "--save-every UINT=1000 ", "--eval-every UINT=auto ", "--layers INT=4 ",
                               "--clip-norm FLOAT=1 ", "--average FLOAT=never "}
                       : Words{"--length INT=auto ", "--batch {N,auto}=32 ", "--steps UINT=auto ",
                               "--epochs FLOAT=3 ", "--save-every UINT=500 ", "--eval-every UINT=auto ",
                               "--clip-norm FLOAT=never ", "--average FLOAT=auto "});
  lines.push_back("--final {best,last}=best ");
  const RunResult help = must(verb() + Words{"--help", "all"});
  for (const std::string& line : lines) EXPECT_NE(help.out.find(line), std::string::npos) << line;
}

// The memory decides; the run has the number, in every place that tells of it, and keeps it.
TEST_P(TrainingOptionsOf, AnAutomaticBatchBecomesANumberThatTheRunKeeps) {
  const RunResult run = must(train(run_name("auto"), {"--batch", "auto", "--steps", "1"}));
  std::smatch chosen;
  ASSERT_TRUE(std::regex_search(run.err, chosen, std::regex("batch chosen: ([0-9]+) \\("))) << run.err;
  EXPECT_LT(run.err.find("batch chosen"), run.err.find("planned:"));
  const std::string number = chosen[1];
  EXPECT_GT(std::stoi(number), 1);
  EXPECT_EQ(read_train_state(path(run_name("auto/checkpoint-1"))).options.at("batch"), number);
  EXPECT_NE(read_text(path(run_name("auto/config.toml"))).find("\nbatch = " + number + "\n"),
            std::string::npos);
  const std::string metrics = read_text(path(run_name("auto/provenance.json")));
  EXPECT_NE(metrics.find("--batch " + number + " "), std::string::npos) << metrics;
  EXPECT_EQ(metrics.find("auto"), std::string::npos) << metrics;
  // As few parts as fit: of what is left of a machine's memory one.
  const RunResult parts =
      must(train(run_name("parts"), {"--batch", number, "--accumulate", "auto", "--steps", "1"}));
  EXPECT_NE(parts.err.find("accumulate chosen: 1 (" + number + " sequences at a time"), std::string::npos)
      << parts.err;
  for (const char* weights : {"/final/model.safetensors", "/checkpoint-1/optimizer.safetensors"})
    EXPECT_EQ(read_text(path(run_name("parts")) + weights), read_text(path(run_name("auto")) + weights));

  // The same where nothing is typed, with the number in config.toml and no word of it in the command.
  const RunResult unsaid = must(train(run_name("unsaid"), {"--batch", number, "--steps", "1"}));
  EXPECT_NE(unsaid.err.find("accumulate chosen: 1 ("), std::string::npos) << unsaid.err;
  EXPECT_NE(read_text(path(run_name("unsaid/config.toml"))).find("\naccumulate = 1\n"), std::string::npos);
  EXPECT_EQ(read_text(path(run_name("unsaid/provenance.json"))).find("--accumulate"), std::string::npos);

  const RunResult again = must(train(run_name("auto"), {"--batch", "auto", "--steps", "1", "--resume"}));
  EXPECT_NE(again.err.find("batch chosen: " + number + " (as in the part of the run"), std::string::npos)
      << again.err;
  const RunResult both =
      run_bigbird(train(run_name("both"), {"--batch", "auto", "--accumulate", "auto", "--steps", "1"}));
  EXPECT_EQ(both.status, 2);
  EXPECT_NE(both.err.find("--batch auto and --accumulate auto"), std::string::npos) << both.err;
  const RunResult word = run_bigbird(train(run_name("both"), {"--batch", "most"}));
  EXPECT_EQ(word.status, 2);
  EXPECT_FALSE(std::filesystem::exists(path(run_name("both"))));
}

TEST_P(TrainingOptionsOf, EpochsAndStepsAndValidationsAreCounted) {
  if (is_pretraining()) {
    must(train(run_name("count"), {"--batch", "2", "--steps", "5", "--eval-every", "2"}));
    EXPECT_EQ(column(run_name("count/valid.tsv"), "step"), (Words{"2", "4", "5"}));
    must(train(run_name("never"), {"--batch", "2", "--steps", "3", "--eval-every", "0"}));
    EXPECT_FALSE(std::filesystem::exists(path(run_name("never/valid.tsv"))));
    return;
  }
  // Two sequences an update are as many epochs in half as many steps.
  must(train(run_name("count"), {"--batch", "64", "--epochs", "2.5", "--eval-every", "epoch"}));
  const TrainState state = read_train_state(path(run_name("count/checkpoint-")) +
                                            column(run_name("count/metrics.tsv"), "step").back());
  const std::string samples = GetParam() == "promoter finetune"
                                  ? state.options.at("data (training windows)")
                                  : state.options.at("data (bins, training bins, profiles, window)");
  // Of the second number the bins of training, each on both strands.
  const double per_epoch =
      (GetParam() == "promoter finetune" ? std::stod(samples)
                                         : 2 * std::stod(samples.substr(samples.find(' ')))) /
      64;
  EXPECT_EQ(state.step, static_cast<std::uint64_t>(std::ceil(2.5 * per_epoch)));
  const auto every = static_cast<std::uint64_t>(std::llround(per_epoch));
  EXPECT_EQ(column(run_name("count/valid.tsv"), "step"),
            (Words{std::to_string(every), std::to_string(2 * every), std::to_string(state.step)}));
  must(train(run_name("often"), {"--batch", "2", "--steps", "5", "--eval-every", "2"}));
  EXPECT_EQ(column(run_name("often/valid.tsv"), "step"), (Words{"2", "4", "5"}));
}

// Without a warm-up, the first update of the google variant is p - lr (m / (sqrt(v) + epsilon) + decay p): of
// two runs that differ in the decay alone the weights differ by lr decay p, and by nothing where there is no
// decay.
TEST_P(TrainingOptionsOf, WeightDecayPullsTheWeightsAsItsFormulaSays) {
  const Words once = {"--batch",      "4", "--steps",     "3", "--warmup", "0", "--lr", "0.002",
                      "--save-every", "1", "--keep-last", "0", "--seed",   "5"};
  must(train(run_name("plain"), once + Words{"--weight-decay", "0"}));
  must(train(run_name("decay"), once + Words{"--weight-decay", "0.5"}));
  const auto plain = tensors(path(run_name("plain/checkpoint-1/model.safetensors")));
  const auto decayed = tensors(path(run_name("decay/checkpoint-1/model.safetensors")));
  const auto classes = static_cast<std::int64_t>(
      is_pretraining() ? 0 : load_model(path(run_name("plain/final")), LoadOptions{}).config.num_labels);
  const LoadedModel start = load_model(
      path("run/final"), is_pretraining() ? HeadType::pretraining : HeadType::classification, 5, classes);
  const ParameterLayout layout(start.config);
  std::size_t pulled = 0;
  for (const TensorSpec& tensor : layout.tensors()) {
    const auto found = plain.find(tensor.name);
    ASSERT_NE(found, plain.end()) << tensor.name;
    const bool pulls = !tensor.name.ends_with(".bias") &&
                       tensor.name.find("LayerNorm") == std::string::npos &&
                       (is_pretraining() || tensor.name.find("pooler") == std::string::npos);
    for (std::size_t i = 0; i < found->second.size(); ++i) {
      const double before =
          static_cast<double>(start.parameters[static_cast<std::size_t>(tensor.offset) + i]);
      const double difference =
          static_cast<double>(decayed.at(tensor.name)[i]) - static_cast<double>(found->second[i]);
      ASSERT_NEAR(difference, pulls ? -0.002 * 0.5 * before : 0.0, 2e-8) << tensor.name << " " << i;
      pulled += std::abs(difference) > 1e-6 ? 1u : 0u;
    }
  }
  EXPECT_GT(pulled, 1000u);
}

// The first moment after one update is (1 - beta1) times the gradient, cut to the norm that was asked for.
TEST_P(TrainingOptionsOf, ClippingCutsTheGradientToItsNorm) {
  const Words once = {"--batch", "4", "--steps", "1", "--warmup", "0", "--beta1", "0.75"};
  must(train(run_name("whole"), once + Words{"--clip-norm", "never"}));
  must(train(run_name("clipped"), once + Words{"--clip-norm", "0.125"}));
  const double norm = std::stod(column(run_name("whole/metrics.tsv"), "grad_norm").at(0));
  ASSERT_GT(norm, 0.2);
  EXPECT_NEAR(std::stod(column(run_name("clipped/metrics.tsv"), "grad_norm").at(0)), norm, 1e-6 * norm);
  const auto whole = tensors(path(run_name("whole/checkpoint-1/optimizer.safetensors")));
  double squares = 0;
  for (const auto& [name, moments] : tensors(path(run_name("clipped/checkpoint-1/optimizer.safetensors")))) {
    if (!name.starts_with("exp_avg.")) continue;
    for (std::size_t i = 0; i < moments.size(); ++i) {
      const double moment = static_cast<double>(moments[i]);
      squares += moment * moment / (0.25 * 0.25);
      ASSERT_NEAR(moment, static_cast<double>(whole.at(name)[i]) * 0.125 / norm, 1e-8) << name << " " << i;
    }
  }
  EXPECT_NEAR(std::sqrt(squares), 0.125, 1e-6);
}

TEST_P(TrainingOptionsOf, AdafactorTakesItsOwnOptionsAndGoesOn) {
  const std::string run = run_name("adafactor");
  const Words two = {"--batch", "2", "--steps", "2", "--optimizer", "adafactor", "--lr", "0.01"};
  must(train(run, two + Words{"--clip-norm", "1", "--layer-decay", "0.8"}));
  const TrainState state = read_train_state(path(run + "/checkpoint-2"));
  EXPECT_EQ(state.options.at("optimizer"), "adafactor");
  EXPECT_EQ(state.options.at("clip_norm"), "1");
  EXPECT_FALSE(state.options.contains("beta1"));
  bool factored = false;
  for (const auto& [name, values] : tensors(path(run + "/checkpoint-2/optimizer.safetensors"))) {
    EXPECT_FALSE(name.starts_with("exp_avg.")) << name;
    factored = factored || name.starts_with("exp_avg_sq_row.");
  }
  EXPECT_TRUE(factored);
  must(verb() + Words{"--config", path(run + "/config.toml"), "-o", path(run + "-again")});
  EXPECT_EQ(read_text(path(run + "-again/final/model.safetensors")),
            read_text(path(run + "/final/model.safetensors")))
      << "again, as config.toml says, which has every option";
  for (const char* option : {"--beta1", "--beta2", "--epsilon", "--weight-decay"}) {
    const RunResult refused = run_bigbird(train(run_name("refused-adafactor"), two + Words{option, "0.5"}));
    EXPECT_EQ(refused.status, 2) << refused.err;
    EXPECT_NE(refused.err.find(std::string(option) + " 0.5: an option of AdamW"), std::string::npos)
        << refused.err;
    EXPECT_NE(refused.err.find("hint: "), std::string::npos) << refused.err;
  }
}

TEST_P(TrainingOptionsOf, LambTakesTheOptionsOfAdamWAndGoesOn) {
  const std::string run = run_name("lamb");
  must(train(run, {"--batch", "2", "--steps", "2", "--optimizer", "lamb", "--clip-norm", "1", "--lr", "0.01",
                   "--weight-decay", "0.05", "--beta2", "0.99", "--layer-decay", "0.8"}));
  const TrainState state = read_train_state(path(run + "/checkpoint-2"));
  EXPECT_EQ(state.options.at("optimizer"), "lamb");
  EXPECT_EQ(state.options.at("weight_decay"), "0.05");
  must(verb() + Words{"--config", path(run + "/config.toml"), "-o", path(run + "-again")});
  EXPECT_EQ(read_text(path(run + "-again/final/model.safetensors")),
            read_text(path(run + "/final/model.safetensors")))
      << "again, as config.toml says, which has every option";
}

TEST_P(TrainingOptionsOf, CheckpointsAreKeptAsAskedFor) {
  const Words six = {"--batch",      "2", "--steps", "6",   "--save-every", "2",
                     "--eval-every", "2", "--final", "last"};
  const auto kept = [&](const std::string& name, const Words& more) {
    must(train(run_name(name), six + more));
    std::set<std::string> checkpoints;
    for (const std::string& entry : names_in(run_name(name))) {
      if (entry.starts_with("checkpoint-")) checkpoints.insert(entry.substr(11));
    }
    return checkpoints;
  };
  using Steps = std::set<std::string>;
  EXPECT_EQ(kept("keep-2", {"--keep-last", "2", "--keep-best", "0"}), (Steps{"4", "6"}));
  EXPECT_EQ(kept("keep-1", {"--keep-last", "1", "--keep-best", "0"}), (Steps{"6"}));
  EXPECT_EQ(kept("keep-0", {"--keep-last", "0"}), (Steps{"2", "4", "6"}));
  EXPECT_EQ(kept("keep-best", {"--keep-last", "1", "--keep-best", "3"}), (Steps{"2", "4", "6"}));
}

// With so high a rate the loss goes up again, sooner or later.
TEST_P(TrainingOptionsOf, FinalIsTheBestValidatedStateOrTheLast) {
  const Words steps = {"--batch", "2",    "--steps",      "8",      "--eval-every", "1",
                       "--lr",    "0.05", "--save-every", "100",    "--keep-best",  "0",
                       "--seed",  "3",    "--schedule",   "google", "--warmup",     "0"};
  const RunResult best = must(train(run_name("best"), steps + Words{"--final", "best"}));
  const RunResult last = must(train(run_name("last"), steps + Words{"--final", "last"}));
  const std::vector<std::string> losses = column(run_name("best/valid.tsv"), "loss");
  std::size_t least = 0;
  for (std::size_t i = 1; i < losses.size(); ++i) {
    if (std::stod(losses[i]) < std::stod(losses[least])) least = i;
  }
  ASSERT_LT(least + 1, losses.size()) << "the last state is the best one: nothing is shown";
  const std::string step = std::to_string(least + 1);
  EXPECT_NE(best.err.find("as it was after step " + step + " with validation loss"), std::string::npos)
      << best.err;
  EXPECT_EQ(last.err.find("as it was after step"), std::string::npos) << last.err;
  const auto weights = [&](const std::string& folder) {
    return tensors(path(run_name(folder) + "/model.safetensors"));
  };
  EXPECT_EQ(weights("best/final"), weights("best/checkpoint-" + step));
  EXPECT_EQ(weights("last/final"), weights("last/checkpoint-8"));
  EXPECT_EQ(weights("best/checkpoint-8"), weights("last/checkpoint-8"));
  EXPECT_NE(weights("best/final"), weights("last/final"));
}

TEST_P(TrainingOptionsOf, EachRateOfSeveralGivesWhatItGivesAlone) {
  const Words steps = {"--batch", "2", "--steps",  "3", "--eval-every", "3",
                       "--seed",  "3", "--warmup", "0", "--final",      "best"};
  must(train(run_name("rates"), steps + Words{"--lr", "1e-3,3e-3"}));
  const auto weights = [&](const std::string& folder) {
    return tensors(path(run_name(folder) + "/final/model.safetensors"));
  };
  for (const char* rate : {"0.001", "0.003"}) {
    must(train(run_name(std::string("alone-") + rate), steps + Words{"--lr", rate}));
    EXPECT_EQ(weights(std::string("rates/lr-") + rate), weights(std::string("alone-") + rate)) << rate;
  }
  EXPECT_EQ(names_in(run_name("rates")), (std::set<std::string>{"config.toml", "final", "lr-0.001",
                                                                "lr-0.003", "provenance.json", "rates.tsv"}));
  // Each folder's options repeat what is in that folder: one rate, and all of them.
  const auto repeat = [&](const std::string& name, const std::string& folder) {
    must(verb() + Words{"--config", path(run_name(folder) + "/config.toml"), "-o", path(run_name(name))});
  };
  repeat("rate-again", "rates/lr-0.003");
  EXPECT_EQ(weights("rate-again"), weights("rates/lr-0.003"));
  EXPECT_EQ(names_in(run_name("rate-again")), names_in(run_name("rates/lr-0.003")));
  repeat("rates-again", "rates");
  EXPECT_EQ(weights("rates-again/lr-0.001"), weights("rates/lr-0.001"));
  EXPECT_EQ(weights("rates-again"), weights("rates"));
  // As it stands, it names its own folder.
  EXPECT_NE(run_bigbird(verb() + Words{"--config", path(run_name("rates/lr-0.003/config.toml"))})
                .err.find(run_name("rates/lr-0.003") + ": holds a run already"),
            std::string::npos);
}

TEST_P(TrainingOptionsOf, PatienceEndsARunThatGetsNoBetter) {
  const RunResult run = must(
      train(run_name("patient"), {"--batch", "2", "--steps", "60", "--eval-every", "1", "--lr", "0.05",
                                  "--warmup", "0", "--final", "best", "--patience", "3", "--seed", "3"}));
  const std::vector<std::string> losses = column(run_name("patient/valid.tsv"), "loss");
  ASSERT_LT(losses.size(), 60u);
  ASSERT_GT(losses.size(), 3u);
  std::size_t least = 0;
  for (std::size_t i = 1; i < losses.size(); ++i) {
    if (std::stod(losses[i]) < std::stod(losses[least])) least = i;
  }
  EXPECT_EQ(least + 4, losses.size());
  EXPECT_NE(run.err.find("ended after step " + std::to_string(losses.size()) + " of 60"), std::string::npos)
      << run.err;
}

TEST_P(TrainingOptionsOf, RecomputingActivationsTakesLessMemoryAndTheSameSteps) {
  const Words two = {"--batch", "4", "--steps", "2", "-v"};
  const RunResult kept = must(train(run_name("kept"), two));
  const RunResult recomputed = must(train(run_name("recomputed"), two + Words{"--grad-checkpoint"}));
  EXPECT_NE(kept.err.find("activations of 1 layers"), std::string::npos) << kept.err;
  EXPECT_NE(recomputed.err.find("inputs of 1 layers"), std::string::npos) << recomputed.err;
  EXPECT_EQ(read_text(path(run_name("kept/final/model.safetensors"))),
            read_text(path(run_name("recomputed/final/model.safetensors"))));
  const RunResult refused = run_bigbird(train(run_name("limited"), two + Words{"--memory-limit", "1M"}));
  EXPECT_EQ(refused.status, 3) << refused.err;
  EXPECT_NE(refused.err.find("the limit is 1.0 MiB"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(path(run_name("limited"))));
}

// Half of a model's weights are as good as infinite.
TEST_P(TrainingOptionsOf, DebugNanNamesTheLayer) {
  LoadedModel model = load_model(path("run/final"), LoadOptions{});
  const ParameterLayout layout(model.config);
  const TensorSpec& weight = *layout.find("bert.encoder.layer.0.output.dense.weight");
  const TensorSpec& bias = *layout.find("bert.encoder.layer.0.intermediate.dense.bias");
  std::fill_n(model.parameters.begin() + weight.offset, weight.count, 3e38f);
  std::fill_n(model.parameters.begin() + bias.offset, bias.count, 1e3f);
  const std::string folder = run_name("poisoned");
  std::filesystem::create_directories(path(folder));
  write_model_files(path(folder), model.config, layout, model.parameters, path("tokenizer"), "");
  const Words two = {"--batch", "2", "--steps", "2"};
  const RunResult blind = run_bigbird(train(run_name("blind"), two, folder));
  EXPECT_EQ(blind.status, 1) << blind.err;
  EXPECT_EQ(blind.err.find("first in"), std::string::npos) << blind.err;
  EXPECT_NE(blind.err.find("lower --lr, lengthen --warmup or set --clip-norm 1 (--debug-nan names"),
            std::string::npos)
      << blind.err;
  const RunResult searched = run_bigbird(train(run_name("searched"), two + Words{"--debug-nan"}, folder));
  EXPECT_EQ(searched.status, 1) << searched.err;
  EXPECT_NE(searched.err.find("not finite, first in layer 1 of 1"), std::string::npos) << searched.err;
}

// What is typed stays, whatever the recipe says; the run tells what it took.
TEST_P(TrainingOptionsOf, TheRecipeOfThePaperIsThePublishedOne) {
  const std::string run = run_name("paper");
  must(train(
      run, {"--batch", "2", "--steps", "2", "--recipe", "paper", "--beta2", "0.9", "--eval-every", "never"}));
  const TrainState state = read_train_state(path(run + "/checkpoint-2"));
  for (const auto& [option, value] : std::map<std::string, std::string>{{"optimizer", "google"},
                                                                        {"schedule", "google"},
                                                                        {"clip_norm", "0"},
                                                                        {"learning_rate", "0.0001"},
                                                                        {"beta2", "0.9"},
                                                                        {"batch", "2"}})
    EXPECT_EQ(state.options.at(option), value) << option;
  EXPECT_EQ(state.options.count("average_decay"), 0U);
  const std::string toml = read_text(path(run + "/config.toml"));
  for (const char* line :
       {"recipe = \"paper\"\n", "lr = 0.0001\n", "optimizer = \"google\"\n", "average = 0\n"})
    EXPECT_NE(toml.find(line), std::string::npos) << line << toml;
  must(verb() + Words{"--config", path(run + "/config.toml"), "-o", path(run + "-again")});
  EXPECT_EQ(read_text(path(run + "-again/final/model.safetensors")),
            read_text(path(run + "/final/model.safetensors")));
  must(train(run_name("standard"), {"--batch", "2", "--steps", "2"}));
  EXPECT_NE(read_text(path(run_name("standard/config.toml"))).find("eval-every = \"auto\"\n"),
            std::string::npos);
  must(verb() +
       Words{"--config", path(run_name("standard/config.toml")), "-o", path(run_name("standard-again"))});
  EXPECT_EQ(run_bigbird(train(run_name("no"), {"--recipe", "best"})).status, 2);
}

TEST_P(TrainingOptionsOf, ARunGoesOnOrIsReplacedWhenAsked) {
  const Words two = {"--batch", "2", "--steps", "2"};
  const std::string run = run_name("again");
  must(train(run, two));
  EXPECT_EQ(run_bigbird(train(run, two)).status, 1);
  EXPECT_NE(must(train(run, two + Words{"--resume"})).err.find("going on from"), std::string::npos);
  const RunResult other = run_bigbird(train(run, two + Words{"--resume", "--lr", "0.5", "--clip-norm", "2"}));
  EXPECT_EQ(other.status, 2);
  const std::string before = is_pretraining() ? "--clip-norm was 1, is 2; --lr was 0.0009"
                                              : "--clip-norm was 0, is 2; --lr was 0.0003";
  EXPECT_NE(other.err.find("cannot go on with other options: " + before + ", is 0.5"), std::string::npos)
      << other.err;
  must(train(run, {"--batch", "2", "--steps", "1", "--force"}));
  EXPECT_EQ(names_in(run).count("checkpoint-2"), 0u);
  EXPECT_EQ(names_in(run).count("checkpoint-1"), 1u);
}

TEST_P(TrainingOptionsOf, ImpossibleNumbersAreNamedByTheirOption) {
  const std::string run = run_name("refused");
  for (const auto& [words, said] : std::vector<std::pair<Words, std::string>>{
           {{"--batch", "0"}, "--batch 0: must be at least 1"},
           {{"--batch", "2", "--accumulate", "3"}, "--accumulate 3: must be between 1 and the batch of 2"},
           {{"--lr", "1"}, "--lr 1: must be between 0 and 1"},
           {{"--steps", "3", "--warmup", "4"}, "--warmup 4: longer than the 3 steps of the run"},
           {{"--schedule", "cosine"}, "'cosine' is not a choice of --schedule"},
           {{"--optimizer", "lion"}, "'lion' is not a choice of --optimizer"},
           {{"--final", "first"}, "'first' is not a choice of --final"},
           {{"--patience", "2", "--final", "last"}, "--patience 2: what is waited for is a better state"},
           {{"--clip-norm", "-1"}, "--clip-norm"},
           {{"--resume", "--force"}, "--resume and --force contradict each other"}}) {
    const RunResult result = run_bigbird(train(run, words));
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("hint: "), std::string::npos) << result.err;
  }
  EXPECT_FALSE(std::filesystem::exists(path(run)));
}

INSTANTIATE_TEST_SUITE_P(EveryVerb, TrainingOptionsOf,
                         ::testing::Values("pretrain", "promoter finetune", "chromatin finetune"),
                         [](const auto& instance) {
                           return std::regex_replace(instance.param, std::regex(" "), "_");
                         });

}  // namespace
}  // namespace bigbird::testing
