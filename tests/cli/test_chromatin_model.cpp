// chromatin finetune and predict on a small simulated genome: what lies in the model folder, exact resume,
// scores that depend on nothing but the window, every format, and inputs that must be refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/support.h"
#include "tests/support/tiny_encoder.h"

namespace bigbird::testing {
namespace {

// One small genome, vocabulary, encoder, data set and fine-tuned model for all tests of the file.
class ChromatinModel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    TinyEncoder shape;
    shape.chromosomes = "3";
    shape.max_positions = "512";
    make_tiny_encoder(folder_->path(), shape);
    must({"chromatin", "build", "--peaks", path("genome/peaks/peaks.tsv"), "-f", genome(), "-o", path("data"),
          "--window", "1000", "--keep", "any", "--valid", "chr2", "--test", "chr3", "--gap", "0"});
    must(finetune("tuned", {"--steps", "4"}));
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }
  static std::string genome() { return path("genome/genome.fa.gz"); }
  static void must(const std::vector<std::string>& arguments) {
    const RunResult run = run_bigbird(arguments);
    ASSERT_EQ(run.status, 0) << run.err;
  }
  static std::vector<std::string> finetune(const std::string& run, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"chromatin",       "finetune", "--data",  path("data"), "--init",
                                          path("run/final"), "-o",       path(run), "--batch",    "4",
                                          "--eval-samples",  "6"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static std::vector<std::string> predict(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"chromatin", "predict", "-m", path("tuned/final"),
                                          "--no-provenance"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static void refused(const std::vector<std::string>& arguments, int status, const std::string& words) {
    const RunResult run = run_bigbird(arguments);
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_NE(run.err.find(words), std::string::npos) << run.err;
  }
  // Twelve bins of chr3, one of them at its beginning.
  static std::string bins() {
    std::string text;
    for (int i = 0; i < 12; ++i)
      text += "chr3\t" + std::to_string(i * 1000) + "\t" + std::to_string(i * 1000 + 200) + "\n";
    write_text(path("bins.bed"), text);
    return path("bins.bed");
  }

  static TemporaryFolder* folder_;
};

TemporaryFolder* ChromatinModel::folder_ = nullptr;

TEST_F(ChromatinModel, TheModelFolderKeepsWindowProfilesAndWeight) {
  const auto config = nlohmann::json::parse(read_text(path("tuned/final/config.json")));
  EXPECT_EQ(config.at("problem_type"), "multi_label_classification");
  EXPECT_EQ(config.at("bigbird").at("positive_weight"), 8.0);
  EXPECT_GT(config.at("bigbird").at("input_length").get<int>(), 0);
  const auto window = nlohmann::json::parse(read_text(path("tuned/final/window.json")));
  EXPECT_EQ(window.at("task"), "chromatin");
  EXPECT_EQ(window.at("length"), 1000);
  EXPECT_EQ(window.at("target_offset"), 400);
  const std::string profiles = read_text(path("tuned/final/profiles.tsv"));
  EXPECT_EQ(static_cast<std::size_t>(std::count(profiles.begin(), profiles.end(), '\n')),
            config.at("id2label").size() + 1);
  const std::string metrics = read_text(path("tuned/metrics.tsv"));
  EXPECT_NE(metrics.find("step\tloss\tprofile_loss\tlr\t"), std::string::npos) << metrics;
  EXPECT_NE(read_text(path("tuned/valid.tsv")).find("\n4\t"), std::string::npos);
}

TEST_F(ChromatinModel, TwoAndTwoStepsAreFourSteps) {
  std::vector<std::string> four = {"--steps", "4",    "--save-every", "2",
                                   "--final", "last", "--strands",    "coin"};
  must(finetune("straight", four));
  std::filesystem::create_directories(path("halves"));
  std::filesystem::copy(path("straight/checkpoint-2"), path("halves/checkpoint-2"),
                        std::filesystem::copy_options::recursive);
  four.push_back("--resume");
  must(finetune("halves", four));
  EXPECT_EQ(read_text(path("straight/final/model.safetensors")),
            read_text(path("halves/final/model.safetensors")));
  refused(finetune("halves", {"--steps", "4", "--resume"}), 2, "--strands");
  refused(finetune("halves", {"--steps", "4", "--strands", "coin", "--positive-weight", "2", "--resume"}), 2,
          "positive_weight");
}

TEST_F(ChromatinModel, BytesDependOnNeitherThreadsNorBatch) {
  const std::vector<std::string> one_at_a_time = {"-f", genome(), "-R", bins(), "-@", "1", "--batch", "1"};
  const RunResult one = run_bigbird(predict(one_at_a_time));
  ASSERT_EQ(one.status, 0) << one.err;
  const RunResult eight = run_bigbird(predict({"-f", genome(), "-R", bins(), "-@", "2", "--batch", "8"}));
  EXPECT_EQ(one.out, eight.out);
  EXPECT_EQ(std::count(one.out.begin(), one.out.end(), '\n'), 13);
  EXPECT_NE(one.out.find("chr3\t0\t200\tNA\t0\t1000\t400\t"), std::string::npos) << one.out;
  EXPECT_NE(one.err.find("with a larger fraction of N than 0.1"), std::string::npos) << one.err;
}

// A data set that was built with relative paths serves from any working folder, also after it moved with its
// genome.
TEST_F(ChromatinModel, TheDataSetIsUsedFromAnotherWorkingFolder) {
  const auto in_folder = [](const std::string& folder, const std::string& arguments) {
    return run_program(
        {"sh", "-c", "cd '" + folder + "' && '" + bigbird_binary() + "' " + arguments + " --no-provenance"});
  };
  const auto must_in = [&](const std::string& folder, const std::string& arguments) {
    const RunResult run = in_folder(folder, arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.out;
  };
  std::filesystem::create_directories(path("moved/elsewhere"));
  std::filesystem::copy(path("genome"), path("moved/genome"), std::filesystem::copy_options::recursive);
  // The peaks of the list are named from the working folder here, in peaks.tsv of the simulator from the
  // list's.
  std::filesystem::create_directories(path("moved/lists"));
  std::string list = read_text(path("genome/peaks/peaks.tsv"));
  for (std::size_t at = 0; (at = list.find(".narrowPeak", at)) != std::string::npos; ++at) {
    const std::size_t name = list.rfind('\t', at) + 1;
    list.insert(name, "genome/peaks/");
    at += std::string("genome/peaks/").size();
  }
  write_text(path("moved/lists/peaks.tsv"), list);
  must_in(path("moved"),
          "chromatin build --peaks lists/peaks.tsv -f genome/genome.fa.gz -o data --window 1000 --keep any "
          "--valid chr2 --test chr3 --gap 0");
  EXPECT_EQ(nlohmann::json::parse(read_text(path("moved/data/manifest.json"))).at("reference"),
            "../genome/genome.fa.gz");
  const std::string predict_there = "chromatin predict -m " + path("tuned/final") + " --split valid --data ";
  const std::string here = must_in(path("moved"), predict_there + "data");
  EXPECT_GT(std::count(here.begin(), here.end(), '\n'), 10);
  EXPECT_TRUE(must_in(path("moved/elsewhere"), predict_there + "../data") == here);
  EXPECT_TRUE(must_in("/", predict_there + path("moved/data")) == here);
  must_in(path("moved/elsewhere"), "chromatin finetune --data ../data --init " + path("run/final") +
                                       " -o run --batch 4 --eval-samples 6 --steps 1");
  // Paths of a manifest that were written from the working folder are found from there.
  std::string manifest = read_text(path("moved/data/manifest.json"));
  manifest.replace(manifest.find("../genome"), 9, "genome");
  write_text(path("moved/data/manifest.json"), manifest);
  EXPECT_TRUE(must_in(path("moved"), predict_there + "data") == here);
  const RunResult lost = in_folder(path("moved/elsewhere"), predict_there + "../data");
  EXPECT_EQ(lost.status, 1);
  EXPECT_NE(lost.err.find("../data/manifest.json: the file genome/genome.fa.gz that it names is neither "
                          "../data/genome/genome.fa.gz nor, from the working folder, genome/genome.fa.gz"),
            std::string::npos)
      << lost.err;
}

TEST_F(ChromatinModel, TheSameModelTwiceIsTheSameEnsembleAndStrandsDiffer) {
  const RunResult both = run_bigbird(predict({"-f", genome(), "-R", bins()}));
  const RunResult twice = run_bigbird(predict({"-m", path("tuned/final"), "-f", genome(), "-R", bins()}));
  const RunResult forward = run_bigbird(predict({"-f", genome(), "-R", bins(), "--strands", "forward"}));
  ASSERT_EQ(twice.status, 0) << twice.err;
  EXPECT_EQ(both.out, twice.out);
  EXPECT_NE(both.out, forward.out);
  EXPECT_EQ(run_bigbird(predict({"-f", genome(), "-R", bins(), "--strands", "+"})).out, forward.out);
}

TEST_F(ChromatinModel, MatricesTracksAndEvaluationComeFromOneDataSet) {
  must(predict({"--data", path("data"), "-O", "npy", "-o", path("p.npy"), "--ablations"}));
  must(predict({"--data", path("data"), "-O", "h5", "-o", path("p.h5")}));
  must(predict({"--data", path("data"), "-O", "bigwig", "--profiles", "0", "-o", path("one.bw")}));
  must(predict({"--data", path("data"), "-O", "bedgraph", "--profiles", "0-1", "-o", path("tracks")}));
  for (const char* name : {"p.rows.tsv", "p.single.npy", "p.rc.npy", "one.bw", "tracks/0.bedgraph",
                           "tracks/1.bedgraph", "tracks/tracks.tsv"}) {
    EXPECT_TRUE(std::filesystem::exists(path(name))) << name;
  }
  EXPECT_EQ(read_text(path("p.npy")), read_text(path("p.rc.npy")));  // one model
  const RunResult from_file = run_bigbird(
      {"chromatin", "evaluate", "--predictions", path("p.npy"), "--data", path("data"), "--no-provenance"});
  ASSERT_EQ(from_file.status, 0) << from_file.err;
  const RunResult from_h5 = run_bigbird(
      {"chromatin", "evaluate", "--predictions", path("p.h5"), "--data", path("data"), "--no-provenance"});
  ASSERT_EQ(from_h5.status, 0) << from_h5.err;
  const auto one = nlohmann::json::parse(from_file.out), other = nlohmann::json::parse(from_h5.out);
  EXPECT_EQ(one.at("evaluations")[0].at("groups"), other.at("evaluations")[0].at("groups"));
}

// A model of tracks begins one of promoters, and that one of tracks again: what is asked for another task.
TEST_F(ChromatinModel, TheHeadOfAnotherTaskIsLeftOutWhereThatIsAskedFor) {
  must({"promoter", "build", "--tss", path("genome/promoters.tss.bed"), "-f", genome(), "-o",
        path("promoters"), "--left", "500", "--right", "300", "--negatives", "random"});
  std::vector<std::string> promoters = {
      "promoter",          "finetune", "--data",       path("promoters"), "--init",
      path("tuned/final"), "-o",       path("called"), "--steps",         "2"};
  refused(promoters, 1, "leave this head out: --fresh-head");
  promoters.push_back("--fresh-head");
  must(promoters);
  must({"promoter", "predict", "-m", path("called/final"), "--data", path("promoters/test.tsv"), "-o",
        path("called.tsv")});
  std::vector<std::string> tracks = {
      "chromatin", "finetune",    "--data",  path("data"), "--init",         path("called/final"),
      "-o",        path("again"), "--batch", "4",          "--eval-samples", "6",
      "--steps",   "2",           "--shift", "7"};
  refused(tracks, 1, "leave this head out: --fresh-head");
  tracks.push_back("--fresh-head");
  must(tracks);
  must({"chromatin", "predict", "-m", path("again/final"), "-f", genome(), "-R", bins(), "-o",
        path("again.tsv")});
  EXPECT_EQ(read_text(path("again/final/profiles.tsv")), read_text(path("tuned/final/profiles.tsv")));
}

TEST_F(ChromatinModel, WrongInputsAreNamed) {
  refused(predict({"-f", genome(), "-R", bins(), "--profiles", "999"}), 2, "there is no profile 999");
  refused(predict({"-f", genome(), "-R", bins(), "-O", "npy", "-o", path("x.tsv")}), 2, ".npy");
  refused(predict({}), 2, "in one way");
  refused(predict({"--data", path("data"), "-R", bins()}), 2, "in one way");
  refused(predict({"--data", path("data"), "--split", "exam"}), 2, "--split exam");
  refused(predict({genome()}), 1, "the model reads windows of 1000");
  refused({"chromatin", "predict", "-m", path("tuned/final"), genome()}, 1,
          "the model reads windows of 1000");
  write_text(path("bad.bed"), "chr3\t0\t200\nchr3\t0\t150\n");
  refused(predict({"-f", genome(), "-R", path("bad.bed"), "-o", path("bad.tsv")}), 1, "bad.bed:2");
  EXPECT_FALSE(std::filesystem::exists(path("bad.tsv")));
  write_text(path("empty.bed"), "");
  refused(predict({"-f", genome(), "-R", path("empty.bed")}), 1, "nothing to predict");
  refused({"chromatin", "predict", "-m", path("run/final"), "-f", genome(), "-R", bins()}, 1,
          "no classifier");
  refused(finetune("tuned", {"--steps", "4"}), 1, "holds a run already");
  refused(finetune("other", {"--strands", "left"}), 2, "both, coin, forward");
  refused(finetune("other", {"--positive-weight", "0"}), 2, "--positive-weight 0");
  refused(finetune("other", {"--length", "100k"}), 2, "--length");
  refused(finetune("other", {"--shift", "401"}), 2, "--shift 401");
  refused(
      {"chromatin", "finetune", "--data", path("genome"), "--init", path("run/final"), "-o", path("other")},
      1, "manifest.json");
  EXPECT_FALSE(std::filesystem::exists(path("other")));
}

}  // namespace
}  // namespace bigbird::testing
