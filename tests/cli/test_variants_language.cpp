// variants with a model that was only pretrained: columns, bytes that depend on neither chunks, threads nor
// shards, backgrounds, evaluation, and what must be refused. tests/golden/test_zero_shot.cpp holds the
// numbers against transformers.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/core/unicode.h"
#include "lib/io/weights/safetensors.h"
#include "tests/cli/variants_fixture.h"
#include "tests/cli/words.h"

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

// Ancestral alleles as 1000 Genomes writes them, in a genome whose repeats are in small letters.
TEST_F(VariantsLanguage, KnowsDerivedAllelesAndRepeats) {
  std::string soft = file("genome.fa");
  const std::size_t chr1 = soft.find('\n') + 1;
  for (std::size_t at = chr1 + 990; at < chr1 + 1030; ++at)
    soft[at] = static_cast<char>(std::tolower(static_cast<unsigned char>(soft[at])));
  write_text(path("soft.fa"), soft);
  const auto line_with = [&](std::int64_t position, const std::string& ref, const std::string& alt,
                             const std::string& ancestral) {
    return fmt::format("chr1\t{}\t.\t{}\t{}\t.\tPASS\tDP=3{}\n", position, ref, alt,
                       ancestral.empty() ? "" : ";AA=" + ancestral);
  };
  const std::string at = reference("chr1", 1000), alt = other(at), third = other(at, 2);
  std::string text = header();
  text.insert(text.find("##contig"), "##INFO=<ID=AA,Number=1,Type=String,Description=\"Ancestral\">\n");
  for (const std::string& ancestral :
       {at + "|||", lower_ascii(alt) + "|||", third, std::string("."), std::string()})
    text += line_with(1000, at, alt, ancestral);
  text += line_with(1000, alt, at, at);  // exchanged
  text += line_with(1000, alt, at, alt);
  text += line_with(1000, at, alt + "," + third, third);
  text += line_with(940, reference("chr1", 940), other(reference("chr1", 940)), "");
  text += line_with(970, reference("chr1", 970), other(reference("chr1", 970)), "");
  write_text(path("ancestral.vcf"), text);
  const auto run = [&](const std::string& input, const Words& more) {
    return must(Words{"variants", "-m", path("lm"), "-f", path("soft.fa"), path(input), "--window", "80",
                      "--ref-mismatch", "swap", "--no-lm-distances", "--no-provenance"} +
                more);
  };
  const auto rows = read_table(run("ancestral.vcf", {"-O", "tsv", "--ancestral", "AA"}).out);
  ASSERT_EQ(rows.size(), 11u);
  const double ratio = number(rows[0], "lm_llr");
  EXPECT_NE(ratio, 0);
  EXPECT_EQ(number(rows[0], "lm_derived"), ratio);
  EXPECT_EQ(number(rows[1], "lm_derived"), -ratio);
  for (const int unknown : {2, 3, 4})
    EXPECT_EQ(rows[static_cast<std::size_t>(unknown)].at("lm_derived"), "NA");
  // An exchanged record is scored from the genome's base to the other one.
  EXPECT_EQ(number(rows[5], "lm_llr"), ratio);
  EXPECT_EQ(number(rows[5], "lm_derived"), ratio);
  EXPECT_EQ(number(rows[6], "lm_derived"), -ratio);
  EXPECT_EQ(rows[7].at("lm_derived"), "NA");
  EXPECT_EQ(number(rows[8], "lm_derived"), -number(rows[8], "lm_llr"));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool derived = rows[i].at("flags").find("derived_ref") != std::string::npos;
    EXPECT_EQ(derived, i == 1 || i == 6 || i == 8) << i;
  }
  // 80 bases, 39 of them before the variant.
  EXPECT_FLOAT_EQ(static_cast<float>(number(rows[0], "repeats")), 0.5F);
  EXPECT_FLOAT_EQ(static_cast<float>(number(rows[9], "repeats")), 0.0F);
  EXPECT_EQ(number(rows[10], "repeats"), 0.25);
  // BCF has them too, and a run without the field has no such column.
  must(Words{"variants", "-m", path("lm"), "-f", path("soft.fa"), path("ancestral.vcf"), "--window", "80",
             "--ref-mismatch", "swap", "-o", path("ancestral.bcf")});
  const auto again = read_table(run("ancestral.bcf", {"-O", "tsv", "--ancestral", "AA"}).out);
  ASSERT_EQ(again.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(again[i].at("lm_derived"), rows[i].at("lm_derived")) << i;
  EXPECT_FALSE(read_table(run("ancestral.vcf", {"-O", "tsv"}).out)[0].contains("lm_derived"));
  refused(table({"--ancestral", "AA"}), 1, "declares no INFO field AA");
  refused(table({"--ancestral", "DP"}), 1, "declares no INFO field DP of text");
}

// Every substitution in the window that `variants` gives it, or all in one.
TEST_F(VariantsLanguage, MutagenesisHasTheSameNumbers) {
  std::string text = header();
  for (std::int64_t position = 500; position < 504; ++position)
    for (const int turn : {1, 2, 3}) {
      const std::string ref = reference("chr1", position);
      text += line("chr1", position, ref, other(ref, turn));
    }
  write_text(path("all.vcf"), text);
  std::map<std::string, std::map<std::string, std::string>> scored;
  const auto key = [](const std::map<std::string, std::string>& row) {
    return row.at("pos") + row.at("ref") + row.at("alt");
  };
  for (const auto& row : read_table(must({"variants", "-m", path("lm"), "-f", path("genome.fa"),
                                          path("all.vcf"), "--window", "80", "-O", "tsv", "--no-provenance"})
                                        .out))
    scored[key(row)] = row;
  ASSERT_EQ(scored.size(), 12u);
  const auto ism = [&](const Words& more) {
    return must(Words{"ism", "-m", path("lm"), "-f", path("genome.fa"), "--window", "80"} + more);
  };
  const RunResult alone = ism({"-r", "chr1:500-503", "--window-at", "base", "--profiles", "all"});
  const auto rows = read_table(alone.out);
  ASSERT_EQ(rows.size(), 12u);
  for (const auto& row : rows)
    for (const char* column : {"lm_llr", "lm_plus", "lm_minus", "lm_control", "lm_gain", "lm_l2", "lm_cos"})
      EXPECT_NEAR(number(row, column), number(scored.at(key(row)), column), 1e-4) << key(row) << column;
  EXPECT_NE(alone.err.find("forward passes a substitution, of the first 12"), std::string::npos) << alone.err;
  // One window: the same scores but for distances, of other contexts.
  const auto together = read_table(ism({"-r", "chr1:500-503"}).out);
  EXPECT_FALSE(together[0].contains("lm_l2"));
  EXPECT_TRUE(together[0].contains("lm_gain"));
  std::size_t others = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) others += together[i].at("lm_llr") != rows[i].at("lm_llr");
  EXPECT_GE(others, 6u);
  // Ways, strands, regions in a file, matrices and pictures.
  const auto joint = read_table(ism({"-r", "chr1:500-503", "--lm-passes", "joint", "--strands", "-"}).out);
  EXPECT_FALSE(joint[0].contains("lm_plus"));
  write_text(path("two.bed"), "chr1\t499\t503\tone\nchr1\t699\t700\ttwo\n");
  const auto regions = read_table(ism({"-R", path("two.bed")}).out);
  ASSERT_EQ(regions.size(), 15u);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(regions[i].at("lm_llr"), together[i].at("lm_llr"));
  ism({"-r", "chr1:500-503", "-o", path("ism.npy"), "--svg", path("ism.svg"), "--svg-profile", "lm_gain"});
  EXPECT_NE(file("ism.svg").find("lm_gain of each substitution"), std::string::npos);
  EXPECT_NE(file("ism.profiles.tsv").find("lm_llr"), std::string::npos);
  refused({"ism", "-m", path("lm"), "-f", path("genome.fa"), "-r", "chr1:500-503", "--value", "lfc"}, 2,
          "no odds");
  refused({"ism", "-m", path("model"), "-f", path("genome.fa"), "-r", "chr1:500-503", "--lm-passes", "none"},
          2, "--lm-passes is of language models");
  // A report draws the strongest alleles so.
  must({"variants", "-m", path("lm"), "-f", path("genome.fa"), path("all.vcf"), "--window", "80", "-o",
        path("strong.tsv")});
  must({"report", path("strong.tsv"), "-m", path("lm"), "-f", path("genome.fa"), "--logos", "2",
        "--logo-bases", "21", "-o", path("strong.html")});
  EXPECT_NE(file("strong.html").find("lm_llr of each substitution"), std::string::npos);
}

// Vectors of both alleles: their cosine is that of the scores.
TEST_F(VariantsLanguage, VectorsOfAllelesAreThoseOfTheScores) {
  const auto scored = read_table(must(table({"--strands", "+", "--lm-passes", "joint"})).out);
  const Words embed = {"embed", "-m", path("lm"), "-f", path("genome.fa"), "--vcf"};
  const RunResult run = must(embed + Words{path("in.vcf"), "--window", "80", "--pool", "variant", "-o",
                                           path("alleles.safetensors")});
  const auto rows = read_table(file("alleles.rows.tsv"));
  const std::vector<float> values = SafetensorsFile(path("alleles.safetensors")).floats("embeddings");
  constexpr std::size_t width = 16;
  ASSERT_EQ(values.size(), rows.size() * width);
  std::size_t next = 0;
  for (const auto& row : scored) {
    if (row.at("skip") != "NA") continue;
    ASSERT_LT(next, rows.size());
    const float* const vector = values.data() + next * width;
    double dot = 0, ref = 0, alt = 0;
    for (std::size_t i = 0; i < width; ++i) {
      dot += static_cast<double>(vector[i]) * static_cast<double>(vector[width + i]);
      ref += static_cast<double>(vector[i]) * static_cast<double>(vector[i]);
      alt += static_cast<double>(vector[width + i]) * static_cast<double>(vector[width + i]);
      EXPECT_EQ(vector[2 * width + i], vector[width + i] - vector[i]);
    }
    EXPECT_NEAR(1 - dot / std::sqrt(ref * alt), number(row, "lm_cos"), 2e-5) << rows[next].at("id");
    const std::string id = row.at("chrom") + ":" + row.at("pos") + ":" + row.at("ref") + ":" + row.at("alt");
    for (const char* piece : {"ref", "alt", "diff"}) {
      EXPECT_EQ(rows[next].at("id"), id);
      EXPECT_EQ(rows[next++].at("piece"), piece);
    }
  }
  EXPECT_EQ(next, rows.size());
  EXPECT_NE(run.err.find(" skipped ("), std::string::npos) << run.err;
  // The mean over a window is that of its bases as a sequence; chunks and shards change nothing.
  must(embed + Words{path("in.vcf"), "--window", "80", "-o", path("mean.npy")});
  must(embed +
       Words{path("in.vcf"), "--window", "80", "--chunk-size", "3", "-@", "2", "-o", path("chunks.npy")});
  EXPECT_TRUE(file("mean.npy") == file("chunks.npy"));
  Words merge = {"merge", "-o", path("merged.npy")};
  for (const char* shard : {"1/2", "2/2"}) {
    merge.push_back(path(std::string("vectors") + shard[0]));
    must(embed +
         Words{path("in.vcf"), "--window", "80", "--chunk-size", "3", "--shard", shard, "-o", merge.back()});
  }
  must(merge);
  EXPECT_TRUE(file("mean.npy") == file("merged.npy"));
  const std::int64_t begin = std::stol(rows[0].at("start"));
  write_text(path("one.bed"), fmt::format("chr1\t{}\t{}\n", begin, begin + 80));
  must({"embed", "-m", path("lm"), "-f", path("genome.fa"), "-R", path("one.bed"), "-o", path("one.npy")});
  EXPECT_TRUE(file("mean.npy").find(file("one.npy").substr(file("one.npy").size() - width * sizeof(float))) !=
              std::string::npos);
  must(embed + Words{path("in.vcf"), "-o", path("usual.npy")});  // 96 bases: 32 fewer than positions
  EXPECT_EQ(std::stol(read_table(file("usual.rows.tsv"))[0].at("end")) -
                std::stol(read_table(file("usual.rows.tsv"))[0].at("start")),
            96);
  refused(embed + Words{path("in.vcf"), "--pool", "token", "-o", path("never.npy")}, 2, "numbers of tokens");
  refused({"embed", "-m", path("lm"), "--vcf", path("in.vcf"), "-o", path("never.npy")}, 2, "in one way");
  refused({"embed", "-m", path("lm"), "-f", path("genome.fa"), "-R", path("one.bed"), "--pool", "variant",
           "-o", path("never.npy")},
          2, "--pool variant is of --vcf");
  refused({"embed", "-m", path("lm"), "-f", path("genome.fa"), "-R", path("one.bed"), "--window", "80", "-o",
           path("never.npy")},
          2, "--window is of --vcf");
  write_text(path("nothing.vcf"), header() + line("chr9", 10, "A", "C"));
  refused(embed + Words{path("nothing.vcf"), "-o", path("never.npy")}, 1, "nothing.vcf");
  EXPECT_FALSE(std::filesystem::exists(path("never.npy")));
}

TEST_F(VariantsLanguage, APlanCountsThePassesOfTheRun) {
  for (const Words& more :
       {Words{}, Words{"--lm-passes", "joint", "--no-lm-distances"}, Words{"--zero-shot"}}) {
    const Words all = more + Words{"--window", "80", "--chunk-size", "10"};
    must(Words{"variants", "-m", path("lm"), "-f", path("genome.fa"), path("in.vcf"), "-o", path("run.tsv"),
               "--force"} +
         all);
    const auto run = nlohmann::json::parse(file("run.tsv.summary.json"));
    const RunResult planned = must(Words{"cluster", "plan", "-m", path("lm"), "-f", path("genome.fa"),
                                         path("in.vcf"), "--sample-time", "0", "--json"} +
                                   all);
    const auto plan = nlohmann::json::parse(planned.out);
    EXPECT_EQ(plan.at("passes"), run.at("forward_passes").at("done"));
    EXPECT_EQ(plan.at("scored_alleles"), run.at("scored"));
  }
  refused(
      {"cluster", "plan", "-m", path("model"), "-f", path("genome.fa"), path("in.vcf"), "--ancestral", "AA"},
      2, "--ancestral is of language models");
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
