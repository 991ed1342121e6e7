// bigbird variants: bytes that depend on neither batch, threads, nor shards; runs that go on where they
// stood; backgrounds.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/variants_fixture.h"

namespace bigbird::testing {
namespace {

class VariantsWork : public VariantsFixture {
 protected:
  static std::vector<std::string> chunked(const std::vector<std::string>& more) {
    std::vector<std::string> words = command({path("in.vcf"), "--chunk-size", "7"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // A summary without what the run took; any other file as it is.
  static std::string without_cost(const std::string& text) {
    const std::size_t begin = text.find("  \"cost\": {\n");
    if (begin == std::string::npos) return text;
    const std::string end = "\n  },\n";
    return text.substr(0, begin) + text.substr(text.find(end, begin) + end.size());
  }
  static bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  static nlohmann::json cost_of(const std::string& prefix) {
    return nlohmann::json::parse(file(prefix + ".summary.json")).at("cost");
  }
};

TEST_F(VariantsWork, BytesDependOnNeitherBatchNorThreads) {
  for (const char* type : {"v", "b", "tsv"}) {
    const std::string one = must(chunked({"-O", type, "--batch-tokens", "1"})).out;
    EXPECT_TRUE(one == must(chunked({"-O", type, "-@", "3", "--batch-tokens", "900"})).out) << type;
    EXPECT_GT(one.size(), 2000u);
  }
  EXPECT_TRUE(must(chunked({"-O", "tsv", "--no-provenance"})).out ==
              must(command({path("in.vcf"), "-O", "tsv", "--no-provenance"})).out);
}

TEST_F(VariantsWork, StdinGivesTheScoresOfTheFile) {
  const std::string named = must(chunked({"-O", "tsv", "--no-provenance"})).out;
  std::vector<std::string> piped = command({"-", "--chunk-size", "7", "-O", "tsv", "--no-provenance"});
  EXPECT_TRUE(must(piped, file("in.vcf")).out == named);
}

class MergedShards : public VariantsWork, public ::testing::WithParamInterface<const char*> {};

TEST_P(MergedShards, AreTheBytesOfOneRun) {
  const std::string suffix = GetParam();
  const auto name = [&](const std::string& stem) { return path(stem + suffix); };
  must(chunked({"-o", name("whole")}));
  std::vector<std::string> merge = {"variants", "merge", "-@", "1"};
  for (const char* shard : {"3/3", "1/3", "2/3"}) {
    merge.push_back(name(std::string("shard") + shard[0]));
    must(chunked({"-o", merge.back(), "--shard", shard}));
  }
  merge.insert(merge.end(), {"-o", name("merged")});
  must(merge);
  const bool matrices = suffix == ".npy" || suffix == ".h5";
  const std::string side = matrices ? "" : suffix;
  std::vector<std::string> ends = {side + ".skipped.tsv", side + ".summary.json"};
  if (suffix == ".h5") {
    ends.insert(ends.end(), {".h5", ".rows.tsv"});
  } else if (matrices) {
    ends.insert(ends.end(), {".diff.npy", ".logfc.npy", ".ref.npy", ".alt.npy", ".rows.tsv"});
  } else {
    ends.push_back(suffix);
  }
  for (const std::string& end : ends)
    EXPECT_TRUE(without_cost(file("whole" + end)) == without_cost(file("merged" + end))) << end;
  // What it took is that of all shards.
  const nlohmann::json cost = cost_of("merged" + side);
  std::map<std::string, double> sum;
  for (const char* shard : {"shard1", "shard2", "shard3"}) {
    const nlohmann::json one = cost_of(shard + side);
    for (const char* key : {"scored", "wall_seconds", "cpu_seconds"}) sum[key] += one.at(key).get<double>();
    EXPECT_LE(one.at("peak_memory_bytes"), cost.at("peak_memory_bytes"));
  }
  EXPECT_EQ(cost.at("scored"), cost_of("whole" + side).at("scored"));
  for (const char* key : {"scored", "wall_seconds", "cpu_seconds"})
    EXPECT_NEAR(cost.at(key).get<double>(), sum.at(key), 1e-6) << key;
}

TEST_F(VariantsWork, TheSummaryAndTheClosingLineSayWhatAnAlleleCost) {
  const RunResult whole = must(chunked({"-o", path("whole.tsv")}));
  const nlohmann::json cost = cost_of("whole.tsv");
  EXPECT_EQ(cost.at("scored"), nlohmann::json::parse(file("whole.tsv.summary.json")).at("scored"));
  EXPECT_GT(cost.at("cpu_seconds"), 0.0);
  EXPECT_GT(cost.at("wall_seconds"), 0.0);
  EXPECT_GT(cost.at("peak_memory_bytes"), 1 << 20);
  EXPECT_NEAR(cost.at("cpu_seconds_per_allele").get<double>() * cost.at("scored").get<double>(),
              cost.at("cpu_seconds").get<double>(), 1e-6);
  EXPECT_TRUE(holds(whole.err, "s/scored allele\n")) << whole.err;
  // Of nothing that was scored now nothing is said.
  const RunResult again = must(chunked({"-o", path("whole.tsv"), "--resume"}));
  EXPECT_FALSE(holds(again.err, "/scored allele")) << again.err;
  // Without provenance the bytes of two runs are the same.
  must(chunked({"-o", path("bare.tsv"), "--no-provenance"}));
  EXPECT_FALSE(holds(file("bare.tsv.summary.json"), "cost"));
}

INSTANTIATE_TEST_SUITE_P(Formats, MergedShards,
                         ::testing::Values(".vcf", ".vcf.gz", ".bcf", ".tsv", ".npy", ".h5"));

TEST_F(VariantsWork, MergeRefusesWhatIsNotComplete) {
  for (const char* shard : {"1/2", "2/2"}) {
    must(chunked({"-o", path(std::string("half") + shard[0] + ".tsv"), "--shard", shard}));
  }
  must(chunked({"-o", path("other.tsv"), "--shard", "2/2", "--max-n", "0.9"}));
  must(chunked({"-o", path("all.tsv")}));
  const auto merge = [&](const std::vector<std::string>& shards) {
    std::vector<std::string> words = {"variants", "merge", "-o", path("never.tsv")};
    for (const std::string& shard : shards) words.push_back(path(shard));
    return words;
  };
  refused(merge({"half1.tsv"}), 1, "2 is missing");
  refused(merge({"half1.tsv", "half2.tsv", "half1.tsv"}), 1, "given twice");
  refused(merge({"half1.tsv", "other.tsv"}), 1, "options differ");
  const RunResult whole = run_bigbird(merge({"all.tsv"}));
  EXPECT_EQ(whole.status, 1);
  EXPECT_NE(whole.err.find("no shard"), std::string::npos) << whole.err;
  refused(merge({"none.tsv"}), 1, "none.tsv: no such file");
  refused(merge({"half1.tsv", "none.tsv"}), 1, "no summary");
  write_text(path("lonely.tsv"), file("half1.tsv"));
  refused(merge({"lonely.tsv"}), 1, "lonely.tsv.shard.json: there is nothing that names its shard");
  const std::string text = file("half2.tsv");
  write_text(path("half2.tsv"), text.substr(0, text.size() / 2));
  refused(merge({"half1.tsv", "half2.tsv"}), 1, "was cut or changed");
  // As an earlier version left it, which does not say what the file holds.
  auto summary = nlohmann::ordered_json::parse(file("half2.tsv.summary.json"));
  summary.erase("scores");
  write_text(path("half2.tsv.summary.json"), summary.dump(2) + "\n");
  write_text(path("half2.tsv"), text.substr(0, text.rfind('\n', text.size() - 2) + 1));
  refused(merge({"half1.tsv", "half2.tsv"}), 1, "fewer rows");
  write_text(path("half2.tsv"), text + text.substr(text.rfind('\n', text.size() - 2) + 1));
  refused(merge({"half1.tsv", "half2.tsv"}), 1, "more rows");
  EXPECT_FALSE(std::filesystem::exists(path("never.tsv")));
}

TEST_F(VariantsWork, ABrokenRunGoesOnFromItsFinishedChunks) {
  // The third chunk holds a line that is none: the first two are done and kept.
  const std::vector<std::string> lines = split(file("in.vcf"), '\n');
  std::string broken;
  for (std::size_t i = 0; i < lines.size(); ++i) broken += (i == 26 ? "chr1 1 . A C" : lines[i]) + "\n";
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words =
        command({path("grows.vcf"), "--chunk-size", "7", "-o", path("resumed.vcf")});
    words.insert(words.end(), more.begin(), more.end());
    return run_bigbird(words);
  };
  write_text(path("grows.vcf"), broken);
  EXPECT_EQ(run({}).status, 1);
  EXPECT_FALSE(std::filesystem::exists(path("resumed.vcf")));
  EXPECT_TRUE(std::filesystem::exists(path("resumed.vcf.parts/chunk-00000001")));
  write_text(path("grows.vcf"), file("in.vcf"));
  const RunResult again = run({});
  EXPECT_EQ(again.status, 2) << again.err;
  EXPECT_NE(again.err.find("resume"), std::string::npos) << again.err;
  const RunResult different = run({"--resume", "--max-n", "0.5"});
  EXPECT_EQ(different.status, 1) << different.err;
  EXPECT_NE(different.err.find("another run"), std::string::npos) << different.err;
  const RunResult resumed = run({"--resume"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("14 of "), std::string::npos) << resumed.err;
  EXPECT_NE(resumed.err.find(" records were finished by the run before"), std::string::npos) << resumed.err;
  EXPECT_FALSE(std::filesystem::exists(path("resumed.vcf.parts")));
  const std::string done = file("resumed.vcf");
  const std::string summary = file("resumed.vcf.summary.json");
  ASSERT_EQ(run({}).status, 0);
  EXPECT_TRUE(file("resumed.vcf") == done);
  EXPECT_TRUE(without_cost(file("resumed.vcf.summary.json")) == without_cost(summary));

  // Parts of other records are not taken.
  write_text(path("grows.vcf"), broken);
  EXPECT_EQ(run({}).status, 1);
  write_text(path("grows.vcf"), header() + line("chr1", 10, reference("chr1", 10), "*"));
  const RunResult strange = run({"--resume"});
  EXPECT_EQ(strange.status, 1) << strange.err;
  EXPECT_NE(strange.err.find("other records"), std::string::npos) << strange.err;
  // Nor damaged ones.
  write_text(path("grows.vcf"), file("in.vcf"));
  std::string part = file("resumed.vcf.parts/chunk-00000000");
  part[part.size() / 2] = static_cast<char>(part[part.size() / 2] ^ 1);
  std::filesystem::remove(path("resumed.vcf"));
  write_text(path("resumed.vcf.parts/chunk-00000000"), part);
  EXPECT_NE(run({"--resume"}).err.find("damaged"), std::string::npos);
  EXPECT_EQ(run({"--force"}).status, 0);
  EXPECT_TRUE(file("resumed.vcf") == done);
}

TEST_F(VariantsWork, ResumeAutoGoesOnIfItFitsElseBeginsAnew) {
  std::vector<std::string> words = command(
      {"--resume", "auto", path("in.vcf"), "--shard", "1/2", "--chunk-size", "5", "-o", path("auto.vcf")});
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return run_bigbird(all);
  };
  const auto says = [](const RunResult& result, const char* what) {
    EXPECT_EQ(result.status, 0) << result.err;
    return result.err.find(what) != std::string::npos;
  };
  EXPECT_FALSE(says(run({}), "whole already"));
  const std::string scores = file("auto.vcf");
  EXPECT_TRUE(says(run({"-@", "1"}), "auto.vcf: is whole already, and of this run"));
  // Another place of the genome or of the variants does not make it another run.
  std::filesystem::copy(path("genome.fa"), path("elsewhere.fa"));
  std::filesystem::copy(path("in.vcf"), path("elsewhere.vcf"));
  const std::vector<std::string> first = words;
  std::replace(words.begin(), words.end(), path("genome.fa"), path("elsewhere.fa"));
  std::replace(words.begin(), words.end(), path("in.vcf"), path("elsewhere.vcf"));
  EXPECT_TRUE(says(run({}), "whole already"));
  words = first;
  EXPECT_FALSE(says(run({"--max-n", "0.5"}), "whole already"));
  EXPECT_FALSE(says(run({}), "whole already"));
  write_text(path("auto.vcf"), scores.substr(0, scores.size() / 2));
  EXPECT_FALSE(says(run({}), "whole already"));
  EXPECT_TRUE(file("auto.vcf") == scores);
  // Parts of a run with other options are removed, where --resume alone stops.
  std::filesystem::remove(path("auto.vcf"));
  std::filesystem::create_directory(path("auto.vcf.parts"));
  write_text(path("auto.vcf.parts/run.json"), "{}");
  EXPECT_TRUE(says(run({}), "finished parts of another run, removed"));
  EXPECT_TRUE(file("auto.vcf") == scores);
  EXPECT_FALSE(std::filesystem::exists(path("auto.vcf.parts")));
  refused(command({path("in.vcf"), "--resume=maybe", "-o", path("auto.vcf")}), 2, "--resume auto");
}

TEST_F(VariantsWork, AWholeOutputIsFoundBeforeWeightsAreRead) {
  std::filesystem::copy(path("model"), path("spoilt"));
  std::vector<std::string> words = command({path("in.vcf"), "-o", path("spoilt.vcf"), "--resume"});
  std::replace(words.begin(), words.end(), path("model"), path("spoilt"));
  must(words);
  spoil_weights(path("spoilt"), path("spoilt.vcf.summary.json"));
  EXPECT_NE(must(words).err.find("spoilt.vcf: is whole already"), std::string::npos);
  words.back() = "--force";
  refused(words, 1, "nan at [");
}

TEST_F(VariantsWork, EValuesCountTheBackground) {
  const auto background = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = command({path("in.vcf"), "-o", path("background.safetensors")});
    words.insert(words.begin() + 1, "background");
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  // The numbers come last: [3 profiles, 48 alleles].
  const auto numbers = [&](const std::vector<std::string>& more) {
    must(background(more));
    const std::string bytes = file("background.safetensors");
    return bytes.substr(bytes.size() - 48 * 3 * sizeof(float));
  };
  EXPECT_TRUE(numbers({"--max-records", "40"}) == numbers({"--max-records", "40", "--chunk-size", "3"}));
  const auto rows = read_table(
      must(command({path("in.vcf"), "-O", "tsv", "--background", path("background.safetensors")})).out);
  for (const auto& row : rows) {
    if (row.at("skip") != "NA") continue;
    double smallest = 1, product = 1;
    for (std::size_t profile = 0; profile < 3; ++profile) {
      const std::string name = columns_of(profile);
      const auto size = [&](const std::map<std::string, std::string>& of) {
        return std::abs(std::stod(of.at(name + "diff")) * std::stod(of.at(name + "lfc")));
      };
      // The background's alleles are the first 48 rows of the table.
      int larger = 0;
      for (std::size_t i = 0; i < 48; ++i) larger += size(rows[i]) > size(row) * (1 + 1e-5) ? 1 : 0;
      const double expected = larger == 0 ? 1e-6 : larger / 48.0;
      EXPECT_NEAR(std::stod(row.at(name + "e")), expected, 1e-6) << row.at("pos");
      smallest = std::min(smallest, expected);
      product *= expected;
    }
    EXPECT_NEAR(std::stod(row.at("e")), smallest, 1e-6);
    EXPECT_NEAR(std::stod(row.at("funsig")) / std::cbrt(product), 1.0, 1e-4);
  }
  const std::string file_name = path("background.safetensors");
  refused(command({path("in.vcf"), "--background", file_name, "--shifts", "3"}), 1, "other windows");
  std::string damaged = file("background.safetensors");
  damaged[damaged.size() - 7] = static_cast<char>(damaged[damaged.size() - 7] ^ 1);
  write_text(path("damaged.safetensors"), damaged);
  refused(command({path("in.vcf"), "--background", path("damaged.safetensors")}), 1,
          "not those that were written");
  refused(
      {"variants", "-m", path("model"), "-f", path("genome.fa"), path("in.vcf"), "--background", file_name},
      1, "another model");
}

TEST_F(VariantsWork, EveryRealRecordIsScoredOrCounted) {
  BIGBIRD_REQUIRE_SHARED();
  const auto data = *shared_dir() / "data";
  const std::string fasta = (data / "human-grch37" / "grch37.sparse.fa.gz").string();
  const std::string bcf = (data / "vcf-grch37" / "kgp3_chr20_first2000.b37.bcf").string();
  must({"variants", "-m", path("model"), "-f", fasta, bcf, "-o", path("real.tsv"), "-@", "1"});
  const auto summary = nlohmann::json::parse(file("real.tsv.summary.json"));
  EXPECT_EQ(summary.at("records"), 2000);
  EXPECT_EQ(summary.at("scored").get<int>() + summary.at("skipped").get<int>(),
            summary.at("alleles").get<int>());
  EXPECT_EQ(read_table(file("real.tsv")).size(), summary.at("alleles").get<std::size_t>());
  // Four symbolic alleles, and the first records: the sequence that is kept begins at base 1,000,001.
  EXPECT_EQ(summary.at("alleles"), 2011);
  EXPECT_EQ(summary.at("reasons").at("symbolic"), 4);
  EXPECT_EQ(summary.at("reasons").at("too_many_n").get<int>() + 4, summary.at("skipped").get<int>());
  EXPECT_GE(summary.at("scored").get<int>(), 2004);
}

}  // namespace
}  // namespace bigbird::testing
