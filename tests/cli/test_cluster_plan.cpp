// `cluster plan`: what it counts is what a run counts, its sample is run, and the command that it prints is
// taken by `cluster sbatch`.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "lib/io/genome/indexed_table.h"
#include "tests/cli/variants_fixture.h"
#include "tests/cli/words.h"

namespace bigbird::testing {
namespace {

using Json = nlohmann::json;

class ClusterPlan : public VariantsFixture {
 protected:
  static Words plan(const Words& more) {
    return Words{"cluster",         "plan",          "-m", path("model"), "-m", path("model2"), "-f",
                 path("genome.fa"), "--sample-time", "0"} +
           more;
  }
  static std::string many() {
    std::string text = header();
    for (int i = 0; i < 200; ++i) {
      const std::int64_t position = 100 + 25 * i;
      const std::string ref = reference("chr1", position);
      text += line("chr1", position, ref, other(ref));
    }
    return text;
  }
  static Json planned(const Words& more) { return Json::parse(must(plan(more + Words{"--json"})).out); }
};

TEST_F(ClusterPlan, CountsAreThoseOfARun) {
  must(command({path("in.vcf"), "-o", path("run.tsv"), "--chunk-size", "10", "--strands", "+"}));
  const Json run = Json::parse(read_text(path("run.tsv.summary.json")));
  const Json json = planned({path("in.vcf"), "--chunk-size", "10", "--strands", "+", "-@", "1"});
  EXPECT_EQ(json.at("records"), run.at("records"));
  EXPECT_EQ(json.at("alleles"), run.at("alleles"));
  EXPECT_EQ(json.at("scored_alleles"), run.at("scored"));
  EXPECT_EQ(json.at("passes"), run.at("forward_passes").at("done"));
  EXPECT_EQ(json.at("chunks"), 6);
  EXPECT_EQ(json.at("judged_chunks"), 6);
  EXPECT_EQ(json.at("threads"), 1);

  // The sample: one group, as there was no time for more, and what follows from it.
  ASSERT_EQ(json.at("sample").size(), 1u);
  const Json& group = json.at("sample")[0];
  EXPECT_GT(group.at("passes").get<double>(), 0);
  EXPECT_DOUBLE_EQ(json.at("seconds_per_pass").get<double>(),
                   group.at("seconds").get<double>() / group.at("passes").get<double>());
  const double work = json.at("passes").get<double>() * json.at("seconds_per_pass").get<double>();
  EXPECT_EQ(json.at("shards"), 1);  // far less than half an hour
  EXPECT_TRUE(json.at("limited_by").is_null());
  EXPECT_NEAR(json.at("core_hours").get<double>() * 3600, work + json.at("startup_seconds").get<double>(),
              1e-6);
  EXPECT_GE(json.at("memory_mib").get<double>(), json.at("peak_memory_bytes").get<double>() / (1 << 20));
}

TEST_F(ClusterPlan, OptionsChangeTheCountsAsTheyChangeARun) {
  write_text(path("many.vcf"), many());
  must(command({path("many.vcf"), "-o", path("many.vcf.gz")}));
  build_vcf_index(path("many.vcf.gz"));
  const std::vector<std::pair<std::string, Words>> cases = {
      {"in.vcf", {"--shifts", "3", "--shift-step", "2"}},
      {"in.vcf", {"--window", "60", "--offset", "20"}},
      {"in.vcf", {"--anchor", "bin"}},
      {"in.vcf", {"--edge", "skip", "--max-n", "0"}},
      {"in.vcf", {"--ref-mismatch", "use", "--n-matches", "--pass-only"}},
      {"many.vcf.gz", {"--region", "chr1:1-1000"}}};
  for (const auto& [input, options] : cases) {
    SCOPED_TRACE(options[0]);
    must(command(Words{path(input), "-o", path("run.tsv"), "--force"} + options));
    const Json run = Json::parse(read_text(path("run.tsv.summary.json")));
    const Json json = planned(Words{path(input)} + options);
    EXPECT_EQ(json.at("records"), run.at("records"));
    EXPECT_EQ(json.at("scored_alleles"), run.at("scored"));
    EXPECT_EQ(json.at("passes"), run.at("forward_passes").at("done"));
  }
}

TEST_F(ClusterPlan, OfManyChunksSomeAreJudgedEvenly) {
  write_text(path("many.vcf"), many());
  const Json json = planned({path("many.vcf"), "--chunk-size", "1"});
  EXPECT_EQ(json.at("records"), 200);
  EXPECT_EQ(json.at("chunks"), 200);
  EXPECT_EQ(json.at("judged_chunks"), 50);  // 0, 4, 8 ... 196
  EXPECT_EQ(json.at("alleles"), 200);
  EXPECT_EQ(json.at("passes"), 200 * 2 * 2 * 2);  // REF and ALT, two strands, two models
  EXPECT_NE(
      must(plan({path("many.vcf"), "--chunk-size", "1"})).out.find("200 in 200 chunks, 50 of them looked at"),
      std::string::npos);
}

TEST_F(ClusterPlan, ATaskHasAChunkAtLeastAndTheCommandIsOneForSbatch) {
  // A task a second: far more than there are chunks, if the sample takes that long; one shard at the least.
  const std::string out =
      must(plan({path("in.vcf"), "--task-time", "1", "--chunk-size", "20", "--batch-tokens", "2K"})).out;
  const std::size_t begin = out.find("bigbird cluster sbatch ");
  ASSERT_NE(begin, std::string::npos) << out;
  std::istringstream typed(out.substr(begin + std::string("bigbird ").size()));
  Words words;
  for (std::string word; typed >> word;) {
    if (word == ">") break;
    if (word != "\\") words.push_back(word == "OUT" ? path("scored.tsv") : word);
  }
  EXPECT_NE(out.find("--batch-tokens 2"), std::string::npos) << out;
  const std::string script = must(words).out;
  EXPECT_NE(script.find("variants -m"), std::string::npos) << script;
  EXPECT_EQ(script.find("--sample-time"), std::string::npos) << script;
  const Json json = planned({path("in.vcf"), "--task-time", "1", "--chunk-size", "20"});
  EXPECT_LE(json.at("shards").get<int>(), 3);
}

TEST_F(ClusterPlan, WhatCannotBePlannedIsRefused) {
  refused(plan({"-"}), 2, "standard input");
  refused(plan({path("in.vcf"), "--task-time", "0"}), 2, "--task-time");
  refused(plan({path("in.vcf"), "--sample-time", "soon"}), 2, "--sample-time");
  refused(plan({path("no.vcf")}), 1, "no.vcf");
  // Nobody writes to the pipe: who opened it would wait.
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const RunResult pipe = run_program(Words{"timeout", "20", bigbird_binary()} + plan({path("pipe")}));
  EXPECT_EQ(pipe.status, 1) << pipe.err;
  EXPECT_NE(pipe.err.find(path("pipe") +
                          ": can be read only once, and a plan reads its input and so would the run\n"
                          "hint: write it to a file first"),
            std::string::npos)
      << pipe.err;
  write_text(path("empty.vcf"), header());
  refused(plan({path("empty.vcf")}), 1, "no records");
  write_text(path("elsewhere.vcf"), header() + line("chr9", 10, "A", "C"));
  refused(plan({path("elsewhere.vcf")}), 1, "none of 1 alleles was scored");
}

}  // namespace
}  // namespace bigbird::testing
