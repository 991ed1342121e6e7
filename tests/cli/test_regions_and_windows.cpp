// What every verb that reads a genome says of it: lists of regions, letters that are no bases, windows of
// another length than the model's, and regions that are days of work.
#include <algorithm>

#include "tests/cli/variants_fixture.h"

namespace bigbird::testing {
namespace {

class RegionsAndWindows : public VariantsFixture {
 protected:
  static void SetUpTestSuite() {
    VariantsFixture::SetUpTestSuite();
    TinyClassifier promoter;
    promoter.problem = ProblemType::single_label;
    promoter.profiles = {{"promoter", "."}};
    promoter.labels = 2;
    promoter.window = {"promoter", 100, 70, 1};
    write_tiny_classifier(path("promoter"), promoter);
    std::string bases = genome().at("chr1").substr(0, 600);
    bases[250] = 'R';
    bases[251] = 'y';
    write_text(path("letters.fa"), ">chr1\n" + bases + "\n");
    write_text(path("letters.bed"), "chr1\t200\t300\n");
  }
  static std::vector<std::string> with(const std::string& model, std::vector<std::string> words) {
    for (const std::string& word : {std::string("-m"), path(model), std::string("-@"), std::string("1"),
                                    std::string("--no-provenance")})
      words.push_back(word);
    return words;
  }
};

TEST_F(RegionsAndWindows, ListsOfRegionsAreTakenOrRefusedWithATrueHint) {
  const std::string list = "chr1:1,001-1,100,chr2:201-300,chr1:401-500";
  write_text(path("list.bed"), "chr1\t1000\t1100\nchr2\t200\t300\nchr1\t400\t500\n");
  const auto scan = [&](const std::vector<std::string>& where) {
    std::vector<std::string> words = {"promoter", "scan", "-f", path("genome.fa"), "--step", "20"};
    words.insert(words.end(), where.begin(), where.end());
    return must(with("promoter", words)).out;
  };
  EXPECT_EQ(scan({"-r", list}), scan({"-R", path("list.bed")}));
  EXPECT_NE(scan({"-r", list}), scan({"-r", "chr1:1,001-1,100"}));
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"ism", "-f", path("genome.fa")}, {"attribute", "-f", path("genome.fa"), "--profiles", "0"}}) {
    std::vector<std::string> words = verb;
    words.insert(words.end(), {"-r", list});
    const RunResult run = run_bigbird(with("model", words));
    EXPECT_EQ(run.status, 1) << run.err;
    EXPECT_NE(run.err.find("3 regions, where one is taken"), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("hint: give one region"), std::string::npos) << run.err;
    words.back() = "chr1:1,001-1,003";
    must(with("model", words));
  }
}

TEST_F(RegionsAndWindows, LettersThatAreNoBasesAreCountedAloud) {
  const std::string said = "2 IUPAC letters other than A C G T N were read as N";
  const std::vector<std::pair<std::string, std::vector<std::string>>> verbs = {
      {"promoter", {"promoter", "predict", path("letters.fa")}},
      {"promoter", {"promoter", "predict", "-f", path("letters.fa"), "-R", path("letters.bed")}},
      {"promoter", {"promoter", "scan", "-f", path("letters.fa"), "-r", "chr1:251-251", "--step", "1"}},
      {"model", {"chromatin", "predict", "-f", path("letters.fa"), "-R", path("letters.bed")}},
      {"model", {"embed", "-f", path("letters.fa"), "-R", path("letters.bed"), "-o", path("letters.npy")}},
      {"model", {"ism", "-f", path("letters.fa"), "-r", "chr1:240-240"}},
      {"model", {"attribute", "-f", path("letters.fa"), "-r", "chr1:240-240", "--profiles", "0"}},
  };
  for (const auto& [model, words] : verbs) {
    const RunResult run = must(with(model, words));
    const std::size_t at = run.err.find("IUPAC letters other than A C G T N were read as N");
    EXPECT_NE(at, std::string::npos) << words[0] << " " << words[1] << ": " << run.err;
    EXPECT_EQ(run.err.find("IUPAC letters", at + 1), std::string::npos) << "once: " << run.err;
    const bool read_once = words[0] == "promoter" && words[1] == "predict";
    EXPECT_TRUE(!read_once || run.err.find(said) != std::string::npos) << run.err;
  }
  EXPECT_EQ(
      must(with("promoter", {"promoter", "predict", path("genome.fa"), "--max-n", "1"})).err.find("IUPAC"),
      std::string::npos);
}

TEST_F(RegionsAndWindows, PromoterWindowsOfAnotherLengthAreTold) {
  const std::string& bases = genome().at("chr1");
  write_text(path("lengths.fa"), ">a\n" + bases.substr(0, 100) + "\n>b\n" + bases.substr(100, 150) +
                                     "\n>c\n" + bases.substr(300, 30) + "\n");
  const RunResult run = must(with("promoter", {"promoter", "predict", path("lengths.fa")}));
  EXPECT_NE(run.err.find("2 of 3 windows are not of the 100 bp"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("b of 150 bp"), std::string::npos) << run.err;
  EXPECT_EQ(read_table(run.out).size(), 3u);
}

TEST_F(RegionsAndWindows, BinsHaveNoStrandWhateverColumn6Says) {
  write_text(path("bins.bed"), "chr1\t200\t220\ta\t0\tforward\nchr1\t220\t240\tb\tx\t-\n");
  const RunResult run =
      must(with("model", {"chromatin", "predict", "-f", path("genome.fa"), "-R", path("bins.bed")}));
  write_text(path("plain.bed"), "chr1\t200\t220\ta\nchr1\t220\t240\tb\n");
  EXPECT_EQ(
      run.out,
      must(with("model", {"chromatin", "predict", "-f", path("genome.fa"), "-R", path("plain.bed")})).out);
}

TEST_F(RegionsAndWindows, AWholeContigIsASlipUnlessItIsAskedFor) {
  const RunResult run =
      run_bigbird(with("model", {"ism", "-f", path("genome.fa"), "-r", "chr1", "--max-sequences", "1k"}));
  EXPECT_EQ(run.status, 2) << run.err;
  EXPECT_NE(run.err.find("region chr1: 24000 sequences to predict, more than --max-sequences 1000"),
            std::string::npos)
      << run.err;
  EXPECT_NE(run.err.find("--max-sequences 0"), std::string::npos) << run.err;
  EXPECT_TRUE(run.out.empty());
  write_text(path("slip.bed"), "chr1\t10\t12\nchr1\t0\t6000\twhole\n");
  const RunResult file = run_bigbird(with("model", {"ism", "-f", path("genome.fa"), "-R", path("slip.bed"),
                                                    "--max-sequences", "1k", "--max-n", "1"}));
  EXPECT_EQ(file.status, 2) << file.err;
  EXPECT_NE(file.err.find("slip.bed: region whole: 24000 sequences"), std::string::npos) << file.err;
}

TEST_F(RegionsAndWindows, OffsetsPutTheBaseOfAnAttributionElsewhere) {
  const auto track = [&](const char* place) {
    return must(with("model", {"attribute", "-f", path("genome.fa"), "-r", "chr1:417-417", "--profiles", "0",
                               "--offset", place}))
        .out;
  };
  EXPECT_EQ(track("-1"), track("49"));
  EXPECT_NE(track("20"), track("49"));
  refused(with("model", {"attribute", "-f", path("genome.fa"), "-r", "chr1:417-417", "--profiles", "0",
                         "--offset", "100"}),
          2, "--offset 100: outside of the window");
}

}  // namespace
}  // namespace bigbird::testing
