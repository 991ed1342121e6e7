// text generate: prompts in every form, outputs in every form, options that reach the search, and what must
// be refused. tests/unit/text/generate holds the continuations against a model without a cache.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/text_fixture.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird::testing {
namespace {

// A folder of random weights that reads left to right, over the tokenizer that lies in it.
void write_left_to_right(const std::filesystem::path& folder,
                         AttentionPattern attention = AttentionPattern::full) {
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(folder.string());
  ModelConfig config;
  config.vocab_size = static_cast<std::int64_t>(tokenizer->vocab_size());
  config.hidden_size = 16;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.intermediate_size = 32;
  config.max_position_embeddings = 64;
  config.block_size = 8;
  config.attention = attention;
  config.causal = true;
  config.head = HeadType::causal_lm;
  config.attention_options.recurrent.memory = 12;
  config.attention_options.spans = {12, 8, 0.0};
  if (is_recurrent(config)) become_recurrent(config);
  config.attention_options.compressive = {.compressed = 8, .rate = 2};
  if (attention == AttentionPattern::bpt) become_bpt(config);
  config.sep_token_id = static_cast<std::int64_t>(tokenizer->special().sep);
  config.initializer_range = 0.4;
  config.tokenizer_digest = tokenizer->digest();
  const ParameterLayout layout(config);
  write_model_files(folder.string(), config, layout, initial_parameters(layout, config, 3), "", "tiny\n");
}

class TextGenerate : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    write_tiny_text_tokenizer(path("model"));
    write_left_to_right(path("model"));
    for (const AttentionPattern attention :
         {AttentionPattern::transformer_xl, AttentionPattern::adaptive_span, AttentionPattern::compressive,
          AttentionPattern::bpt, AttentionPattern::performer}) {
      write_tiny_text_tokenizer(path(name_of(attention)));
      write_left_to_right(path(name_of(attention)), attention);
    }
    write_tiny_tokenizer(path("dna"));
    write_left_to_right(path("dna"));
    write_tiny_text_model(path("masked"), {.head = HeadType::masked_lm});
    std::string lines, rows;
    for (std::uint64_t i = 0; i < 7; ++i) {
      lines += tiny_text(i) + "\n";
      rows += nlohmann::json{{"id", "p" + std::to_string(i)}, {"text", tiny_text(i)}}.dump() + "\n";
    }
    write("prompts.txt", lines);
    write("prompts.jsonl", rows);
    std::string bases;
    for (int i = 0; i < 40; ++i) bases += "ACGTTGCATC";
    write("genome.fa", ">chr1\n" + bases + "NNN" + bases + "\n>chr2\n" + bases + "\n");
  }

  static Words generate(const Words& more, const std::string& model = "model") {
    return Words{"text", "generate", "-m", path(model)} + more;
  }
  static std::vector<nlohmann::json> rows(const Words& more, const std::string& model = "model") {
    std::vector<nlohmann::json> all;
    std::istringstream lines(must(generate(more, model)).out);
    for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
};

TEST_F(TextGenerate, APromptGoesOn) {
  const std::vector<nlohmann::json> one = rows({"--prompt", "ab cd", "--max-tokens", "9"});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].at("id"), "prompt");
  EXPECT_EQ(one[0].at("sample"), 1);
  EXPECT_LE(one[0].at("tokens"), 9);
  EXPECT_FALSE(one[0].at("text").get<std::string>().empty());
  EXPECT_NE(rows({"--prompt", "", "--max-tokens", "9"})[0].at("text"), one[0].at("text"));
  // One token of it as the prompt's last gives the rest.
  EXPECT_EQ(must(generate({"--prompt", "ab cd", "--max-tokens", "9", "-O", "lines"})).out,
            one[0].at("text").get<std::string>() + "\n");
  must(generate({"--prompt", "ab cd", "--max-tokens", "9", "-O", "lines", "--output", path("text")}));
  EXPECT_EQ(read_text(path("text")), one[0].at("text").get<std::string>() + "\n");
}

TEST_F(TextGenerate, LinesAndJsonLinesAreTheSamePrompts) {
  const auto of_lines = rows({"--prompts", path("prompts.txt"), "--max-tokens", "8"});
  const auto of_json = rows({"--prompts", path("prompts.jsonl"), "--max-tokens", "8"});
  ASSERT_EQ(of_lines.size(), 7u);
  ASSERT_EQ(of_json.size(), 7u);
  std::set<std::string> different;
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(of_lines[i].at("text"), of_json[i].at("text"));
    EXPECT_EQ(of_lines[i].at("id"), std::to_string(i));
    EXPECT_EQ(of_json[i].at("id"), "p" + std::to_string(i));
    different.insert(of_lines[i].at("text"));
  }
  EXPECT_GE(different.size(), 3u) << "the prompt is not read";
  std::string table =
      must(generate({"--prompts", path("prompts.jsonl"), "--max-tokens", "8", "-O", "tsv"})).out;
  EXPECT_EQ(table.substr(0, table.find('\n')), "id\tsample\ttext\tscore\ttokens");
  // The columns of a table, by their names.
  std::string columns = "name\twords\n";
  for (std::uint64_t i = 0; i < 7; ++i) columns += "p" + std::to_string(i) + "\t" + tiny_text(i) + "\n";
  write("prompts.tsv", columns);
  EXPECT_EQ(must(generate({"--prompts", path("prompts.tsv"), "--max-tokens", "8", "-O", "tsv", "--format",
                           "tsv", "--quoting", "none", "--document-field", "words", "--id-field", "name",
                           "--replace-invalid"}))
                .out,
            table);
  write("bad.jsonl", "{\"words\": \"ab\"}\n{\"text\": \"ab cd\"}\n");
  const RunResult skipped =
      must(generate({"--prompts", path("bad.jsonl"), "--max-tokens", "2", "--skip-bad"}));
  EXPECT_TRUE(holds(skipped.err, "1 bad records passed over")) << skipped.err;
}

TEST_F(TextGenerate, NothingDependsOnWhatRunsTogether) {
  const Words work{
      "--prompts", path("prompts.jsonl"), "--max-tokens", "8", "--top-p", "0.9", "--continuations", "2"};
  const std::string one = must(generate(work + Words{"--batch", "1", "--threads", "1"})).out;
  EXPECT_EQ(must(generate(work + Words{"--batch", "3", "--threads", "2"})).out, one);
  EXPECT_NE(must(generate(work + Words{"--seed", "2"})).out, one);
}

// A text that is longer than the positions of the model; what it goes on with depends on what is remembered.
TEST_F(TextGenerate, ModelsWithAMemoryGoOn) {
  for (const std::string model : {"transformer-xl", "adaptive-span"}) {
    SCOPED_TRACE(model);
    std::string prompt;
    for (int i = 0; i < 60; ++i) prompt += "ab cd ";
    write("long.txt", prompt + "xyz\n" + prompt + "zyx\nab\n");
    const Words work{"--prompts", path("long.txt"), "--max-tokens", "90", "--min-tokens", "90"};
    const auto one = rows(work + Words{"--batch", "1", "--threads", "1"}, model);
    ASSERT_EQ(one.size(), 3u);
    for (const nlohmann::json& row : one) EXPECT_EQ(row.at("tokens"), 90);
    EXPECT_NE(one[0].at("text"), one[1].at("text"));
    EXPECT_EQ(rows(work + Words{"--batch", "3", "--threads", "2"}, model), one);
    const Words drawn = work + Words{"--temperature", "1", "--continuations", "3"};
    const auto samples = rows(drawn + Words{"--batch", "1"}, model);
    EXPECT_EQ(rows(drawn + Words{"--batch", "3"}, model), samples);
    EXPECT_NE(samples[0].at("text"), samples[1].at("text"));
    must(generate(work + Words{"--beams", "3"}, model));
  }
}

// Whatever the system: what cannot be kept is computed again.
TEST_F(TextGenerate, EverySystemGoesOn) {
  for (const std::string model : {"compressive", "bpt", "performer"}) {
    SCOPED_TRACE(model);
    const Words work{"--prompts", path("prompts.jsonl"), "--max-tokens", "12", "--min-tokens", "12"};
    const auto one = rows(work + Words{"--batch", "1", "--threads", "1"}, model);
    ASSERT_EQ(one.size(), 7u);
    std::set<std::string> different;
    for (const nlohmann::json& row : one) different.insert(row.at("text"));
    EXPECT_GE(different.size(), 2u) << "the prompt is not read";
    EXPECT_EQ(rows(work + Words{"--batch", "3", "--threads", "2"}, model), one);
    const auto found = rows(work + Words{"--beams", "3"}, model);
    EXPECT_GE(found[0].at("score"), -1e3);
  }
  // Longer than the positions, which only a memory allows.
  std::string prompt;
  for (int i = 0; i < 60; ++i) prompt += "ab cd ";
  EXPECT_EQ(
      rows({"--prompt", prompt, "--max-tokens", "70", "--min-tokens", "70"}, "compressive")[0].at("tokens"),
      70);
  refused(generate({"--prompt", prompt}, "bpt"), 1, "has 64 positions");
}

TEST_F(TextGenerate, OptionsReachTheSearch) {
  const Words prompts{"--prompts", path("prompts.txt"), "--max-tokens", "10"};
  const std::string usual = must(generate(prompts)).out;
  EXPECT_EQ(must(generate(prompts + Words{"--decoding", "greedy"})).out, usual);
  EXPECT_EQ(must(generate(prompts + Words{"--beams", "1"})).out, usual);
  EXPECT_EQ(must(generate(prompts + Words{"--top-k", "1"})).out, usual);
  EXPECT_EQ(must(generate(prompts + Words{"--top-p", "1e-9"})).out, usual);
  for (const Words& other : {Words{"--beams", "3"},
                             {"--temperature", "2"},
                             {"--no-repeat-ngram", "1"},
                             {"--repetition-penalty", "4"}}) {
    EXPECT_NE(must(generate(prompts + other)).out, usual) << other[0];
  }
  for (const nlohmann::json& row : rows(prompts + Words{"--min-tokens", "10"}))
    EXPECT_EQ(row.at("tokens"), 10);
  must(generate(prompts + Words{"--beams", "3", "--early-stopping", "yes"}));
  const std::string beams = must(generate(prompts + Words{"--beams", "3"})).out;
  EXPECT_NE(must(generate(prompts + Words{"--beams", "3", "--length-penalty", "-5"})).out, beams);
  const auto best =
      rows(Words{"--prompt", "ab", "--max-tokens", "6", "--beams", "4", "--continuations", "3"});
  ASSERT_EQ(best.size(), 3u);
  for (std::size_t i = 0; i + 1 < best.size(); ++i) {
    EXPECT_EQ(best[i + 1].at("sample"), static_cast<int>(i) + 2);
    EXPECT_GE(best[i].at("score").get<double>(), best[i + 1].at("score").get<double>());
  }
  const RunResult cut = must(generate({"--prompt", "ab cd", "--max-tokens", "500", "--min-tokens", "500"}));
  EXPECT_TRUE(holds(cut.err, "1 of 1 continuations were cut at the last position of the model")) << cut.err;
}

TEST_F(TextGenerate, RegionsGoOnAsFasta) {
  const Words genome{"-f", path("genome.fa"), "--max-tokens", "5"};
  const std::string one = must(generate(genome + Words{"-r", "chr1:11-40"}, "dna")).out;
  EXPECT_EQ(one.substr(0, one.find('\n')), ">chr1:11-40(+)_1 tokens=5");
  EXPECT_EQ(one.substr(one.find('\n') + 1).find_first_not_of("ACGTN\n"), std::string::npos) << one;
  // The other strand is that of the bases.
  const std::string turned = must(generate(genome + Words{"-r", "chr1:11-40", "--strand", "-"}, "dna")).out;
  const std::string bases = "GATGCAACGTGATGCAACGTGATGCAACGT";
  const auto sequence = [](const std::string& fasta) { return fasta.substr(fasta.find('\n')); };
  EXPECT_EQ(turned.substr(0, 16), ">chr1:11-40(-)_1");
  EXPECT_EQ(sequence(turned), sequence(must(generate({"--prompt", bases, "--max-tokens", "5"}, "dna")).out));
  EXPECT_NE(sequence(turned), sequence(one));
  write("regions.bed", "chr1\t10\t40\nchr2\t10\t40\tname\t0\t-\n");
  const std::string both =
      must(generate(genome + Words{"-R", path("regions.bed"), "--continuations", "2", "--top-k", "1"}, "dna"))
          .out;
  for (const char* name : {">chr1:11-40(+)_1 ", ">chr1:11-40(+)_2 ", ">chr2:11-40(-)_name_1 "})
    EXPECT_TRUE(holds(both, name)) << both;
  EXPECT_EQ(rows(genome + Words{"-r", "chr1:11-40", "-O", "jsonl"}, "dna")[0].at("id"), "chr1:11-40(+)");
}

TEST_F(TextGenerate, BadInputIsRefused) {
  const Words genome{"-f", path("genome.fa")};
  refused(generate({"--prompt", "ab"}, "masked"), 1, "the model predicts no next token");
  EXPECT_TRUE(holds(refused(generate({"--prompt", "ab"}, "masked"), 1, "masked").err, "objective clm"));
  refused(generate({}), 2, "give the prompts in one way");
  refused(generate({"--prompt", "ab", "--prompts", path("prompts.txt")}), 2, "give the prompts in one way");
  refused(generate({"--prompt", std::string(64, 'a')}), 1, "65 tokens with [CLS]");
  refused(generate(genome + Words{"-r", "chr1:1-9"}), 1, "model");
  refused(generate(genome + Words{"-r", "chr1:390-410"}, "dna"), 1, "chr1:390-410: letter 12");
  refused(generate(genome + Words{"-r", "chr1:1-2000"}, "dna"), 1, "chr1");
  refused(generate(genome + Words{"-r", "chr9:1-20"}, "dna"), 1, "chr9");
  refused(generate({"--prompt", "ab", "-O", "fasta"}), 2, "FASTA of a model of text");
  refused(generate({"--prompt", "ab", "--continuations", "3"}), 2,
          "--continuations 3 of a search with 1 beams");
  refused(generate({"--prompt", "ab", "--decoding", "google"}), 2, "google");
  refused(generate({"--prompt", "ab", "--max-tokens", "0"}), 2, "--max-tokens");
  write("none.txt", "");
  refused(generate({"--prompts", path("none.txt")}), 1, "none.txt");
}

TEST_F(TextGenerate, ModelsThatReadLeftToRightFillNoMasks) {
  EXPECT_TRUE(
      holds(refused({"fill-mask", "-m", path("model"), "ab [MASK]"}, 1, "the model reads left to right").err,
            "objective mlm"));
}

}  // namespace
}  // namespace bigbird::testing
