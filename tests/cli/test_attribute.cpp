// `bigbird attribute`: a track of the region, of one or several profiles and models, by either method; bad
// input.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird {
namespace {

using testing::run_bigbird;

// The value of each base of a track.
std::map<int, double> values_of(const std::string& bedgraph) {
  std::map<int, double> values;
  std::istringstream lines(bedgraph);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream fields(line);
    std::string contig;
    int begin = 0, end = 0;
    double value = 0;
    fields >> contig >> begin >> end >> value;
    for (; begin < end; ++begin) values[begin] = value;
  }
  return values;
}

class AttributeCommand : public ::testing::Test {
 protected:
  AttributeCommand() {
    testing::write_tiny_classifier(folder_ / "model");
    std::string bases;
    CounterRng rng(1, Purpose::test, 0);
    for (int i = 0; i < 400; ++i) bases += "ACGT"[rng.below(4)];
    bases.replace(210, 5, "NNNNN");
    testing::write_text(folder_ / "genome.fa", ">chr1\n" + bases + "\n");
  }
  testing::RunResult attribute(std::vector<std::string> more) {
    std::vector<std::string> command = {"attribute", "-m", folder_ / "model", "-f", folder_ / "genome.fa"};
    command.insert(command.end(), more.begin(), more.end());
    return run_bigbird(command);
  }
  testing::TemporaryFolder folder_;
};

TEST_F(AttributeCommand, WritesATrackOfTheRegion) {
  const auto done = attribute({"-r", "chr1:201-220", "--profile", "2", "--provenance", "inline"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("##profile=2 K562|DNase\n"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("\nchr1\t200\t"), std::string::npos) << done.out;
  EXPECT_EQ(done.out.find("chr1\t210\t"), std::string::npos) << "N has no value";
  EXPECT_NE(done.out.find("\nchr1\t215\t"), std::string::npos) << done.out;
  EXPECT_NE(done.err.find("5 of 20 bases are N"), std::string::npos) << done.err;
  const auto threads = [&](const char* count) {
    return attribute({"-r", "chr1:201-220", "--profiles", "2", "--no-provenance", "-@", count}).out;
  };
  EXPECT_EQ(threads("1"), threads("2"));
  const auto chosen = [&](const char* option, const char* profile, const char* batch_tokens) {
    return attribute(
               {"-r", "chr1:201-220", option, profile, "--no-provenance", "--batch-tokens", batch_tokens})
        .out;
  };
  EXPECT_EQ(chosen("--profiles", "2", "1"), threads("1"));
  EXPECT_EQ(chosen("--profiles", "K562|DNase", "10k"), threads("1"));
  EXPECT_EQ(threads("1").find("##"), std::string::npos);

  // Beside the track, unless it is not wanted; what an earlier run left there goes.
  const std::string track = folder_ / "x.bedgraph", told = track + ".provenance.json";
  const auto write = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"-r", "chr1:201-220", "--profiles", "2", "-o", track});
    const auto run = attribute(more);
    EXPECT_EQ(run.status, 0) << run.err;
    return testing::read_text(track);
  };
  const std::string bare = write({"--no-provenance"});
  EXPECT_FALSE(std::filesystem::exists(told));
  EXPECT_EQ(write({}), bare);
  EXPECT_NE(testing::read_text(told).find("\"profile\":\"2 K562|DNase\""), std::string::npos);
  EXPECT_NE(write({"--provenance", "inline"}), bare);
  EXPECT_FALSE(std::filesystem::exists(told));
  write({"--provenance", "beside"});
  EXPECT_TRUE(std::filesystem::exists(told));
  EXPECT_EQ(write({"--provenance", "none"}), bare);
  EXPECT_FALSE(std::filesystem::exists(told));
}

TEST_F(AttributeCommand, LongRegionsSayThatTheyAreTiled) {
  const auto done = attribute({"-r", "chr1:1-130", "--profiles", "0-1", "-o", folder_ / "x.bedgraph"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("3 windows"), std::string::npos) << done.err;
  EXPECT_NE(testing::read_text(folder_ / "x.0.bedgraph").find("chr1\t"), std::string::npos);
  EXPECT_NE(testing::read_text(folder_ / "x.1.bedgraph").find("chr1\t"), std::string::npos);
}

TEST_F(AttributeCommand, IntegratedGradientsAsTyped) {
  const auto track = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"-r", "chr1:101-130", "--profiles", "2", "--no-provenance"});
    const auto done = attribute(more);
    EXPECT_EQ(done.status, 0) << done.err;
    return done.out;
  };
  const std::string gradients = track({}), integrated = track({"--method", "integrated-gradients"});
  EXPECT_EQ(track({"--method", "gradient-x-input"}), gradients);
  EXPECT_EQ(track({"--method", "gxi"}), gradients);
  EXPECT_NE(integrated, gradients);
  EXPECT_EQ(track({"--method", "ig"}), integrated);
  EXPECT_EQ(track({"--method", "ig", "--ig-steps", "32", "--ig-baseline", "zero"}), integrated)
      << "the defaults";
  EXPECT_EQ(track({"--method", "ig", "--batch-tokens", "10k"}), integrated);
  EXPECT_EQ(track({"--method", "ig", "-@", "1"}), track({"--method", "ig", "-@", "2"}));
  EXPECT_NE(track({"--method", "ig", "--ig-steps", "2"}), integrated);
  const auto from = [&](const char* baseline) {
    return track({"--method", "ig", "--ig-steps", "8", "--ig-baseline", baseline});
  };
  EXPECT_EQ(from("pad"), from("zero")) << "a model's first vector of [PAD]";
  EXPECT_EQ((std::set<std::string>{from("mask"), from("zero"), from("n"), from("mean")}).size(), 4u);
  const auto said =
      attribute({"-r", "chr1:101-130", "--profiles", "2", "--method", "ig", "--provenance", "inline"});
  EXPECT_NE(said.out.find("##method=integrated-gradients steps=32 baseline=zero\n"), std::string::npos);
  EXPECT_NE(said.err.find("profile 2: mean logit of the baseline "), std::string::npos) << said.err;
  EXPECT_EQ(said.err.find("more --ig-steps"), std::string::npos) << said.err;
  const auto plain = attribute({"-r", "chr1:101-130", "--profiles", "2", "--provenance", "inline"});
  EXPECT_NE(plain.out.find("##method=gradient-x-input\n"), std::string::npos) << plain.out;
  EXPECT_EQ(plain.err.find("baseline"), std::string::npos) << plain.err;
}

TEST_F(AttributeCommand, WarnsOfAnIntegralThatIsOff) {
  // One point, and a model far from linear.
  const auto coarse = attribute({"-r", "chr1:1-400", "--profiles", "1", "--method", "ig", "--ig-steps", "1"});
  ASSERT_EQ(coarse.status, 0) << coarse.err;
  EXPECT_NE(coarse.err.find("miss the differences of the logits by "), std::string::npos) << coarse.err;
  EXPECT_NE(coarse.err.find("give more --ig-steps"), std::string::npos) << coarse.err;
}

TEST_F(AttributeCommand, SeveralModelsAreAveraged) {
  testing::TinyClassifier shape;
  shape.seed = 2;
  testing::write_tiny_classifier(folder_ / "other", shape);
  const auto values = [&](const std::vector<std::string>& models, const char* method) {
    std::vector<std::string> words = {"attribute", "-f",           folder_ / "genome.fa",
                                      "-r",        "chr1:101-130", "--profiles",
                                      "0",         "--method",     method};
    for (const std::string& model : models) words.insert(words.end(), {"-m", folder_ / model});
    words.insert(words.end(), {"--provenance", "inline"});
    const auto done = run_bigbird(words);
    EXPECT_EQ(done.status, 0) << done.err;
    for (const std::string& model : models)
      EXPECT_NE(done.out.find("##bigbird_input=model:" + (folder_ / model).string()), std::string::npos);
    return values_of(done.out);
  };
  for (const char* method : {"gxi", "ig"}) {
    const auto one = values({"model"}, method), other = values({"other"}, method),
               both = values({"model", "other"}, method);
    ASSERT_EQ(both.size(), 30u);
    double apart = 0;
    for (const auto& [at, value] : both) {
      EXPECT_NEAR(value, (one.at(at) + other.at(at)) / 2, 1e-6) << at;
      apart += std::abs(one.at(at) - other.at(at));
    }
    EXPECT_GT(apart, 1e-3);
  }
}

TEST_F(AttributeCommand, RefusesMethodsThatItDoesNotKnow) {
  const auto refused = [&](const std::vector<std::string>& words) {
    std::vector<std::string> more = {"-r", "chr1:101-130", "--profiles", "0"};
    more.insert(more.end(), words.begin(), words.end());
    const auto done = attribute(more);
    EXPECT_EQ(done.status, 2) << done.err;
    EXPECT_NE(done.err.find("hint: "), std::string::npos) << done.err;
    return done.err;
  };
  EXPECT_NE(refused({"--method", "saliency"}).find("'saliency' is not a choice of --method"),
            std::string::npos);
  EXPECT_NE(refused({"--method", "ig", "--ig-baseline", "G"}).find("'G' is not a choice of --ig-baseline"),
            std::string::npos);
  refused({"--method", "ig", "--ig-steps", "0"});
  refused({"--method", "ig", "--ig-steps", "-4"});
  refused({"--ig-steps", "16"});
  refused({"--method", "gxi", "--ig-baseline", "zero"});
}

TEST_F(AttributeCommand, RefusesModelsThatDiffer) {
  testing::TinyClassifier shape;
  shape.window.length = 120;
  testing::write_tiny_classifier(folder_ / "wider", shape);
  const auto done = attribute({"-m", folder_ / "wider", "-r", "chr1:101-130", "--profiles", "0"});
  EXPECT_EQ(done.status, 1) << done.err;
  EXPECT_NE(done.err.find("wider: its window and target are not the ones of"), std::string::npos) << done.err;
}

TEST_F(AttributeCommand, RefusesWhatItCannotAttribute) {
  EXPECT_EQ(attribute({"-r", "chr1:201-220"}).status, 2) << "which of three profiles?";
  EXPECT_EQ(attribute({"-r", "chr1:201-220", "--profiles", "3"}).status, 2);
  EXPECT_EQ(attribute({"-r", "chr1:201-220", "--profiles", "0,1"}).status, 2) << "two tracks on stdout";
  const auto outside = attribute({"-r", "chr1:390-401", "--profiles", "0"});
  EXPECT_EQ(outside.status, 1);
  EXPECT_NE(outside.err.find("hint: "), std::string::npos) << outside.err;
  EXPECT_EQ(attribute({"-r", "chr1:1-20", "--profiles", "0", "-o", "/dev/full"}).status, 1);
  std::filesystem::remove(folder_ / "model" / "window.json");
  EXPECT_EQ(attribute({"-r", "chr1:1-20", "--profiles", "0"}).status, 2) << "no window known";
  EXPECT_EQ(attribute({"-r", "chr1:1-20", "--profiles", "0", "--window", "90"}).status, 0);
}

}  // namespace
}  // namespace bigbird
