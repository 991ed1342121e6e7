// variants with a model that was only pretrained: columns, bytes that depend on neither chunks, threads nor
// shards, backgrounds, evaluation, and what must be refused. tests/golden/test_zero_shot.cpp holds the
// numbers against transformers.
#include <algorithm>
#include <cmath>
#include <set>

#include "tests/cli/variants_fixture.h"

namespace bigbird::testing {
namespace {

// Random weights behind a head for masked tokens, or another one.
void write_language_model(const std::filesystem::path& folder, std::uint64_t seed,
                          HeadType head = HeadType::masked_lm) {
  write_tiny_tokenizer(folder);
  ModelConfig config;
  config.vocab_size = static_cast<std::int64_t>(load_tokenizer(folder.string())->vocab_size());
  config.hidden_size = 16;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.intermediate_size = 32;
  config.max_position_embeddings = 128;
  config.block_size = 8;
  config.attention = AttentionPattern::full;
  config.causal = head == HeadType::causal_lm;
  config.sep_token_id = 3;
  config.head = head;
  config.initializer_range = 0.4;
  config.tokenizer_digest = load_tokenizer(folder.string())->digest();
  const ParameterLayout layout(config);
  write_model_files(folder.string(), config, layout, initial_parameters(layout, config, seed), "", "tiny\n");
}

class VariantsLanguage : public VariantsFixture {
 protected:
  static void SetUpTestSuite() {
    VariantsFixture::SetUpTestSuite();
    write_language_model(path("lm"), 1);
    write_language_model(path("lm2"), 2);
    write_language_model(path("causal"), 1, HeadType::causal_lm);
  }

  static std::vector<std::string> scored(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"variants",        "-m",           path("lm"), "-f",
                                      path("genome.fa"), path("in.vcf"), "--window", "80"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::vector<std::string> table(const std::vector<std::string>& more) {
    std::vector<std::string> words = scored({"-O", "tsv", "--no-provenance"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static double number(const std::map<std::string, std::string>& row, const char* column) {
    return std::stod(row.at(column));
  }
};

TEST_F(VariantsLanguage, EveryAlleleHasItsRatioOrAReason) {
  const RunResult run = must(table({}));
  EXPECT_NE(run.err.find("forward passes an allele, of the first"), std::string::npos) << run.err;
  const auto rows = read_table(run.out);
  std::set<std::string> reasons, flags, ratios;
  for (const auto& row : rows) {
    reasons.insert(row.at("skip"));
    if (row.at("skip") != "NA") {
      EXPECT_EQ(row.at("lm_llr"), "NA");
      continue;
    }
    flags.insert(row.at("flags"));
    ratios.insert(row.at("lm_llr"));
    EXPECT_NEAR(number(row, "lm_llr"), (number(row, "lm_plus") + number(row, "lm_minus")) / 2, 1e-4);
    EXPECT_NEAR(number(row, "lm_gain"), number(row, "lm_llr") - number(row, "lm_control"), 1e-4);
    EXPECT_GT(number(row, "lm_l2"), 0);
    EXPECT_GT(number(row, "lm_cos"), 0);
    EXPECT_LT(number(row, "lm_cos"), 2);
    EXPECT_GT(number(row, "tokens"), 0);
    EXPECT_FALSE(row.contains("diff"));
  }
  EXPECT_GE(ratios.size(), 40u) << "the model is not asked";
  EXPECT_TRUE(reasons.contains("symbolic"));
  EXPECT_TRUE(flags.contains("trimmed"));
  EXPECT_TRUE(std::any_of(flags.begin(), flags.end(),
                          [](const std::string& text) { return text.find("cpg") != std::string::npos; }));
  // The same in a VCF.
  const std::string vcf = must(scored({})).out;
  EXPECT_NE(vcf.find("##INFO=<ID=BB_LM_LLR,Number=A,Type=Float,"), std::string::npos);
  EXPECT_NE(vcf.find("BB_LM_LLR=" + rows[0].at("lm_llr")), std::string::npos) << rows[0].at("lm_llr");
  // Ways to mask, and what may be left out.
  const auto joint =
      read_table(must(table({"--lm-passes", "joint", "--no-lm-distances", "--strands", "+"})).out);
  ASSERT_EQ(joint.size(), rows.size());
  EXPECT_FALSE(joint[0].contains("lm_l2") || joint[0].contains("lm_plus"));
  std::size_t others = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) others += joint[i].at("lm_llr") != rows[i].at("lm_plus");
  EXPECT_GE(others, 10u) << "several tokens at once are not one after the other";
  const auto unmasked = read_table(must(table({"--lm-passes", "none", "--zero-shot"})).out);
  EXPECT_NE(unmasked[0].at("lm_llr"), rows[0].at("lm_llr"));
  EXPECT_EQ(unmasked[0].at("lm_l2"), rows[0].at("lm_l2"));
}

TEST_F(VariantsLanguage, BytesDependOnNeitherChunksNorThreadsNorShards) {
  const std::string whole = must(table({})).out;
  EXPECT_TRUE(whole == must(table({"--chunk-size", "3", "-@", "2", "--batch-tokens", "128"})).out);
  must(scored({"--chunk-size", "7", "-o", path("whole.vcf.gz")}));
  std::vector<std::string> merge = {"variants", "merge", "-o", path("merged.vcf.gz")};
  for (const char* shard : {"1/2", "2/2"}) {
    merge.push_back(path(std::string("part") + shard[0] + ".vcf.gz"));
    must(scored({"--chunk-size", "7", "-o", merge.back(), "--shard", shard}));
  }
  must(merge);
  EXPECT_TRUE(file("merged.vcf.gz") == file("whole.vcf.gz"));
  // Another way is another run.
  refused({"variants", "merge", "-o", path("never.vcf.gz"), path("part1.vcf.gz"), path("whole.vcf.gz")}, 1,
          "whole.vcf.gz");
  const auto mean = read_table(must(table({"-m", path("lm2")})).out), one = read_table(whole);
  EXPECT_NE(mean[0].at("lm_llr"), one[0].at("lm_llr"));
}

TEST_F(VariantsLanguage, ABackgroundGivesEValues) {
  const std::string background = path("background.safetensors");
  must({"variants", "background", "-m", path("lm"), "-f", path("genome.fa"), path("in.vcf"), "--window", "80",
        "--max-records", "30", "-o", background});
  const auto rows = read_table(must(table({"--background", background})).out);
  double largest = 0, smallest_e = 1;
  for (const auto& row : rows) {
    if (row.at("skip") != "NA") continue;
    EXPECT_GE(number(row, "e"), 1e-6);
    EXPECT_LE(number(row, "e"), 1);
    if (std::abs(number(row, "lm_llr")) < largest) continue;
    largest = std::abs(number(row, "lm_llr"));
    smallest_e = number(row, "e");
  }
  EXPECT_LE(smallest_e, 1.0 / 30);
  refused(table({"--background", background, "--lm-passes", "joint"}), 1, "background.safetensors");
  must({"variants", "background", "-m", path("lm"), "-f", path("genome.fa"), path("in.vcf"), "--window", "80",
        "--lm-passes", "joint", "-o", path("joint.safetensors")});
  must(table({"--background", path("joint.safetensors"), "--lm-passes", "joint"}));
  refused(
      {"variants", "-m", path("model"), "-f", path("genome.fa"), path("in.vcf"), "--background", background},
      1, "background.safetensors");
}

TEST_F(VariantsLanguage, EvaluationKnowsTheirDirections) {
  write_text(path("scored.tsv"), must(table({})).out);
  std::string labels = "chrom\tpos\tref\talt\tlabel\n";
  int number = 0;
  for (const auto& row : read_table(file("scored.tsv"))) {
    if (row.at("skip") == "NA" && row.at("chrom") == "chr1")
      labels += "chr1\t" + row.at("pos") + "\t" + row.at("ref") + "\t" + row.at("alt") + "\t" +
                std::to_string(number++ % 2) + "\n";
  }
  write_text(path("labels.tsv"), labels);
  std::map<std::string, std::string> directions;
  for (const auto& row : read_table(must({"variants", "evaluate", path("scored.tsv"), "--labels",
                                          path("labels.tsv"), "--no-provenance"})
                                        .out))
    directions[row.at("score")] = row.at("direction");
  for (const char* score : {"lm_llr", "lm_plus", "lm_minus", "lm_control", "lm_gain"})
    EXPECT_EQ(directions[score], "lower") << score;
  for (const char* score : {"lm_l2", "lm_cos"}) EXPECT_EQ(directions[score], "higher") << score;
}

TEST_F(VariantsLanguage, RefusesWhatItCannotDo) {
  refused(scored({"-o", path("never.npy")}), 2, "matrices are of profiles");
  refused(scored({"--profiles", "0"}), 2, "a language model has none");
  refused(scored({"--shifts", "3"}), 2, "language models score one window of an allele");
  refused(scored({"--anchor", "bin"}), 2, "no target bin");
  refused({"variants", "-m", path("lm"), "-f", path("genome.fa"), path("in.vcf"), "--window", "900"}, 1,
          "its window has");
  refused({"variants", "-m", path("causal"), "-f", path("genome.fa"), path("in.vcf")}, 1,
          "reads left to right");
  refused(table({"-m", path("model")}), 1, "no masked-token head");
  refused({"variants", "-m", path("model"), "-f", path("genome.fa"), path("in.vcf"), "--lm-passes", "joint"},
          2, "--lm-passes is of language models");
  refused({"variants", "-m", path("model"), "-f", path("genome.fa"), path("in.vcf"), "--zero-shot"}, 1,
          "no masked-token head");
  refused(table({"--lm-passes", "all"}), 2, "left-to-right");
  EXPECT_FALSE(std::filesystem::exists(path("never.npy")));
}

}  // namespace
}  // namespace bigbird::testing
