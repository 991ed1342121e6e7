// Tables of texts as real people have them: quotes in TSV, lines without a table, labels that a spreadsheet
// turned into fractions, semicolons. As many rows come out as went in, and what was read otherwise is said.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/running_program.h"
#include "tests/cli/text_fixture.h"

namespace bigbird::testing {
namespace {

constexpr const char* quoted_tsv =
    "id\ttext\tlabel\n1\tfirst\tA\n2\t\"second sentence\tB\n3\tthird\tA\n4\tfourth\"\tB\n5\tfifth\tA\n";

class TextTables : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    write_tiny_text_model(path("model"), {.labels = 2, .names = {"A", "B"}});
    write_tiny_text_model(path("numbers"), {.problem = ProblemType::regression, .labels = 1});
    write_tiny_text_model(path("unnamed"), {.labels = 2});
    write_tiny_text_model(path("many"),
                          {.problem = ProblemType::multi_label, .labels = 2, .names = {"A", "B"}});
    TinyTextModel encoder;
    encoder.head = HeadType::masked_lm;
    write_tiny_text_model(path("pre"), encoder);
    write("t.tsv", quoted_tsv);
  }
  static Words predict(const std::string& file, const Words& more = {}) {
    return Words{"text", "classify", "predict", "-m", path("model"), file, "--no-provenance"} + more;
  }
  // The ids of the rows, "1 2 5".
  static std::string ids(const std::string& table) {
    std::string all;
    for (std::size_t at = table.find('\n') + 1; at < table.size(); at = table.find('\n', at) + 1) {
      all += (all.empty() ? "" : " ") + table.substr(at, table.find('\t', at) - at);
    }
    return all;
  }
  static nlohmann::json evaluate(const Words& more) {
    return nlohmann::json::parse(must(Words{"text", "classify", "evaluate", "--no-provenance"} + more).out);
  }
};

TEST_F(TextTables, AQuoteInTsvIsText) {
  const RunResult run = must(predict(path("t.tsv")));
  EXPECT_EQ(ids(run.out), "1 2 3 4 5");
  EXPECT_TRUE(holds(run.err, "5 records read, 5 of them written to stdout")) << run.err;
  EXPECT_FALSE(holds(run.err, "quot")) << run.err;
  EXPECT_EQ(evaluate({"-m", path("model"), "--data", path("t.tsv")}).at("examples"), 5);
  const RunResult trained = must({"text", "classify", "finetune", "--train", path("t.tsv"), "--init",
                                  path("pre"), "-o", path("run"), "--steps", "1"});
  EXPECT_TRUE(holds(trained.err, "t.tsv: 5 rows read")) << trained.err;
  EXPECT_TRUE(holds(trained.err, "A 3, B 2")) << trained.err;
}

TEST_F(TextTables, QuotingIsAnOption) {
  const RunResult run = must(predict(path("t.tsv"), {"--quoting", "csv"}));
  EXPECT_EQ(ids(run.out), "1 2 5");
  EXPECT_TRUE(holds(run.err,
                    "1 field with a tab or a line end inside, the first in the row of line 3; where \" is "
                    "text, set --quoting none"))
      << run.err;
  const std::string csv = write("t.csv", "id,text\n1,a\n2,\"b\n3,c\n");
  const RunResult refusal = refused(predict(csv), 1, "the quote that opens field 2 is never closed");
  EXPECT_TRUE(holds(refusal.err, "set --quoting none")) << refusal.err;
  EXPECT_EQ(ids(must(predict(csv, {"--quoting", "none"})).out), "1 2 3");
  refused(predict(csv, {"--quoting", "some"}), 2, "--quoting");
}

TEST_F(TextTables, EveryVerbThatReadsTablesTakesIt) {
  EXPECT_EQ(evaluate({"-m", path("model"), "--data", path("t.tsv"), "--quoting", "csv"}).at("examples"), 3);
  const RunResult trained = must({"text", "classify", "finetune", "--train", path("t.tsv"), "--init",
                                  path("pre"), "-o", path("quoted"), "--steps", "1", "--quoting", "csv"});
  EXPECT_TRUE(holds(trained.err, "t.tsv: 3 rows read")) << trained.err;
  refused({"text", "classify", "evaluate", "-m", path("model"), "--data", path("t.tsv"), "--quoting", "some"},
          2, "--quoting");
  refused({"text", "summarize", "finetune", "--train", path("t.tsv"), "--init", path("pre"), "-o", path("s"),
           "--quoting", "some"},
          2, "--quoting");
  refused({"text", "summarize", "predict", "-m", path("pre"), path("t.tsv"), "--quoting", "some"}, 2,
          "--quoting");
}

TEST_F(TextTables, QuotedTsvIsToldByItsHeader) {
  const std::string file = write("r.tsv", "\"id\"\t\"text\"\n\"1\"\t\"a \"\"b\"\" c\"\n\"2\"\t\"c\td\"\n");
  const RunResult run = must(predict(file));
  EXPECT_EQ(ids(run.out), "1 2");
  EXPECT_TRUE(holds(run.err, "1 field with a tab or a line end inside")) << run.err;
}

TEST_F(TextTables, SummariesAreAllScored) {
  const std::string gold = write("gold.tsv", "id\tsummary\n1\ta b\n2\t\"c d\n3\te f\n4\tg\"\n5\ti j\n");
  const auto json = nlohmann::json::parse(
      must({"text", "summarize", "evaluate", "--data", gold, "--predictions", gold}).out);
  EXPECT_EQ(json.at("documents"), 5);
  EXPECT_EQ(json.at("rouge").at("rouge1").at("f1"), 1.0);
  const RunResult quoted =
      must({"text", "summarize", "evaluate", "--data", gold, "--predictions", gold, "--quoting", "csv"});
  EXPECT_EQ(nlohmann::json::parse(quoted.out).at("documents"), 3);
  EXPECT_TRUE(holds(quoted.err, "1 field with a tab or a line end inside")) << quoted.err;
}

TEST_F(TextTables, TextsWithoutAWordThatRougeCountsAreSaid) {
  const std::string gold = write("words.tsv", "id\tsummary\n1\ta b\n2\t\xCE\xB1 \xCE\xB2\n");
  const RunResult run = must({"text", "summarize", "evaluate", "--data", gold, "--predictions", gold});
  EXPECT_TRUE(holds(run.err, "1 of 2 texts have no word that ROUGE counts")) << run.err;
}

TEST_F(TextTables, LinesOnStdinKeepTheFirst) {
  for (const char* lines : {"A good film.\nA bad one.\n", "good, but long.\nbad", "[sic] a\n<b> b\n"}) {
    const RunResult run = must(predict("-"), lines);
    EXPECT_EQ(ids(run.out), "0 1") << lines << run.err;
    EXPECT_TRUE(holds(run.err, "text: every line")) << run.err;
  }
  EXPECT_EQ(ids(must(predict("-"), "text\na\nb\n").out), "0 1") << "a header that is known";
  EXPECT_EQ(ids(must(predict("-"), "id,review\n7,a\n8,b\n").out), "7 8");
  EXPECT_EQ(ids(must(predict("-"), "a film\tpos\nb film\tneg\n").out), "0 1") << "tabs without names";
  EXPECT_EQ(ids(must(predict("-", {"--format", "lines"}), "text\na\nb\n").out), "0 1 2");
  EXPECT_EQ(ids(must(predict(write("plain.txt", "A good film.\nA bad one.\n"))).out), "0 1");
  const RunResult refusal =
      refused(predict(write("plain.doc", "x\n")), 2, "its name does not show its format");
  EXPECT_TRUE(holds(refusal.err, "set --format to csv, tsv, jsonl, lines, folder or articles"))
      << refusal.err;
  refused({"text", "classify", "evaluate", "-m", path("model"), "--data", path("plain.txt")}, 2,
          "lines of text have no labels");
}

TEST_F(TextTables, OddTablesAreReadOrRefused) {
  const auto said = [&](const std::string& name, const std::string& text) {
    const RunResult run = run_bigbird(predict(write(name, text)));
    return run.status == 0 ? ids(run.out) : run.err.substr(run.err.find("error: ") + 7);
  };
  EXPECT_EQ(said("excel.csv", "id;text\n1;a, b\n2;c\n"), "1 2");
  EXPECT_EQ(said("tabs.csv", "id\ttext\n1\ta, b\n2\tc\n"), "1 2");
  EXPECT_EQ(said("end.tsv", "id\ttext\r\n1\ta\r\n\r\n2\tc"), "1 2");
  EXPECT_EQ(said("bom.tsv", "\xEF\xBB\xBFid\ttext\n1\ta\n"), "1");
  EXPECT_TRUE(
      holds(said("again.tsv", "id\ttext\n1\ta\nid\ttext\n2\tb\n"), "again.tsv:3: the header is here again"));
  EXPECT_TRUE(
      holds(said("mac.tsv", "id\ttext\r1\ta\r2\tb\r"), "mac.tsv:1: the header holds a carriage return"));
  EXPECT_TRUE(holds(said("few.tsv", "id\ttext\n1\n"), "few.tsv:2: 1 field where the header has 2"));
  EXPECT_TRUE(holds(said("twice.tsv", "id\ttext\ttext\n1\ta\tb\n"), "two columns are named 'text'"));
  const RunResult header = must(predict(write("none.csv", "A good film.\nA bad one.\n")));
  EXPECT_TRUE(holds(header.err,
                    "the first row is taken for the names of the columns, though 'A good film.' looks "
                    "like data; set --no-header"))
      << header.err;
}

// Each row goes out before the next comes in.
TEST_F(TextTables, RowsAppearAsTheyAreMade) {
  Running run(predict("-", {"--chunk-size", "1", "-O", "jsonl", "--format", "jsonl"}), path("stream.err"));
  for (const char* id : {"first-of-them", "second-of-them", "third-of-them"}) {
    run.give(std::string("{\"id\": \"") + id + "\", \"text\": \"a b\"}\n");
    int tries = 0;  // of a millisecond and more
    ASSERT_TRUE(run.wait_until([&] { return run.unread_output() > 0 || ++tries > 10'000; })) << run.error();
    ASSERT_GT(run.unread_output(), 0) << id;
    EXPECT_TRUE(holds(run.take_output(), id));
  }
}

TEST_F(TextTables, AWholeNumberWithAPointIsTheSameClass) {
  const std::string train = write("train.csv", "text,label\na,0\nb,1\nc,0\nd,1\n");
  const std::string valid = write("valid.csv", "text,label\na,0.0\nb,1.0\n");
  must({"text", "classify", "finetune", "--train", train, "--valid", valid, "--init", path("pre"), "-o",
        path("points"), "--steps", "1"});
  EXPECT_EQ(evaluate({"-m", path("points/final"), "--data", valid}).at("examples"), 2);
  must({"text", "classify", "predict", "-m", path("points/final"), train, "-o", path("points.tsv")});
  const std::string both = write("both.csv", "text,label\na,0.0\nb,1\nc,0\nd,1.0\n");
  EXPECT_EQ(evaluate({"--data", both, "--predictions", path("points.tsv")}),
            evaluate({"--data", train, "--predictions", path("points.tsv")}));
  const RunResult single = must({"text", "classify", "finetune", "--train", both, "--init", path("pre"), "-o",
                                 path("single"), "--steps", "1", "--problem", "single"});
  EXPECT_TRUE(holds(single.err, "0 2, 1 2")) << single.err;
  const RunResult numbers = must({"text", "classify", "finetune", "--train", both, "--init", path("pre"),
                                  "-o", path("as-numbers"), "--steps", "1"});
  EXPECT_TRUE(holds(numbers.err, "learned as numbers; set --problem single")) << numbers.err;
}

TEST_F(TextTables, LabelsNameTheOutputs) {
  const std::string data = write("zero.csv", "text,label\na,0\nb,1\nc,0\n");
  const RunResult refusal = refused({"text", "classify", "evaluate", "-m", path("unnamed"), "--data", data},
                                    1, "label '0' is none of the model's classes");
  EXPECT_TRUE(holds(refusal.err, "give --classes")) << refusal.err;
  const auto direct = evaluate({"-m", path("unnamed"), "--data", data, "--classes", "0,1"});
  must({"text", "classify", "predict", "-m", path("unnamed"), data, "-o", path("unnamed.tsv")});
  const Words from_table = {"--data", data, "--predictions", path("unnamed.tsv")};
  EXPECT_EQ(evaluate(from_table + Words{"--classes", "0,1"}).at("accuracy"), direct.at("accuracy"));
  const RunResult foreign = must(Words{"text", "classify", "evaluate"} + from_table);
  EXPECT_TRUE(holds(foreign.err, "the labels of 3 of 3 rows (0, 1) are not a class of")) << foreign.err;
  refused(Words{"text", "classify", "evaluate", "-m", path("unnamed"), "--data", data, "--classes", "0"}, 2,
          "1 names where the model has 2 classes");
}

TEST_F(TextTables, SeveralLabelsAreAListInJson) {
  const RunResult run =
      must({"text", "classify", "predict", "-m", path("many"), "-", "-O", "jsonl"}, "a b\nc\n");
  for (std::size_t at = 0; at < run.out.size(); at = run.out.find('\n', at) + 1)
    EXPECT_TRUE(
        nlohmann::json::parse(run.out.substr(at, run.out.find('\n', at) - at)).at("label").is_array());
}

TEST_F(TextTables, NumbersAreHeldInDouble) {
  std::string data = "id,text,label\n", table = "#id\tscore\n";
  for (int i = 0; i < 10; ++i) {
    data += std::to_string(i) + ",a," + std::to_string(1234567.1 + 0.3 * i) + "\n";
    table +=
        std::to_string(i) + "\t" + std::to_string(1234567.1 + 0.3 * i + (i % 2 == 0 ? 0.05 : -0.05)) + "\n";
  }
  const auto json = evaluate({"--data", write("big.csv", data), "--predictions", write("big.tsv", table)});
  EXPECT_NEAR(json.at("mse").get<double>(), 0.0025, 1e-9);
}

}  // namespace
}  // namespace bigbird::testing
