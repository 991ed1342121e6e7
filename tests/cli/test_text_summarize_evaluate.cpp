// text summarize evaluate: scores by id and by line, intervals, options that reach what they name, and inputs
// that must be refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/words.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

class SummarizeEvaluate : public ::testing::Test {
 protected:
  SummarizeEvaluate() {
    write(
        "data.jsonl",
        "{\"id\": \"a\", \"summary\": \"The cats sat.\\nDogs ran home\"}\n{\"id\": \"b\", \"summary\": \"birds "
        "running\"}\n");
    write(
        "predictions.jsonl",
        "{\"id\": \"b\", \"summary\": \"a bird runs\"}\n{\"id\": \"a\", \"summary\": \"Dogs ran home<n>the cat "
        "sat\"}\n");
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) { write_text(folder_ / name, text); }
  RunResult evaluate(const Words& more, const std::string& data = "data.jsonl",
                     const std::string& predictions = "predictions.jsonl") {
    return run_bigbird(
        Words{"text", "summarize", "evaluate", "--data", path(data), "--predictions", path(predictions)} +
        more);
  }
  nlohmann::json scores(const Words& more = {}) {
    const RunResult run = evaluate(Words{"--no-provenance"} + more);
    EXPECT_EQ(run.status, 0) << run.err;
    return nlohmann::json::parse(run.out);
  }
  void refused(const RunResult& run, int status, const std::string& what) {
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_TRUE(holds(run.err, what)) << run.err;
    EXPECT_TRUE(run.out.empty());
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(SummarizeEvaluate, FindsPredictionsByIdAndReadsTheirLineBreaks) {
  const nlohmann::json json = scores();
  EXPECT_EQ(json.at("documents"), 2);
  const nlohmann::json& rouge = json.at("rouge");
  // Stems: the six words of a are all there; of b two of the prediction's three are the two of the summary.
  EXPECT_DOUBLE_EQ(rouge.at("rouge1").at("recall"), 1);
  EXPECT_DOUBLE_EQ(rouge.at("rouge1").at("precision"), (1 + 2.0 / 3) / 2);
  // Lines that changed places are whole lines all the same; as one text they are not.
  EXPECT_DOUBLE_EQ(rouge.at("rougeLsum").at("recall"), 1);
  EXPECT_DOUBLE_EQ(rouge.at("rougeL").at("recall"), (0.5 + 1) / 2);
  EXPECT_LE(rouge.at("rouge1").at("low").at("f1"), rouge.at("rouge1").at("f1"));
  EXPECT_GE(rouge.at("rouge1").at("high").at("f1"), rouge.at("rouge1").at("f1"));
  EXPECT_FALSE(json.contains("provenance"));
  EXPECT_DOUBLE_EQ(rouge.at("rougeLsum").at("precision"), (1 + 2.0 / 3) / 2);
  // Left as it stands <n> is a word, "n".
  EXPECT_DOUBLE_EQ(scores({"--line-break", ""}).at("rouge").at("rougeLsum").at("precision"),
                   (6.0 / 7 + 2.0 / 3) / 2);
}

TEST_F(SummarizeEvaluate, OptionsReachWhatTheyName) {
  EXPECT_LT(scores({"--no-stem"}).at("rouge").at("rouge1").at("recall"), 1);
  const nlohmann::json json = scores({"--types", "rouge3", "--seed", "9", "--bootstrap", "200"});
  EXPECT_EQ(json.at("rouge").size(), 1u);
  EXPECT_EQ(json.at("bootstrap_seed"), 9);
  EXPECT_EQ(json.at("bootstrap_draws"), 200);
  const auto low = [&](const char* draws) {
    return scores({"--bootstrap", draws}).at("rouge").at("rouge1").at("low").at("f1");
  };
  EXPECT_EQ(low("1k"), scores({}).at("rouge").at("rouge1").at("low").at("f1"));
  const RunResult seed = evaluate({"--bootstrap", "9"});  // what it was before
  EXPECT_EQ(seed.status, 2);
  EXPECT_TRUE(holds(seed.err, "--bootstrap 9: not from 100 to 1000000 draws")) << seed.err;
  EXPECT_TRUE(holds(seed.err, "is --seed")) << seed.err;
  ASSERT_EQ(evaluate({"--table", path("t.tsv"), "-o", path("s.json"), "-@", "2"}).status, 0);
  ASSERT_EQ(evaluate({"--table", path("u.tsv"), "-o", path("r.json"), "-@", "1", "--no-provenance"}).status,
            0);
  const std::string table = read_text(path("u.tsv"));
  EXPECT_TRUE(holds(table, "id\trouge1_precision\trouge1_recall\trouge1_f1\trouge2_precision")) << table;
  EXPECT_TRUE(holds(table, "\na\t1\t1\t1\t")) << table;
  EXPECT_TRUE(holds(table, "\t2\t3\n")) << table;  // words of b and of its prediction
  EXPECT_TRUE(holds(read_text(path("t.tsv.provenance.json")), "bigbird text summarize evaluate"));
  nlohmann::json first = nlohmann::json::parse(read_text(path("s.json")));
  EXPECT_TRUE(first.contains("provenance"));
  first.erase("provenance");
  EXPECT_EQ(first, nlohmann::json::parse(read_text(path("r.json"))));
}

TEST_F(SummarizeEvaluate, LinesAreInTheOrderOfTheData) {
  write("lines.txt", "the cat sat<n>dogs ran home\nbirds running\n");
  write("rows.csv", "article,highlights\nx,\"The cats sat.\nDogs ran home\"\ny,birds running\n");
  const RunResult run = evaluate({"--no-provenance"}, "rows.csv", "lines.txt");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(run.out).at("rouge").at("rougeLsum").at("f1"), 1);
}

TEST_F(SummarizeEvaluate, FieldsAndFormatsAreThoseThatAreNamed) {
  write("gold.data", "{\"number\": 4, \"gist\": \"the cat sat\", \"summary\": \"no\"}\n");
  write("given.jsonl", "{\"id\": \"4\", \"text\": \"the cat\xFF sat\", \"summary\": \"no\"}\n");
  const Words named = {"--format",           "jsonl", "--summary-field", "gist", "--id-field", "number",
                       "--prediction-field", "text",  "--no-provenance"};
  const RunResult run = evaluate(named + Words{"--replace-invalid"}, "gold.data", "given.jsonl");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(run.out).at("rouge").at("rouge2").at("f1"), 1);
  refused(evaluate(named, "gold.data", "given.jsonl"), 1, "given.jsonl:1");
  refused(evaluate({"--format", "xml"}), 2, "'xml' is not a format");
}

TEST_F(SummarizeEvaluate, TheBestOfSeveralSummariesCounts) {
  write("several.jsonl", "{\"id\": \"b\", \"target\": [\"no word of it\", \"a bird runs\"]}\n");
  write("one.jsonl", "{\"id\": \"b\", \"prediction\": \"a bird runs\"}\n");
  const RunResult run = evaluate({"--no-provenance", "--list-of-summaries"}, "several.jsonl", "one.jsonl");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(run.out).at("rouge").at("rouge2").at("f1"), 1);
}

TEST_F(SummarizeEvaluate, WhatDoesNotFitIsSaid) {
  write(
      "more.jsonl",
      "{\"id\": \"a\", \"summary\": \"\"}\n{\"id\": \"b\", \"summary\": \" \"}\n{\"id\": \"z\", \"summary\": "
      "\"z\"}\n");
  const RunResult run = evaluate({"--no-provenance"}, "data.jsonl", "more.jsonl");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(holds(run.err, "1 predictions are of ids that the data do not have")) << run.err;
  EXPECT_TRUE(holds(run.err, "2 predictions are empty")) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out).at("rouge").at("rouge1").at("f1"), 0);
  write("bad.jsonl", "{\"id\": \"a\", \"summary\": \"x\"}\n{\"id\": \"b\"}\n");
  const RunResult skipped = evaluate({"--no-provenance", "--skip-bad"}, "bad.jsonl");
  ASSERT_EQ(skipped.status, 0) << skipped.err;
  EXPECT_TRUE(holds(skipped.err, "1 bad records passed over, the first at")) << skipped.err;
  EXPECT_EQ(nlohmann::json::parse(skipped.out).at("bad_records_skipped"), 1);
}

TEST_F(SummarizeEvaluate, RefusedInputsLeaveNothing) {
  write("half.jsonl", "{\"id\": \"a\", \"summary\": \"x\"}\n");
  refused(evaluate({"-o", path("out.json"), "--table", path("out.tsv")}, "data.jsonl", "half.jsonl"), 1,
          "id 'b' has no prediction");
  EXPECT_FALSE(std::filesystem::exists(path("out.json")));
  EXPECT_FALSE(std::filesystem::exists(path("out.tsv")));
  refused(evaluate({"--types", "rouge0"}), 2, "there is no ROUGE 'rouge0'");
  write("empty.jsonl", "");
  refused(evaluate({}, "empty.jsonl"), 1, "no summaries in it");
  refused(evaluate({}, "missing.jsonl"), 1, "missing.jsonl");
  write("bad.jsonl", "{\"id\": \"a\", \"text\": \"x\"}\n");
  refused(evaluate({}, "bad.jsonl"), 1, "bad.jsonl:1");
  refused(run_bigbird({"text", "summarize", "evaluate", "--data", "-", "--predictions", "-"}), 2,
          "only one of the files");
}

}  // namespace
}  // namespace bigbird::testing
