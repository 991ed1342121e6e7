// Outputs of any model as classes of a GLUE task, submission files, and the official metrics of both.
#include "lib/text/classify/glue_scores.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/text_fixture.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::TinyTextModel;

class GlueScoring : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    testing::write_text(folder_ / name, text);
    return (folder_ / name).string();
  }
  std::unique_ptr<TextClassifier> model(const TinyTextModel& shape, const std::string& trained_on = "") {
    testing::write_tiny_text_model(folder_ / "model", shape);
    if (!trained_on.empty()) {
      TextSettings settings;
      settings.task = TextTask::classification;
      settings.data_format = trained_on;
      write("model/text.json", text_settings_files(settings).at("text.json"));
    }
    return std::make_unique<TextClassifier>(TextClassifierOptions{(folder_ / "model").string(), 0, {}},
                                            *backend_);
  }
  static TinyTextModel classes(const std::vector<std::string>& names) {
    TinyTextModel shape;
    shape.labels = static_cast<std::int64_t>(names.size());
    shape.names = names;
    return shape;
  }
  GlueScores score(const std::string& task, const std::string& gold, const std::string& predictions) {
    GlueFile file(write("gold.tsv", gold), find_glue_task(task), GlueRows::labelled);
    return score_glue_predictions(find_glue_task(task), file, write("predictions.tsv", predictions));
  }
  testing::TemporaryFolder folder_;
  std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
};

constexpr const char* rte_rows =
    "index\tsentence1\tsentence2\tlabel\n0\ta b\tc\tentailment\n1\td\te f\tnot_entailment\n"
    "2\tg\th\tentailment\n3\ti\tj k\tentailment\n";

TEST_F(GlueScoring, OutputsAreClassesByNameWhateverTheirOrder) {
  const GlueTask& mnli = find_glue_task("mnli");
  const std::vector<double> second = {0.1, 0.7, 0.2};
  const auto names = [&](const std::vector<std::string>& given, const std::vector<std::string>& labels = {}) {
    return GlueOutputs(mnli, *model(classes(given)), labels).prediction(second);
  };
  EXPECT_EQ(names({"entailment", "neutral", "contradiction"}), "neutral");
  EXPECT_EQ(names({"CONTRADICTION", "ENTAILMENT", "NEUTRAL"}), "entailment");
  EXPECT_EQ(names({"a", "b", "c"}, {"neutral", "contradiction", "entailment"}), "contradiction");
  const GlueOutputs sst2(find_glue_task("sst2"), *model(classes({"POSITIVE", "NEGATIVE"})), {});
  EXPECT_EQ(sst2.prediction(std::vector<double>{0.9, 0.1}), "1");
  EXPECT_EQ(sst2.predicted_class(std::vector<double>{0.1, 0.9}), 0u);
}

TEST_F(GlueScoring, OutputsThatAreNotTheClassesAreRefused) {
  const auto refused = [&](const char* task, const TinyTextModel& shape,
                           const std::vector<std::string>& labels = {}) {
    return testing::error_of([&] { GlueOutputs(find_glue_task(task), *model(shape), labels); });
  };
  TinyTextModel two;
  two.labels = 2;
  const auto unnamed = refused("rte", two);
  testing::expect_bad_input(unnamed, "model", "LABEL_0,LABEL_1");
  EXPECT_NE(unnamed->hint().find("`labels`"), std::string::npos);
  EXPECT_FALSE(refused("rte", two, {"not_entailment", "entailment"}).has_value());
  for (const auto& labels : std::vector<std::vector<std::string>>{
           {"entailment", "entailment"}, {"entailment"}, {"entailment", "neutral"}}) {
    const auto error = refused("rte", two, labels);
    testing::expect_message(error, "`labels`", "not RTE's classes");
    EXPECT_EQ(error->kind(), ErrorKind::usage);
  }
  testing::expect_bad_input(refused("mnli", two), "model", "gives 2 classes, and MNLI has 3 classes");
  testing::expect_bad_input(refused("stsb", two), "model", "one number");
  TinyTextModel number;
  number.problem = ProblemType::regression;
  number.labels = 1;
  EXPECT_FALSE(refused("stsb", number).has_value());
  EXPECT_EQ(refused("stsb", number, {"a"})->kind(), ErrorKind::usage);
  testing::expect_bad_input(refused("rte", number), "model", "gives a number");
}

TEST_F(GlueScoring, ScoresOfSubmissionsLieBetweenZeroAndFive) {
  TinyTextModel number;
  number.problem = ProblemType::regression;
  number.labels = 1;
  const GlueOutputs outputs(find_glue_task("stsb"), *model(number), {});
  EXPECT_EQ(outputs.prediction(std::vector<double>{5.25}), "5.000000");
  EXPECT_EQ(outputs.prediction(std::vector<double>{-0.5}), "0.000000");
  EXPECT_EQ(outputs.prediction(std::vector<double>{2.1234567}), "2.123457");
}

// A submission scores as the model that wrote it.
TEST_F(GlueScoring, AModelAndItsSubmissionScoreAlike) {
  const GlueTask& task = find_glue_task("rte");
  TinyTextModel shape = classes({"not_entailment", "entailment"});
  shape.seed = 2;  // whose answers differ between the texts
  const auto classifier = model(shape, "rte");
  const GlueOutputs outputs(task, *classifier, {});
  std::string rows = "index\tsentence1\tsentence2\tlabel\n";
  for (int i = 0; i < 60; ++i) {
    rows += std::to_string(i) + "\t" + testing::tiny_text(static_cast<std::uint64_t>(i)) + "\tb\t" +
            (i % 3 == 0 ? "entailment\n" : "not_entailment\n");
  }
  GlueFile all(write("gold.tsv", rows), task, GlueRows::all);
  const auto [submission, tally] = glue_submission(task, all, *classifier, outputs);
  EXPECT_EQ(tally.inputs, 60u);
  EXPECT_EQ(submission.rfind("index\tprediction\n0\t", 0), 0u);
  EXPECT_NE(submission.find("\tentailment\n"), std::string::npos);
  EXPECT_NE(submission.find("\tnot_entailment\n"), std::string::npos);
  GlueFile gold(write("gold.tsv", rows), task, GlueRows::labelled);
  const GlueScores direct = score_glue_model(task, gold, *classifier, outputs);
  EXPECT_EQ(direct.inputs.inputs, 60u);
  EXPECT_EQ(metric_value(direct.metrics, "accuracy"),
            metric_value(score("rte", rows, submission).metrics, "accuracy"));
}

TEST_F(GlueScoring, PredictionsAreFoundByIndexInWordsOrNames) {
  const GlueScores scores = score(
      "rte", rte_rows,
      "index\tprediction\n3\tentailment\n0\tnot_entailment\n1\tnot_entailment\n2\tENTAILMENT\n9\tentailment\n");
  EXPECT_DOUBLE_EQ(metric_value(scores.metrics, "accuracy"), 0.75);
  EXPECT_EQ(scores.examples, 4u);
  const std::string mrpc =
      "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t1\t2\ta\tb\n0\t1\t2\ta\tb\n1\t1\t2\ta\tb\n";
  const GlueScores f1 = score("mrpc", mrpc, "index\tprediction\n0\t1\n1\tequivalent\n2\t0\n");
  EXPECT_DOUBLE_EQ(metric_value(f1.metrics, "accuracy"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(metric_value(f1.metrics, "f1"), 0.5);
}

TEST_F(GlueScoring, CorrelationsAreOfTheNumbers) {
  std::string gold, predictions = "index\tprediction\n";
  for (const auto& [number, score] : std::vector<std::pair<int, double>>{{0, 1.0}, {1, 2.0}, {2, 4.5}}) {
    gold += std::to_string(number) + "\tg\tf\ty\t1\tn\tn\ta\tb\t" + std::to_string(score) + "\n";
    predictions += std::to_string(number) + "\t" + std::to_string(score / 2 + 0.5) + "\n";
  }
  const GlueScores scores = score("stsb", gold, predictions);
  EXPECT_NEAR(metric_value(scores.metrics, "pearson"), 1, 1e-9);
  EXPECT_NEAR(metric_value(scores.metrics, "combined_score"), 1, 1e-9);
  // The same number for all: undefined.
  const GlueScores same = score("stsb", gold, "index\tprediction\n0\t1\n1\t1\n2\t1\n");
  const auto json = nlohmann::json::parse(glue_metrics_json(find_glue_task("stsb"), {same}, ""));
  EXPECT_TRUE(json["pearson"].is_null());
}

TEST_F(GlueScoring, PredictionsThatDoNotFitAreRefused) {
  const auto refused = [&](const std::string& predictions) {
    return testing::error_of([&] { score("rte", rte_rows, predictions); });
  };
  const std::string three = "index\tprediction\n0\tentailment\n1\tentailment\n2\tentailment\n";
  testing::expect_bad_input(refused(three), "gold.tsv:5", "index 3 has no prediction");
  testing::expect_bad_input(refused(three + "2\tentailment\n"), "predictions.tsv:5", "is in line 4 too");
  testing::expect_bad_input(refused(three + "3\tneutral\n"), "predictions.tsv:5", "'neutral'");
  testing::expect_bad_input(refused("id\tlabel\n0\tentailment\n"), "predictions.tsv:1", "header");
  EXPECT_TRUE(refused(three + "3\n").has_value());
  const std::string stsb = "0\tg\tf\ty\t1\tn\tn\ta\tb\t1.0\n";
  testing::expect_bad_input(testing::error_of([&] { score("stsb", stsb, "index\tprediction\n0\tinf\n"); }),
                            "predictions.tsv:2", "not a number");
  testing::expect_bad_input(
      testing::error_of([&] { score("rte", "index\tsentence1\tsentence2\tlabel\n", three); }), "gold.tsv",
      "no examples");
}

TEST_F(GlueScoring, TheJsonHoldsBothSidesOfMnli) {
  GlueScores one, two;
  one.metrics = {{"accuracy", 0.5}};
  one.examples = 2;
  one.rows.unlabelled = 1;
  two.metrics = {{"accuracy", 0.25}};
  two.examples = 4;
  const auto json =
      nlohmann::json::parse(glue_metrics_json(find_glue_task("mnli"), {one, two}, "{\"version\": \"1\"}"));
  EXPECT_DOUBLE_EQ(json["accuracy"], 0.5);
  EXPECT_DOUBLE_EQ(json["accuracy_mm"], 0.25);
  EXPECT_EQ(json["examples"], 6);
  EXPECT_EQ(json["unlabelled"], 1);
  EXPECT_EQ(json["task"], "mnli");
  EXPECT_EQ(json["provenance"]["version"], "1");
}

}  // namespace
}  // namespace bigbird
