// Every text verb that trains: several learning rates, each trained as alone; RUN/config.toml, which its verb
// reads back and which gives the same weights again; and nothing left of a run that came to nothing.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>

#include "tests/cli/text_fixture.h"
#include "tests/support/tiny_question_model.h"

namespace bigbird::testing {
namespace {

struct TrainingCase {
  const char* name;
  Words verb;
  std::string train;  // the option that takes the data, and its file
  std::string data;
  Words more;
};

class TextTraining : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    TinyTextModel encoder;
    encoder.head = HeadType::masked_lm;
    write_tiny_text_model(path("pre"), encoder);
    write_tiny_question_model(path("questions"), HeadType::masked_lm);
    write_tiny_summary_model(path("writer"));
    std::string csv = "text,label\n", glue = "sentence\tlabel\n", pairs;
    for (std::uint64_t i = 0; i < 8; ++i) {
      csv += tiny_text(i) + "," + (i % 2 == 0 ? "even" : "odd") + "\n";
      glue += tiny_text(i) + "\t" + std::to_string(i % 2) + "\n";
      pairs += "{\"document\": \"" + tiny_text(i) + "\", \"summary\": \"" + tiny_text(i + 20) + "\"}\n";
    }
    write("m.csv", csv);
    write("pairs.jsonl", pairs);
    for (const char* file : {"train.tsv", "dev.tsv"}) write(std::string("glue/SST-2/") + file, glue);
    std::string rte = "index\tsentence1\tsentence2\tlabel\n";
    for (int i = 0; i < 8; ++i)
      rte += std::to_string(i) + "\ta b\tc d\t" + (i % 2 == 0 ? "entailment" : "not_entailment") + "\n";
    for (const char* file : {"train.tsv", "dev.tsv"}) write(std::string("glue/RTE/") + file, rte);
    write("four.json", tiny_questions_json(four_tiny_questions()));
  }

  static std::vector<TrainingCase> cases() {
    return {{"classify",
             {"text", "classify", "finetune", "--valid", path("m.csv"), "--init", path("pre")},
             "--train",
             path("m.csv"),
             {}},
            {"glue",
             {"text", "glue", "finetune", "--task", "sst2", "--init", path("pre")},
             "--data",
             path("glue"),
             {}},
            {"qa",
             {"text", "qa", "finetune", "--valid", path("four.json"), "--init", path("questions")},
             "--train",
             path("four.json"),
             {}},
            {"summarize",
             {"text", "summarize", "finetune", "--valid", path("pairs.jsonl"), "--init", path("writer")},
             "--train",
             path("pairs.jsonl"),
             {"--target-length", "16"}}};
  }
  static Words of(const TrainingCase& one, const std::string& run, const Words& more) {
    return one.verb + Words{one.train, one.data, "-o", path(run), "-@", "1", "--device", "cpu"} + one.more +
           more;
  }
  static Words verb_words(const TrainingCase& one) { return {one.verb[0], one.verb[1], one.verb[2]}; }
  static std::string weights(const std::string& run) {
    return read_text(path(run + "/final/model.safetensors"));
  }
};

TEST_F(TextTraining, EachOfSeveralRatesIsTrainedAsAlone) {
  for (const TrainingCase& one : cases()) {
    const std::string name = one.name;
    const Words few = {"--steps", "2", "--batch", "2"};
    must(of(one, name + "-both", few + Words{"--lr", "1e-3,3e-3"}));
    for (const char* rate : {"0.001", "0.003"}) {
      must(of(one, name + "-" + rate, few + Words{"--lr", rate}));
      EXPECT_TRUE(weights(name + "-both/lr-" + rate) == weights(name + "-" + rate)) << name << " " << rate;
    }
    must(verb_words(one) +
         Words{"--config", path(name + "-both/lr-0.001/config.toml"), "-o", path(name + "-member")});
    EXPECT_TRUE(weights(name + "-member") == weights(name + "-0.001")) << name;
    EXPECT_FALSE(std::filesystem::exists(path(name + "-member/rates.tsv"))) << name;
    EXPECT_FALSE(weights(name + "-0.001") == weights(name + "-0.003")) << name;
  }
}

TEST_F(TextTraining, OfARunWithoutDataNothingStays) {
  write("none.csv", "text,label\n");
  for (TrainingCase one : cases()) {
    for (const char* rates : {"1e-3", "1e-3,3e-3"}) {
      one.data = path("not-there");
      const std::string run = std::string(one.name) + "-nothing";
      EXPECT_NE(run_bigbird(of(one, run, {"--steps", "2", "--lr", rates})).status, 0) << one.name;
      EXPECT_FALSE(std::filesystem::exists(path(run))) << one.name << " " << rates;
    }
  }
  refused({"text", "classify", "finetune", "--train", path("none.csv"), "--init", path("pre"), "-o",
           path("nothing"), "--lr", "1e-3,3e-3"},
          1, "there are no examples");
  EXPECT_FALSE(std::filesystem::exists(path("nothing")));
}

TEST_F(TextTraining, APipeIsReadOnce) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  refused({"text", "classify", "finetune", "--train", pipe, "--init", path("pre"), "-o", path("piped"),
           "--lr", "1e-3,3e-3"},
          2, "can be read only once, and --lr has 2 rates");
}

// A run in a job of Slurm, with options of that call, is repeated anywhere, and replaces nothing.
TEST_F(TextTraining, ConfigTomlHasNoOptionsOfOneCall) {
  const TrainingCase one = cases().front();
  must(of(one, "plain", {"--steps", "2"}));
  for (const char* folder : {"job", "forced"}) {
    const Words call =
        folder == std::string("job") ? Words{"--resume", "--stop-before", "1m"} : Words{"--force"};
    setenv("SLURM_JOB_ID", "74", 1);
    setenv("SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + 3600).c_str(), 1);
    must(of(one, folder, Words{"--steps", "2"} + call));
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_JOB_END_TIME");
    std::string config = read_text(path(std::string(folder) + "/config.toml"));
    const std::size_t at = config.find(path(folder));
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(config.replace(at, path(folder).size(), path("plain")), read_text(path("plain/config.toml")));
    refused(verb_words(one) + Words{"--config", path(std::string(folder) + "/config.toml")}, 1,
            "holds a run already");
    must(verb_words(one) +
         Words{"--config", path(std::string(folder) + "/config.toml"), "-o", path("elsewhere"), "--force"});
    EXPECT_TRUE(weights("elsewhere") == weights("plain"));
  }
}

TEST_F(TextTraining, ConfigTomlIsReadBackAndGivesTheSameRun) {
  for (const TrainingCase& one : cases()) {
    const std::string name = one.name;
    must(of(one, name + "-first", {"--steps", "2"}));
    must(verb_words(one) + Words{"--config", path(name + "-first/config.toml"), "-o", path(name + "-again")});
    EXPECT_TRUE(weights(name + "-again") == weights(name + "-first")) << name;
    std::string again = read_text(path(name + "-again/config.toml"));
    const std::size_t folder = again.find(name + "-again");
    ASSERT_NE(folder, std::string::npos);
    again.replace(folder, name.size() + 6, name + "-first");
    EXPECT_EQ(again, read_text(path(name + "-first/config.toml")));
  }
}

// Defaults of a task are what config.toml has, not those of the parser.
TEST_F(TextTraining, ConfigTomlHasTheDefaultsOfTheTask) {
  const auto config_of = [](const std::string& task) {
    must({"text", "glue", "finetune", "--task", task, "--data", path("glue"), "--init", path("pre"), "-o",
          path("of-" + task), "--steps", "1"});
    return read_text(path("of-" + task + "/config.toml"));
  };
  EXPECT_TRUE(holds(config_of("rte"), "\nlr = 2e-05\n"));
  EXPECT_TRUE(holds(config_of("sst2"), "\nbatch = 32\n"));
}

TEST_F(TextTraining, ConfigTomlHoldsAnyPath) {
  const std::string odd = "odd \"name\" 'of' a # file,\nwith \\ lines";
  write(odd + ".csv", read_text(path("m.csv")));
  must({"text", "classify", "finetune", "--train", path(odd + ".csv"), "--init", path("pre"), "-o", path(odd),
        "--steps", "1"});
  must({"text", "classify", "finetune", "--config", path(odd + "/config.toml"), "-o", path("odd-again")});
  EXPECT_TRUE(weights("odd-again") == weights(odd));
  // As earlier versions wrote it: flags that were not given, both ways.
  write("old.toml", "header = false\nno-header = false\ntrain = '" + path("m.csv") + "'\ninit = \"" +
                        path("pre") + "\"\nsteps = 1 # one\n");
  must({"text", "classify", "finetune", "--config", path("old.toml"), "-o", path("old")});
  write("open.toml", "train = \"not closed\n");
  refused({"text", "classify", "finetune", "--config", path("open.toml"), "-o", path("open")}, 1,
          "a string without its closing \"");
}

TEST_F(TextTraining, WhatIsNoNumberIsSaidPlainly) {
  refused(of(cases().front(), "words", {"--lr", "1e-3,abc"}), 2, "--lr: 'abc' is not a number, and not auto");
  refused(of(cases().front(), "words", {"--lr", "1e-3,1x"}), 2, "--lr 1e-3,1x: '1x' is not a number");
  refused(of(cases().front(), "words", {"--keep-last", "two"}), 2,
          "--keep-last: 'two' is not a number, and not all");
  refused(of(cases().front(), "words", {"--keep-last", "2x"}), 2,
          "--keep-last 2x: '2x' is not a whole number from 0");
}

}  // namespace
}  // namespace bigbird::testing
