// Shards of chromatin predict, promoter scan and embed: merged, they are the files of one run, byte for byte,
// in every format; runs that were stopped go on to the same bytes; what is not one run is refused.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tests/cli/running_program.h"
#include "tests/cli/text_fixture.h"
#include "tests/cli/variants_fixture.h"

namespace bigbird::testing {
namespace {

// A genome of two contigs, some of it N, a promoter model and one of three chromatin profiles.
class NumberShards : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    TinyClassifier shape;
    shape.problem = ProblemType::single_label;
    shape.profiles = {{"promoter", "."}};
    shape.labels = 2;
    shape.window = {"promoter", 100, 60, 1};
    write_tiny_classifier(path("promoter"), shape);
    write_tiny_classifier(path("chromatin"));
    CounterRng random(6, Purpose::test, 0);
    std::string genome;
    for (const int length : {4000, 1500}) {
      std::string bases;
      for (int i = 0; i < length; ++i) bases += "ACGT"[random.below(4)];
      bases.replace(700, 100, std::string(100, 'N'));
      genome += fmt::format(">chr{}\n{}\n", length == 4000 ? 1 : 2, bases);
    }
    write("genome.fa", genome);
    std::string bins;
    for (int i = 0; i < 50; ++i) bins += fmt::format("chr1\t{}\t{}\tb{}\n", i * 40, i * 40 + 20, i);
    for (int i = 0; i < 17; ++i) bins += fmt::format("chr2\t{}\t{}\tc{}\n", i * 60, i * 60 + 20, i);
    write("bins.bed", bins);
  }
  static bool exists(const std::string& name) { return std::filesystem::exists(path(name)); }
  static std::string file(const std::string& name) { return read_text(path(name)); }

  static Words predict(const Words& more) {
    return Words{"chromatin",      "predict",      "-m", path("chromatin"), "-f", path("genome.fa"), "-R",
                 path("bins.bed"), "--chunk-size", "7"} +
           more;
  }
  static Words scan(const Words& more) {
    return Words{"promoter", "scan",         "-m", path("promoter"), "-f", path("genome.fa"), "--step",
                 "10",       "--chunk-size", "33", "--threshold",    "0.3"} +
           more;
  }
  static Words embed(const Words& more) {
    return Words{"embed",        "-m", path("chromatin"), "-f",   path("genome.fa"), "-R", path("bins.bed"),
                 "--chunk-size", "6",  "--pool",          "bin:7"} +
           more;
  }
  // All shards of a command, in an order that is none, merged.
  static void merge(const Words& command, const std::string& output, const Words& more = {}) {
    Words shards;
    for (const char* shard : {"3/4", "1/4", "4/4", "2/4"}) {
      shards.push_back(path(std::string("part") + shard[0]));
      std::filesystem::remove(shards.back());
      must(command + Words{"--shard", shard, "-o", shards.back(), "-@", shard[0] == '1' ? "1" : "2"});
      EXPECT_FALSE(std::filesystem::exists(shards.back() + ".parts"));
    }
    must(Words{"merge"} + shards + Words{"-o", output} + more);
  }
};

class ShardsOfPredictions : public NumberShards, public ::testing::WithParamInterface<const char*> {};

TEST_P(ShardsOfPredictions, AreTheFilesOfOneRun) {
  const std::string format = GetParam();
  const std::string suffix = format == "bigwig" ? ".bw" : "." + format;
  Words command = predict({"-O", format});
  if (format == "npy") command.push_back("--ablations");
  if (format == "bedgraph" || format == "bigwig") command = command + Words{"--profiles", "1"};
  must(command + Words{"-o", path("whole" + suffix)});
  merge(command, path("merged" + suffix));
  Words ends = {suffix};
  if (format == "npy") ends = {".npy", ".rows.tsv", ".single.npy", ".rc.npy"};
  for (const std::string& end : ends) {
    EXPECT_TRUE(file("whole" + end) == file("merged" + end)) << end;
    EXPECT_GT(file("whole" + end).size(), 60u) << end;
  }
  EXPECT_FALSE(exists("whole" + suffix + ".run.json"));
}

INSTANTIATE_TEST_SUITE_P(Formats, ShardsOfPredictions,
                         ::testing::Values("tsv", "npy", "h5", "bedgraph", "bigwig"));

// --output-type was --output-format in this verb, typed or in a file of options.
TEST_F(NumberShards, TheOldNameOfTheTypeStays) {
  write("old.toml", "output-format = \"h5\"\n");
  for (const Words& command : {predict({"--output-format", "h5", "-o", path("old.h5"), "--resume"}),
                               predict({"--config", path("old.toml"), "-o", path("old-2.h5"), "--resume"})}) {
    must(command);
    EXPECT_TRUE(holds(must(command).err, "is whole already, and of this run"));
  }
  for (const char* name : {"old.h5", "old-2.h5"}) EXPECT_EQ(file(name).substr(1, 3), "HDF");
  EXPECT_TRUE(holds(must(predict({"--output-format=tsv", "--provenance=inline"})).out, " --output-type=tsv"));
  refused(predict({"-O", "tsv", "--output-format", "h5"}), 2, "--output-type");
}

TEST_F(NumberShards, AFolderOfTracksToo) {
  must(predict({"-O", "bedgraph", "-o", path("whole")}));
  merge(predict({"-O", "bedgraph"}), path("merged"));
  for (const char* name : {"tracks.tsv", "0.bedgraph", "1.bedgraph", "2.bedgraph"})
    EXPECT_TRUE(file(std::string("whole/") + name) == file(std::string("merged/") + name)) << name;
}

TEST_F(NumberShards, AScanHasItsCallsAndTracksAcrossTheBordersOfShards) {
  write("tss.bed", "chr1\t1200\t1201\ta\t0\t+\nchr1\t3000\t3001\tb\t0\t-\nchr2\t900\t901\tc\t0\t+\n");
  for (const std::string suffix : {".bedgraph", ".bw"}) {
    const Words command = scan({"--per-strand", "--tss", path("tss.bed"), "--merge-distance", "60"});
    must(command + Words{"-o", path("whole" + suffix), "--calls", path("whole.bed")});
    merge(command, path("merged" + suffix),
          {"--calls", path("merged.bed"), "--summary", path("merged" + suffix + ".summary.json")});
    for (const std::string& end :
         {suffix, ".plus" + suffix, ".minus" + suffix, std::string(".bed"), suffix + ".summary.json"}) {
      EXPECT_TRUE(file("whole" + end) == file("merged" + end)) << end;
    }
    const std::string calls = file("whole.bed");
    EXPECT_GT(std::count(calls.begin(), calls.end(), '\n'), 6);
  }
  // What is scored does not depend on the size of chunks.
  Words other = scan({"--per-strand", "--tss", path("tss.bed"), "--merge-distance", "60"});
  *std::find(other.begin(), other.end(), "33") = "1000";
  must(other + Words{"-o", path("other.bw"), "--calls", path("other.bed")});
  EXPECT_TRUE(file("other.bed") == file("whole.bed"));
  EXPECT_TRUE(file("other.bw") == file("whole.bw"));
}

TEST_F(NumberShards, VectorsInEveryFormat) {
  for (const std::string suffix : {".npy", ".safetensors", ".h5"}) {
    must(embed({"-o", path("whole" + suffix)}));
    merge(embed({}), path("merged" + suffix));
    EXPECT_TRUE(file("whole" + suffix) == file("merged" + suffix)) << suffix;
    EXPECT_TRUE(file("whole.rows.tsv") == file("merged.rows.tsv")) << suffix;
  }
}

TEST_F(NumberShards, SubstitutionsOfEveryRegionOfABed) {
  // The third is in N, the fourth at the end of its contig; two have no name.
  write("regions.bed",
        "chr1\t1000\t1004\tfirst\nchr2\t300\t303\nchr1\t740\t742\tn\nchr2\t1497\t1500\tend\n"
        "chr1\t1002\t1003\n");
  const auto ism = [&](const Words& more) {
    return Words{"ism",        "-m",  path("chromatin"), "-f", path("genome.fa"),
                 "--profiles", "0,2", "--max-n",         "0.5"} +
           more;
  };
  const Words regions = ism({"-R", path("regions.bed"), "--no-provenance"});
  const RunResult whole = must(regions);
  EXPECT_TRUE(holds(whole.err, "5 regions")) << whole.err;
  EXPECT_TRUE(holds(whole.err, "windows pass the end of their contig")) << whole.err;
  std::string expected;
  const std::vector<std::pair<const char*, const char*>> places = {{"first", "chr1:1001-1004"},
                                                                   {"chr2:301-303", "chr2:301-303"},
                                                                   {"n", ""},
                                                                   {"end", "chr2:1498-1500"},
                                                                   {"chr1:1003-1003", "chr1:1003-1003"}};
  for (const auto& [name, place] : places) {
    if (*place == '\0') {
      for (const char* base : {"741", "742"}) expected += fmt::format("n\tchr1\t{}\tN\tNA\tNA\tNA\n", base);
      continue;
    }
    for (const std::string& line : split(must(ism({"-r", place, "--no-provenance"})).out, '\n')) {
      if (!line.empty() && !line.starts_with("chrom")) expected += std::string(name) + "\t" + line + "\n";
    }
  }
  EXPECT_EQ(whole.out.substr(whole.out.find('\n') + 1), expected);
  EXPECT_TRUE(whole.out.starts_with("region\tchrom\tpos\tref\talt\tK562|CTCF")) << whole.out;

  const Words chunked = regions + Words{"--chunk-size", "1"};
  must(chunked + Words{"-o", path("ism.tsv"), "--force"});
  EXPECT_TRUE(file("ism.tsv") == whole.out);
  merge(chunked, path("merged.tsv"));
  EXPECT_TRUE(file("merged.tsv") == whole.out);

  refused(ism({"-R", path("regions.bed"), "-o", path("x.npy")}), 2, "--regions-file gives a table");
  refused(ism({"-R", path("regions.bed"), "--svg", path("x.svg")}), 2, "--regions-file gives a table");
  refused(ism({"-r", "chr1:1001-1004", "--shard", "1/2", "-o", path("x.tsv")}), 2, "are of --regions-file");
  refused(ism({"-r", "chr1:1001-1004", "--resume"}), 2, "are of --regions-file");
  refused(ism({}), 2, "give the bases to substitute");
  write("bad.bed", "chr1\t1000\t1004\nchr3\t1\t2\n");
  refused(ism({"-R", path("bad.bed"), "-o", path("x.tsv")}), 1, "bad.bed:2");
  write("bad.bed", "chr1\t1000\t1004\nchr2\t1499\t1501\n");
  refused(ism({"-R", path("bad.bed"), "-o", path("x.tsv")}), 1, "bad.bed:2: 1499-1501 reaches beyond chr2");
  write("bad.bed", "chr1\t1000\t1000\n");
  refused(ism({"-R", path("bad.bed"), "-o", path("x.tsv")}), 1, "bad.bed:1: the region is empty");
  write("bad.bed", "# nothing\n");
  refused(ism({"-R", path("bad.bed"), "-o", path("x.tsv")}), 1, "no regions in it");
  EXPECT_FALSE(exists("x.tsv") || exists("x.npy") || exists("x.svg"));
}

TEST_F(NumberShards, AWholeOutputIsFoundBeforeWeightsAreRead) {
  write("three.bed", "chr1\t1000\t1004\nchr2\t300\t303\n");
  struct Case {
    const char* model;
    Words command;
    std::string output, beside;
  };
  const Words ism = {"ism", "-m", path("chromatin"), "-f", path("genome.fa"), "-R", path("three.bed")};
  const std::vector<Case> cases = {{"chromatin", predict({}), "spoilt.tsv", ".run.json"},
                                   {"promoter", scan({}), "spoilt.bedgraph", ".run.json"},
                                   {"chromatin", embed({}), "spoilt.npy", ".run.json"},
                                   {"chromatin", ism, "spoilt.ism.tsv", ".shard.json"}};
  for (const Case& one : cases) {
    std::filesystem::remove_all(path("spoilt"));
    std::filesystem::copy(path(one.model), path("spoilt"));
    Words command = one.command + Words{"-o", path(one.output)};
    std::replace(command.begin(), command.end(), path(one.model), path("spoilt"));
    must(command + Words{"--resume"});
    const std::string whole = file(one.output);
    spoil_weights(path("spoilt"), path(one.output + one.beside));
    EXPECT_TRUE(holds(must(command + Words{"--resume"}).err, "is whole already")) << one.output;
    EXPECT_TRUE(file(one.output) == whole) << one.output;
    refused(command + Words{"--force"}, 1, "nan at [");
  }
}

TEST_F(NumberShards, MergeRefusesWhatIsNotOneRun) {
  for (const char* shard : {"1/2", "2/2"}) {
    must(predict({"-o", path(std::string("half") + shard[0]), "--shard", shard}));
  }
  const auto never = [&](const Words& shards, const std::string& what) {
    Words words = {"merge", "-o", path("never.tsv")};
    for (const std::string& shard : shards) words.push_back(path(shard));
    refused(words, 1, what);
    EXPECT_FALSE(exists("never.tsv")) << what;
  };
  const auto other = [&](const Words& more) {
    must(predict(Words{"-o", path("other"), "--shard", "2/2"} + more));
    return Words{"half1", "other"};
  };
  never({"half1"}, "of 2, 2 is missing");
  never({"half1", "half2", "half1"}, "given twice");
  never(other({"--max-n", "0.2"}), "max_n differs");
  never(other({"--profiles", "1"}), "profiles differs");
  never(other({"--strands", "+"}), "strands differs");
  never(other({"-O", "h5"}), "format differs");
  write("fewer.bed", "chr1\t100\t120\n");
  Words fewer = predict({"-o", path("fewer"), "--shard", "2/2"});
  std::replace(fewer.begin(), fewer.end(), path("bins.bed"), path("fewer.bed"));
  must(fewer);
  never({"half1", "fewer"}, "made from different records");
  must(scan({"-o", path("scanned"), "--shard", "2/2"}));
  never({"half1", "scanned"}, "of other verbs");
  never({"half1", "nowhere"}, "nowhere");
  never({"nowhere"}, "nowhere: no such file");
  write("text", "#id\n");
  never({"half1", "text"}, "text: no shard");
  const std::string whole = file("half2");
  for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{300}, std::size_t{17}}) {
    write("half2", whole.substr(0, size));
    never({"half1", "half2"}, "half2: is cut short");
  }
  for (std::size_t at = 20; at < whole.size(); at += whole.size() / 9) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    write("half2", damaged);
    never({"half1", "half2"}, "half2: is ");
  }
  write("half2", whole);
  refused({"merge", path("half1"), path("half2"), "--calls", path("x.bed"), "-o", path("never.tsv")}, 2,
          "--calls");
}

TEST_F(NumberShards, AStoppedRunGoesOnToTheSameBytes) {
  must(predict({"-O", "h5", "-o", path("whole.h5")}));
  must(scan({"-o", path("whole.bedgraph")}));
  must(embed({"-o", path("whole.npy")}));
  struct Case {
    Words command;
    std::string name;
    const char* chunk;
  };
  for (const Case& one : {Case{predict({"-O", "h5"}), "killed.h5", "1"},
                          Case{scan({}), "killed.bedgraph", "8"}, Case{embed({}), "killed.npy", "1"}}) {
    Words command = one.command + Words{"-o", path(one.name), "--resume", "auto"};
    *(std::find(command.begin(), command.end(), "--chunk-size") + 1) = one.chunk;  // some 70 of them
    Running running(command, path("stderr"));
    ASSERT_TRUE(running.wait_until([&] { return exists(one.name + ".parts/chunk-00000002"); }))
        << running.error();
    running.signal(SIGKILL);
    running.wait();
    EXPECT_FALSE(exists(one.name));
    EXPECT_TRUE(holds(must(command).err, "records were finished by the run before"));
    const std::string whole = "whole" + one.name.substr(one.name.find('.'));
    EXPECT_TRUE(file(one.name) == file(whole)) << one.name;
    EXPECT_FALSE(exists(one.name + ".parts"));
    EXPECT_TRUE(holds(must(command).err, "is whole already, and of this run")) << one.name;
    write(one.name + ".run.json", "{\"files\": [1]}");
    EXPECT_FALSE(holds(must(command).err, "is whole already"));
    write(one.name, "cut");
    must(command);
    EXPECT_TRUE(file(one.name) == file(whole)) << one.name;
  }
  must(predict({"-O", "h5", "-o", path("whole.h5"), "--force"}));
  must(scan({"-o", path("whole.bedgraph"), "--force"}));
  must(embed({"-o", path("whole.npy"), "--force"}));
  EXPECT_TRUE(file("whole.h5") == file("killed.h5"));
}

}  // namespace
}  // namespace bigbird::testing
