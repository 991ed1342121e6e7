// `bigbird attribute`: a track of the region, of one or several profiles; bad input.
#include <gtest/gtest.h>

#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird {
namespace {

using testing::run_bigbird;

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
  const auto done = attribute({"-r", "chr1:201-220", "--profile", "2"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find("##profile=2 K562|DNase\n"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("\nchr1\t200\t"), std::string::npos) << done.out;
  EXPECT_EQ(done.out.find("chr1\t210\t"), std::string::npos) << "N has no value";
  EXPECT_NE(done.out.find("\nchr1\t215\t"), std::string::npos) << done.out;
  EXPECT_NE(done.err.find("5 of 20 bases are N"), std::string::npos) << done.err;
  const auto threads = [&](const char* count) {
    return attribute({"-r", "chr1:201-220", "--profile", "2", "--no-provenance", "-@", count}).out;
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
}

TEST_F(AttributeCommand, LongRegionsSayThatTheyAreTiled) {
  const auto done = attribute({"-r", "chr1:1-130", "--profiles", "0-1", "-o", folder_ / "x.bedgraph"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("3 windows"), std::string::npos) << done.err;
  EXPECT_NE(testing::read_text(folder_ / "x.0.bedgraph").find("chr1\t"), std::string::npos);
  EXPECT_NE(testing::read_text(folder_ / "x.1.bedgraph").find("chr1\t"), std::string::npos);
}

TEST_F(AttributeCommand, RefusesWhatItCannotAttribute) {
  EXPECT_EQ(attribute({"-r", "chr1:201-220"}).status, 2) << "which of three profiles?";
  EXPECT_EQ(attribute({"-r", "chr1:201-220", "--profile", "3"}).status, 2);
  EXPECT_EQ(attribute({"-r", "chr1:201-220", "--profile", "0,1"}).status, 2) << "two tracks on stdout";
  const auto outside = attribute({"-r", "chr1:390-401", "--profile", "0"});
  EXPECT_EQ(outside.status, 1);
  EXPECT_NE(outside.err.find("hint: "), std::string::npos) << outside.err;
  EXPECT_EQ(attribute({"-r", "chr1:1-20", "--profile", "0", "-o", "/dev/full"}).status, 1);
  std::filesystem::remove(folder_ / "model" / "window.json");
  EXPECT_EQ(attribute({"-r", "chr1:1-20", "--profile", "0"}).status, 2) << "no window known";
  EXPECT_EQ(attribute({"-r", "chr1:1-20", "--profile", "0", "--window", "90"}).status, 0);
}

}  // namespace
}  // namespace bigbird
