// Star, BlockBERT, both forms of the Sparse Transformer and Longformer as a user meets them: pretraining on
// DNA and text, fine-tuning, prediction, resuming, convert, check, info, and what is refused; `bigbird
// attention` counts and compares them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/text_fixture.h"
#include "tests/support/tiny_encoder.h"

namespace bigbird::testing {
namespace {

namespace fs = std::filesystem;

const std::vector<Words>& systems() {
  static const std::vector<Words> all = {
      {"--attention", "star"},
      {"--attention", "blockbert", "--parts", "3", "--head-split", "1:1"},
      {"--attention", "sparse-fixed", "--stride", "32", "--summary-patterns", "2"},
      {"--attention", "sparse-fixed", "--stride", "48", "--summary-tokens", "16", "--heads-as", "split"},
      {"--attention", "longformer", "--attention-window", "24", "--global", "first:3"},
      {"--attention", "longformer", "--attention-window", "12", "--global", "first:1", "--dilation", "3",
       "--dilated-heads", "1"},
      {"--attention", "sparse-strided", "--stride", "11"},
      {"--attention", "sparse-strided", "--stride", "24", "--heads-as", "split"}};
  return all;
}

class AttentionSystems : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    make_tiny_encoder(folder_->path());
    must({"promoter", "build", "--tss", path("genome/promoters.tss.bed"), "-f", path("genome/genome.fa.gz"),
          "-o", path("examples"), "--left", "500", "--right", "300"});
  }
  static Words pretrain(const std::string& run, const Words& more, const std::string& shards = "shards",
                        const std::string& tokenizer = "tokenizer") {
    return Words{"pretrain",
                 "--train",
                 path(shards),
                 "-m",
                 path(tokenizer),
                 "-o",
                 path(run),
                 "--layers",
                 "1",
                 "--width",
                 "16",
                 "--heads",
                 "2",
                 "--intermediate",
                 "32",
                 "--block-size",
                 "16",
                 "--length",
                 "128",
                 "--batch",
                 "4",
                 "--steps",
                 "4",
                 "--save-every",
                 "2",
                 "--device",
                 "cpu"} +
           more;
  }
  static std::string weights(const std::string& folder) {
    return read_text(path(folder + "/model.safetensors"));
  }
  static nlohmann::json config(const std::string& folder) {
    return nlohmann::json::parse(read_text(path(folder + "/config.json")));
  }
  static std::string name_of_run(const char* kind, std::size_t i) { return kind + std::to_string(i); }
};

TEST_F(AttentionSystems, DnaIsPretrainedAndGoesOnWithEqualBytes) {
  for (std::size_t i = 0; i < systems().size(); ++i) {
    const std::string run = name_of_run("dna", i), other = name_of_run("threads", i);
    const Words alone = Words{"--accumulate", "2"} + systems()[i];
    must(pretrain(run, alone + Words{"-@", "1"}));
    EXPECT_EQ(config(run + "/final").at("model_type"), "bigbird_extended");
    must(pretrain(other, alone + Words{"-@", "2"}));
    const std::string trained = weights(run + "/final");
    EXPECT_TRUE(trained == weights(other + "/final")) << systems()[i][1];
    // As if it had been killed after its first checkpoint.
    fs::remove_all(path(run + "/final"));
    fs::remove_all(path(run + "/checkpoint-4"));
    must(pretrain(run, alone + Words{"-@", "1", "--resume"}));
    EXPECT_TRUE(trained == weights(run + "/final")) << systems()[i][1];
    EXPECT_EQ(must({"check", path(run + "/final")}).out.find("failed"), std::string::npos);
  }
  refused(pretrain("dna0", {"--attention", "blockbert", "--accumulate", "2", "--resume", "-@", "1"}), 2,
          "model.bigbird.attention was \"star\", is \"blockbert\"");
}

TEST_F(AttentionSystems, PromotersAreLearnedAndScoredAlikeInAnyBatch) {
  for (std::size_t i = 0; i < systems().size(); ++i) {
    const std::string model = name_of_run("converted", i), run = name_of_run("promoters", i);
    must(Words{"convert", path("run/final"), path(model)} + systems()[i]);
    must({"promoter", "finetune", "--data", path("examples"), "--init", path(model), "-o", path(run),
          "--batch", "4", "--steps", "2", "--device", "cpu"});
    EXPECT_EQ(config(run + "/final").at("bigbird").value("attention_options", nlohmann::json()),
              config(model).at("bigbird").value("attention_options", nlohmann::json()))
        << systems()[i][1];
    const auto scores = [&](const char* threads, const char* batch) {
      return must({"promoter", "predict", "-m", path(run + "/final"), "--data", path("examples/test.tsv"),
                   "-@", threads, "--batch", batch, "--device", "cpu", "--no-provenance"})
          .out;
    };
    EXPECT_EQ(scores("1", "1"), scores("2", "8")) << systems()[i][1];
  }
}

TEST_F(AttentionSystems, TextIsPretrainedAndClassified) {
  write_text_task();
  for (std::size_t i = 0; i < systems().size(); ++i) {
    const std::string run = name_of_run("text", i), classes = name_of_run("classes", i);
    must(pretrain(run, systems()[i], "text", "pieces"));
    must({"text", "classify", "finetune", "--train", path("table.csv"), "--init", path(run + "/final"), "-o",
          path(classes), "--steps", "2", "--batch", "4", "--device", "cpu"});
    const auto scores = [&](const char* batch) {
      return must({"text", "classify", "predict", "-m", path(classes + "/final"), path("table.csv"),
                   "--batch-tokens", batch, "--device", "cpu", "--no-provenance"})
          .out;
    };
    EXPECT_EQ(scores("8"), scores("4k")) << systems()[i][1];
  }
}

TEST_F(AttentionSystems, SummariesAreWrittenByAConvertedModel) {
  write_tiny_summary_model(path("writer"));
  std::string pairs;
  for (std::uint64_t i = 0; i < 8; ++i)
    pairs += "{\"document\": \"" + tiny_text(i) + "\", \"summary\": \"" + tiny_text(i + 20) + "\"}\n";
  write("pairs.jsonl", pairs);
  must({"convert", path("writer"), path("sparse-writer"), "--attention", "sparse-fixed", "--stride", "16"});
  EXPECT_EQ(config("sparse-writer").at("model_type"), "bigbird_extended");
  must({"text", "summarize", "finetune", "--train", path("pairs.jsonl"), "--init", path("sparse-writer"),
        "-o", path("summaries"), "--steps", "2", "--target-length", "16", "--device", "cpu"});
  const RunResult run = must({"text", "summarize", "predict", "-m", path("summaries/final"),
                              path("pairs.jsonl"), "--max-tokens", "4", "--device", "cpu"});
  EXPECT_FALSE(run.out.empty());
}

TEST_F(AttentionSystems, G8ConvertThereAndBack) {
  for (std::size_t i = 0; i < systems().size(); ++i) {
    const std::string there = name_of_run("there", i), back = name_of_run("back", i);
    must(Words{"convert", path("run/final"), path(there)} + systems()[i]);
    EXPECT_EQ(must({"check", path(there)}).out.find("failed"), std::string::npos);
    const RunResult info = must({"info", path(there)});
    EXPECT_TRUE(holds(info.out, "\nattention\t" + systems()[i][1] + ", blocks of 16 tokens")) << info.out;
    EXPECT_TRUE(holds(info.out, "\nloads_in_transformers\tfalse\n"));
    EXPECT_TRUE(
        holds(read_text(path(there + "/README.md")), "has no class for " + systems()[i][1] + " attention"));
    must({"convert", path(there), path(back), "--attention", "bigbird"});
    EXPECT_EQ(config(back), config("run/final"));
    EXPECT_TRUE(holds(must({"info", path(back)}).out, "\nloads_in_transformers\ttrue\n"));
  }
  EXPECT_EQ(config("there1").at("bigbird").at("attention_options"),
            nlohmann::json::parse(R"({"parts": 3, "head_split": [1, 1]})"));
  EXPECT_EQ(
      config("there2").at("bigbird").at("attention_options"),
      nlohmann::json::parse(R"({"stride": 32, "summary": 16, "summary_patterns": 2, "heads_as": "merged"})"));
}

TEST_F(AttentionSystems, G8OptionsThatAFolderCannotHaveAreNamed) {
  must({"convert", path("run/final"), path("good"), "--attention", "blockbert"});
  const auto with = [&](const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json changed = config("good");
    change(changed["bigbird"]);
    write("good/config.json", changed.dump());
    const std::string error = refused({"info", path("good")}, 1, path("good/config.json") + ": ").err;
    return error;
  };
  const auto options = [&](const char* text) {
    return with([&](nlohmann::json& own) { own["attention_options"] = nlohmann::json::parse(text); });
  };
  EXPECT_TRUE(
      holds(options(R"({"prats": 2})"), "attention_options: prats: attention blockbert has no such option"));
  EXPECT_TRUE(holds(options(R"({"parts": "two"})"), "attention_options: parts: "));
  EXPECT_TRUE(holds(options(R"({"parts": 0})"), "is not a whole number within 1..1024"));
  EXPECT_TRUE(holds(options(R"({"head_split": [1, -1]})"), "attention_options: head_split: '1:-1'"));
  EXPECT_TRUE(holds(options(R"({"parts": 17})"), "parts 17 of at most 16 blocks"));
  EXPECT_TRUE(holds(options(R"([2])"), "attention_options is not an object"));
  EXPECT_TRUE(holds(with([](nlohmann::json& own) {
                      own["attention"] = "sparse-fixed";
                      own["attention_options"] = {{"heads_as", "torn"}};
                    }),
                    "heads_as: 'torn' is none of its values"));
}

TEST_F(AttentionSystems, OptionsOfAnotherSystemAndImpossibleSizesAreUsageErrors) {
  refused(pretrain("no", {"--attention", "star", "--parts", "2"}), 2,
          "--parts is of attention blockbert, not of star");
  refused(pretrain("no", {"--parts", "2"}), 2, "--parts is of attention blockbert, not of bigbird");
  refused(pretrain("no", {"--attention", "stars"}), 2, "'stars' is not an attention pattern");
  refused(pretrain("no", {"--attention", "blockbert", "--parts", "9"}), 2,
          "parts 9 of at most 8 blocks (--max-positions 128, --block-size 16)");
  refused(pretrain("no", {"--attention", "blockbert", "--head-split", "1:1:1"}), 2,
          "--head-split 1:1:1 has 3 shares for 2 parts");
  refused(pretrain("no", {"--attention", "sparse-fixed", "--stride", "40"}), 2,
          "stride 40 is not a multiple of --block-size 16");
  refused(pretrain("no", {"--attention", "sparse-fixed"}), 2, "stride 128 of --max-positions 128");
  refused(pretrain("no", {"--attention", "sparse-fixed", "--stride", "ten"}), 2, "--stride: 'ten'");
  refused(pretrain("no", {"--attention", "longformer", "--attention-window", "7"}), 2,
          "a window of 7 has no two halves");
  refused(pretrain("no", {"--attention", "longformer", "--attention-window", "8:8"}), 2,
          "window names 2 windows for 1 layers");
  refused(pretrain("no", {"--attention", "longformer", "--global", "last:3"}), 2,
          "--global: 'last:3' is neither task, none, question nor first:N");
  refused(pretrain("no", {"--attention", "longformer", "--global", "first:400"}), 2,
          "400 global tokens of at most 128 positions");
  refused(pretrain("no", {"--attention", "longformer", "--dilation", "2"}), 2, "dilation 2 of no head");
  refused(pretrain("no", {"--attention", "longformer", "--dilated-heads", "1"}), 2, "with dilation 1");
  refused(pretrain("no", {"--attention", "longformer", "--dilation", "2", "--dilated-heads", "3"}), 2,
          "dilated-heads 3 of ");
  refused(pretrain("no", {"--attention", "sparse-strided", "--stride", "1"}), 2,
          "stride 1 of sparse-strided");
  refused({"convert", path("run/final"), path("no"), "--attention", "sparse-fixed", "--stride", "40"}, 1,
          "config.json with --attention sparse-fixed: stride 40 is not a multiple of block_size 16");
  refused({"convert", path("run/final"), path("no"), "--stride", "32"}, 2,
          "--stride is of attention sparse-fixed, sparse-strided, not of bigbird");
  refused({"convert", path("run/final"), path("no"), "--attention", "star", "--to-dialect", "gena"}, 1,
          "a plan that is drawn for every length");
  EXPECT_FALSE(fs::exists(path("no")));
}

using SeesToken = std::function<bool(std::int64_t head, std::int64_t query, std::int64_t key)>;

TEST(AttentionVerb, G9PairsAreThoseThatCountingThemGives) {
  struct Case {
    Words words;
    SeesToken sees;
  };
  // 12 blocks of 8 tokens, 4 heads.
  const std::vector<Case> cases = {
      {{"star"}, [](auto, auto i, auto j) { return i < 8 || j < 8 || i / 8 == j / 8; }},
      {{"blockbert", "--parts", "3", "--head-split", "2:1:1"},
       [](auto head, auto i, auto j) {
         return j / 32 == (i / 32 + std::max<std::int64_t>(head - 1, 0)) % 3;
       }},
      {{"sparse-fixed", "--stride", "32", "--summary-tokens", "8", "--summary-patterns", "2"},
       [](auto head, auto i, auto j) { return i / 32 == j / 32 || j % 32 / 8 == 3 - head % 2; }},
      {{"sparse-fixed", "--stride", "32", "--summary-tokens", "16", "--heads-as", "split"},
       [](auto head, auto i, auto j) { return head < 2 ? i / 32 == j / 32 : j % 32 >= 16; }},
      {{"window"}, [](auto, auto i, auto j) { return std::abs(i / 8 - j / 8) <= 1; }},
      {{"longformer", "--attention-window", "14", "--global", "first:3"},
       [](auto, auto i, auto j) { return i < 3 || j < 3 || std::abs(i - j) <= 7; }},
      {{"longformer", "--attention-window", "6", "--dilation", "4", "--dilated-heads", "2"},
       [](auto head, auto i, auto j) {
         return std::abs(i - j) <= (head < 2 ? 3 : 12) && (head < 2 || (i - j) % 4 == 0);
       }},
      {{"sparse-strided", "--stride", "11"},
       [](auto, auto i, auto j) { return std::abs(i - j) < 11 || (i - j) % 11 == 0; }},
      {{"sparse-strided", "--stride", "11", "--heads-as", "split"},
       [](auto head, auto i, auto j) { return head < 2 ? std::abs(i - j) < 11 : (i - j) % 11 == 0; }}};
  for (const Case& one : cases) {
    const RunResult run = run_bigbird(
        Words{"attention", "--length", "96", "--block-size", "8", "--heads", "4", "-o", "-", "--attention"} +
        one.words);
    ASSERT_EQ(run.status, 0) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    std::int64_t pairs = 0, most = 0;
    for (std::int64_t head = 0; head < 4; ++head) {
      for (std::int64_t i = 0; i < 96; ++i) {
        std::int64_t keys = 0;
        for (std::int64_t j = 0; j < 96; ++j) keys += one.sees(head, i, j) ? 1 : 0;
        pairs += keys;
        most = std::max(most, keys);
      }
    }
    EXPECT_EQ(json.at("visible_pairs"), pairs) << one.words[0];
    EXPECT_EQ(json.at("keys_per_query").at("max"), most) << one.words[0];
    EXPECT_DOUBLE_EQ(json.at("keys_per_query").at("mean"), static_cast<double>(pairs) / (4 * 96))
        << one.words[0];
  }
}

TEST(AttentionVerb, SystemsAreComparedSideBySide) {
  const TemporaryFolder folder;
  const std::string svg = (folder / "c.svg").string(), file = (folder / "c.json").string();
  const Words words = {"attention", "--compare", "full,star,blockbert,sparse-fixed",
                       "--length",  "1024",      "--stride",
                       "256",       "--svg",     svg,
                       "-o",        file};
  const RunResult run = run_bigbird(words);
  ASSERT_EQ(run.status, 0) << run.err;
  std::vector<std::string> names;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) names.push_back(line.substr(0, line.find('\t')));
  EXPECT_EQ(names, (std::vector<std::string>{"attention", "full", "star", "blockbert", "sparse-fixed"}));
  const auto all = nlohmann::json::parse(read_text(file)).at("systems");
  EXPECT_EQ(all[0].at("visible_pairs"), 12 * 1024 * 1024);
  EXPECT_EQ(all[0].at("multiply_adds"), 2 * 768 * 1024 * 1024);
  EXPECT_EQ(all[0].at("layers_to_connect"), 1);
  EXPECT_EQ(all[1].at("layers_to_connect"), 2);
  EXPECT_EQ(all[2].at("keys_per_query").at("mean"), 512);
  EXPECT_EQ(all[2].at("first_head").at("gap"), 0);  // two halves apart
  EXPECT_EQ(all[3].at("options").at("stride"), "256");
  EXPECT_EQ(all[3].at("keys_per_query").at("max"), 256 + 3 * 64);
  EXPECT_EQ(all[3].at("causal"), true);
  EXPECT_EQ(all[3].at("cuda"), true);
  EXPECT_EQ(read_text(svg).find("<svg"), 0u);
  for (const char* bad : {"star,star", "star,moon", "star,longformer,longformer", ""}) {
    const RunResult refused = run_bigbird({"attention", "--compare", bad, "--length", "1024"});
    EXPECT_EQ(refused.status, 2) << bad;
    EXPECT_TRUE(holds(refused.err, "hint: ")) << refused.err;
  }
  EXPECT_EQ(run_bigbird({"attention", "--compare", "star", "--length", "1024", "--head", "1"}).status, 2);
  EXPECT_EQ(run_bigbird({"attention", "--compare", "star"}).status, 2);
  EXPECT_EQ(
      run_bigbird({"attention", "--compare", "sparse-fixed", "--length", "1024", "--stride", "100"}).status,
      2);
  EXPECT_EQ(run_bigbird({"attention", "--compare", "star", "--length", "1M"}).status, 2);
}

TEST(AttentionVerb, SystemsAreComparedLeftToRight) {
  const auto mean_keys = [](const Words& words) {
    const RunResult run = run_bigbird(Words{"attention", "--compare"} + words +
                                      Words{"--length", "128", "--block-size", "16", "-o", "-"});
    EXPECT_EQ(run.status, 0) << run.err;
    return nlohmann::json::parse(run.out).at("systems").at(0).at("keys_per_query").at("mean").get<double>();
  };
  // A token and up to 10 before it; those of whole blocks; and the form of both directions.
  const Words window = {"longformer", "--attention-window", "20", "--global", "none"};
  EXPECT_DOUBLE_EQ(mean_keys(window + Words{"--left-to-right"}), 11.0 - (10.0 * 11 / 2) / 128);
  EXPECT_DOUBLE_EQ(mean_keys({"full", "--left-to-right"}), 16 * 4.5);
  EXPECT_DOUBLE_EQ(mean_keys(window), 21.0 - (10.0 * 11) / 128);
  const RunResult star =
      run_bigbird({"attention", "--compare", "star", "--length", "128", "--left-to-right"});
  EXPECT_EQ(star.status, 2);
  EXPECT_TRUE(holds(star.err, "looks ahead")) << star.err;
  const RunResult one =
      run_bigbird({"attention", "--attention", "full", "--length", "64", "--left-to-right"});
  EXPECT_EQ(one.status, 2);
  EXPECT_TRUE(holds(one.err, "--compare")) << one.err;
}

TEST(AttentionVerb, SystemsOfTokensAreDrawnAndCompared) {
  const TemporaryFolder folder;
  const std::string svg = (folder / "c.svg").string(), file = (folder / "c.json").string();
  const Words longformer = {"--attention-window", "64", "--global", "first:1", "--length", "1024"};
  const Words files = {"--svg", svg, "-o", file};
  const RunResult compared =
      run_bigbird(Words{"attention", "--compare", "full,longformer,sparse-strided"} + longformer + files);
  ASSERT_EQ(compared.status, 0) << compared.err;
  const auto all = nlohmann::json::parse(read_text(file)).at("systems");
  // T (w + 1 + g) + g T pairs, less the ends of the band, and what the global token has of it.
  EXPECT_EQ(all[1].at("visible_pairs"), 12 * (1024 * (64 + 1 + 1) + 1024 - 32 * 33 - (2 * 32 + 2)));
  EXPECT_EQ(all[1].at("keys_per_query").at("max"), 1024);
  EXPECT_EQ(all[1].at("layers_to_connect"), 2);
  EXPECT_EQ(all[1].at("first_head").at("unreachable_pairs"), 0);
  EXPECT_EQ(all[1].at("options").at("global"), "first:1");
  EXPECT_EQ(all[2].at("layers_to_connect"), 2);
  EXPECT_EQ(read_text(svg).find("<svg"), 0u);
  EXPECT_TRUE(holds(read_text(svg), "opacity"));

  const RunResult one = run_bigbird(Words{"attention", "--attention", "longformer"} + longformer + files);
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_TRUE(holds(one.out, "\n0-11\tlocal\tlocal\t1\t32\t32\tyes\n")) << one.out;
  EXPECT_TRUE(holds(one.out, "\n0-11\tglobal\tall\t1\tany\tany\tyes\n")) << one.out;
  EXPECT_EQ(nlohmann::json::parse(read_text(file)).at("visible_pairs"), all[1].at("visible_pairs"));
  EXPECT_TRUE(holds(read_text(svg), "(b) global tokens"));
  const RunResult lists = run_bigbird({"attention", "--attention", "sparse-strided", "--stride", "3",
                                       "--length", "8", "--block-size", "4", "--heads", "1", "--lists"});
  EXPECT_TRUE(holds(lists.out, "\n0\t1\t0 1 2 3 4 7\n")) << lists.out;

  const auto refused = [](const Words& words, const char* message) {
    const RunResult run = run_bigbird(Words{"attention"} + words);
    EXPECT_EQ(run.status, 2);
    EXPECT_TRUE(holds(run.err, message)) << run.err;
    EXPECT_TRUE(holds(run.err, "hint: ")) << run.err;
  };
  refused({"--attention", "longformer", "--length", "8200"},
          "8256 tokens, of at most 8192 where single tokens");
  refused({"--compare", "star,longformer", "--length", "16k"}, "of at most 8192 where single tokens decide");
  refused({"--attention", "longformer", "--length", "128", "--global-tokens", "3"},
          "--global-tokens with --attention longformer");
  refused({"--attention", "etc", "--length", "128", "--random-blocks", "2"},
          "--random-blocks with --attention etc");
  refused({"--attention", "longformer", "--global", "question", "--length", "128"},
          "--global question is another number of tokens in every input");
  refused({"--attention", "longformer", "--attention-window", "4:4", "--length", "128"},
          "windows for 12 layers");
  refused({"--attention", "longformer", "--length", "128", "--layer", "12"}, "--layer 12 of 12 layers");
}

}  // namespace
}  // namespace bigbird::testing
