// Scores of classes, lists of labels and numbers, against numbers worked out by hand; tables of predictions
// that do not fit.
#include "lib/text/classify/evaluate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/text_fixture.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

class ScoresOfTexts : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    testing::write_text(folder_ / name, text);
    return (folder_ / name).string();
  }
  TextRows gold(const std::string& text, const std::string& name = "gold.jsonl") {
    return labelled_rows(write(name, text), {});
  }
  ScoredTexts scored(const std::string& gold_text, const std::string& table) {
    return read_scored_texts(gold(gold_text), write("predictions.tsv", table));
  }
  static nlohmann::json metrics(const ScoredTexts& scores) {
    return nlohmann::json::parse(text_metrics_json(scores, ""));
  }
  testing::TemporaryFolder folder_;
};

constexpr const char* five_rows =
    "{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": \"b\", \"label\": \"x\"}\n{\"text\": \"c\", \"label\": \"y\"}\n"
    "{\"text\": \"d\", \"label\": \"z\"}\n{\"text\": \"e\", \"label\": \"x\"}\n";

TEST_F(ScoresOfTexts, ClassesAreScoredByName) {
  const ScoredTexts scores =
      scored(five_rows, "#id\tlabel\tscore\n4\ty\t1\n0\tx\t1\n1\tx\t1\n2\ty\t1\n3\ty\t1\n");
  EXPECT_EQ(scores.problem, ProblemType::single_label);
  const nlohmann::json json = metrics(scores);
  EXPECT_DOUBLE_EQ(json["accuracy"], 0.6);
  EXPECT_DOUBLE_EQ(json["micro_f1"], 0.6);
  EXPECT_DOUBLE_EQ(json["majority"], 0.6);
  // x: precision 1, recall 2/3; y: 1/3, 1; z: 0.
  EXPECT_NEAR(json["macro_f1"].get<double>(), (0.8 + 0.5 + 0) / 3, 1e-15);
  EXPECT_DOUBLE_EQ(json["per_class"]["y"]["precision"], 1.0 / 3);
  EXPECT_EQ(json["per_class"]["z"]["support"], 1);
  EXPECT_EQ(json["confusion"], nlohmann::json::parse("[[2,1,0],[0,1,0],[0,1,0]]"));
  EXPECT_EQ(json["examples"], 5);
  EXPECT_EQ(class_table_tsv(scores),
            "class\tprecision\trecall\tf1\tsupport\tas.x\tas.y\tas.z\nx\t1\t0.666667\t0.8\t3\t2\t1\t0\n"
            "y\t0.333333\t1\t0.5\t1\t0\t1\t0\nz\t0\t0\t0\t1\t0\t1\t0\n");
}

TEST_F(ScoresOfTexts, ListsOfLabelsAreScoredByTheColumnsOfTheClasses) {
  const ScoredTexts scores = scored(
      "{\"text\": \"a\", \"label\": [\"p\", \"q\"]}\n{\"text\": \"b\", \"label\": []}\n"
      "{\"text\": \"c\", \"label\": [\"r\"]}\n",
      "#id\tlabel\tscore\tp.p\tp.q\n0\tp\t1\t0.5\t0.49\n1\tq\t1\t0.1\t0.9\n2\t.\t0\t0.1\t0.2\n");
  EXPECT_EQ(scores.problem, ProblemType::multi_label);
  EXPECT_EQ(scores.classes.names(), (std::vector<std::string>{"p", "q", "r"}));
  const nlohmann::json json = metrics(scores);
  EXPECT_DOUBLE_EQ(json["exact_match"], 0.0);
  EXPECT_DOUBLE_EQ(json["micro_f1"], 2.0 * 1 / (3 + 2));
  EXPECT_NEAR(json["macro_f1"].get<double>(), 1.0 / 3, 1e-15);
  EXPECT_DOUBLE_EQ(json["per_class"]["p"]["recall"], 1.0);
  EXPECT_DOUBLE_EQ(json["per_class"]["q"]["precision"], 0.0);
  testing::expect_bad_input(testing::error_of([&] { class_table_tsv(scores); }), "table", "several labels");
  testing::expect_bad_input(
      testing::error_of(
          [&] { scored("{\"text\": \"a\", \"label\": [\"p\", \"q\"]}\n", "#id\tlabel\tscore\n0\tp\t1\n"); }),
      "predictions.tsv", "p.NAME");
}

TEST_F(ScoresOfTexts, NumbersAreScoredByCorrelation) {
  const nlohmann::json json =
      metrics(scored("{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\", \"label\": 2}\n"
                     "{\"text\": \"c\", \"label\": 3.5}\n",
                     "#id\tscore\n0\t2\n1\t4\n2\t7\n"));
  EXPECT_NEAR(json["pearson"].get<double>(), 1, 1e-12);
  EXPECT_NEAR(json["spearmanr"].get<double>(), 1, 1e-12);
  EXPECT_NEAR(json["mse"].get<double>(), (1 + 4 + 12.25) / 3, 1e-12);
  const nlohmann::json same = metrics(scored(
      "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\", \"label\": 2}\n", "#id\tscore\n0\t2\n1\t2\n"));
  EXPECT_TRUE(same["pearson"].is_null());
}

TEST_F(ScoresOfTexts, NamesWithTabsAreThoseOfTheTable) {
  const ScoredTexts scores =
      scored("{\"id\": \"a\\tb\", \"text\": \"t\", \"label\": \"x\\ty\"}\n",
             "#id\tlabel\tscore\n" + escape_controls("a\tb") + "\t" + escape_controls("x\ty") + "\t1\n");
  EXPECT_EQ(scores.labels, scores.predicted);
}

TEST_F(ScoresOfTexts, TablesThatDoNotFitAreRefused) {
  const auto refused = [&](const std::string& table) {
    return testing::error_of([&] { scored(five_rows, table); });
  };
  const std::string four = "#id\tlabel\tscore\n0\tx\t1\n1\tx\t1\n2\ty\t1\n3\ty\t1\n";
  testing::expect_bad_input(refused(four), "gold.jsonl:5", "id 4 has no prediction in");
  testing::expect_bad_input(refused(four + "3\tx\t1\n"), "predictions.tsv:6", "id 3 is at");
  EXPECT_TRUE(refused("#id\tname\n0\tx\n").has_value());
  EXPECT_TRUE(refused("#id\tlabel\tscore\tp.x\n0\tx\t1\tzero\n").has_value());
  testing::expect_bad_input(testing::error_of([&] { scored("", four); }), "gold.jsonl", "no examples");
  // Ids that only the table has are no error.
  EXPECT_EQ(scored(five_rows, four + "4\tx\t1\n5\tx\t1\n").rows(), 5u);
}

TEST_F(ScoresOfTexts, AModelScoresAsItsOwnTableDoes) {
  testing::TinyTextModel shape;
  shape.names = {"x", "y", "z"};
  testing::write_tiny_text_model(folder_ / "model", shape);
  const auto backend = kernels::make_cpu_backend();
  TextClassifier classifier({(folder_ / "model").string(), 0, {}}, *backend);
  const ScoredTexts direct = score_texts(gold(five_rows), classifier);
  std::string table = "#id\tlabel\tscore\n";
  std::size_t number = 0;
  for (const char* text : {"a", "b", "c", "d", "e"}) {
    classifier.add(classifier.encode(text, {}), [&](std::span<const double> values) {
      table += std::to_string(number++) + "\t" + classifier.names()[best_output(values)] + "\t0\n";
    });
  }
  classifier.finish();
  EXPECT_EQ(direct.classes.names(), shape.names);
  EXPECT_EQ(metrics(direct)["accuracy"], metrics(scored(five_rows, table))["accuracy"]);
  EXPECT_EQ(direct.inputs.inputs, 5u);
  testing::expect_bad_input(
      testing::error_of([&] { score_texts(gold("{\"text\": \"a\", \"label\": \"w\"}\n"), classifier); }),
      "gold.jsonl:1", "label 'w' is none of the model's classes");
}

}  // namespace
}  // namespace bigbird
