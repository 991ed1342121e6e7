// Values of texts under a classifier: what they are of each kind of head, in which order they come, and
// models that are none.
#include "lib/text/classify/predict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/cli/text_fixture.h"
#include "tests/support/tiny_classifier.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::TinyTextModel;

class ClassifierOfTexts : public ::testing::Test {
 protected:
  std::string model(const TinyTextModel& shape, const std::string& name = "model") {
    testing::write_tiny_text_model(folder_ / name, shape);
    return (folder_ / name).string();
  }
  std::vector<std::vector<double>> values(const TextClassifierOptions& options, std::uint64_t texts) {
    TextClassifier classifier(options, *backend_);
    std::vector<std::vector<double>> all;
    std::uint64_t number = 0;
    const NextText next = [&](LabelledText& row) {
      if (number == texts) return false;
      row = {};
      row.id = std::to_string(number);
      row.text = testing::tiny_text(number++);
      return true;
    };
    classify_texts(next, classifier, [&](const LabelledText& row, std::span<const double> one) {
      EXPECT_EQ(row.id, std::to_string(all.size()));
      all.emplace_back(one.begin(), one.end());
    });
    return all;
  }
  std::vector<std::vector<double>> values_of(ProblemType problem, std::int64_t labels) {
    TinyTextModel shape;
    shape.problem = problem;
    shape.labels = labels;
    return values({model(shape), 0, {}}, 20);
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
};

// The same weights under the three kinds of labels: the numbers are the logits of the probabilities.
TEST_F(ClassifierOfTexts, ProbabilitiesAreSoftmaxOrSigmoidOfTheNumbers) {
  const auto numbers = values_of(ProblemType::regression, 3);
  const auto classes = values_of(ProblemType::single_label, 3);
  const auto labels = values_of(ProblemType::multi_label, 3);
  ASSERT_EQ(numbers.size(), 20u);
  double spread = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double sum = 0;
    for (const double number : numbers[i]) sum += std::exp(number);
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(classes[i][c], std::exp(numbers[i][c]) / sum, 1e-12);
      EXPECT_NEAR(labels[i][c], 1 / (1 + std::exp(-numbers[i][c])), 1e-12);
    }
    spread = std::max(spread, std::abs(numbers[i][0] - numbers[0][0]));
  }
  EXPECT_GT(spread, 0.05);  // texts are told apart
}

TEST_F(ClassifierOfTexts, ASingleLabelIsASigmoidAndASingleNumberStaysOne) {
  const auto numbers = values_of(ProblemType::regression, 1);
  const auto labels = values_of(ProblemType::multi_label, 1);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_NEAR(labels[i][0], 1 / (1 + std::exp(-numbers[i][0])), 1e-12);
}

TEST_F(ClassifierOfTexts, ValuesDependOnTheTextAlone) {
  const std::string folder = model({});
  BatchSize one;
  one.sequences = 1;
  BatchSize many;
  many.tokens = 4096;
  const auto alone = values({folder, 0, one}, 600);
  EXPECT_EQ(alone, values({folder, 0, many}, 600));
  EXPECT_EQ(alone.size(), 600u);
}

TEST_F(ClassifierOfTexts, OutputsAreNamed) {
  TinyTextModel shape;
  EXPECT_EQ(TextClassifier({model(shape), 0, {}}, *backend_).names(),
            (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
  shape.names = {"good", "bad", "ugly"};
  EXPECT_EQ(TextClassifier({model(shape), 0, {}}, *backend_).names(), shape.names);
  shape = {};
  shape.problem = ProblemType::regression;
  shape.labels = 1;
  EXPECT_EQ(TextClassifier({model(shape), 0, {}}, *backend_).names(), std::vector<std::string>{"score"});
  EXPECT_EQ(best_output(std::vector<double>{0.2, 0.4, 0.4}), 1u);
}

TEST_F(ClassifierOfTexts, TheLengthIsTheModelsTheSettingsOrGiven) {
  const std::string folder = model({});
  const auto length = [&](std::int64_t given) {
    return TextClassifier({folder, given, {}}, *backend_).length();
  };
  EXPECT_EQ(length(0), 64);
  EXPECT_EQ(length(20), 20);
  TextSettings settings;
  settings.task = TextTask::classification;
  settings.length = 32;
  testing::write_text(folder + "/text.json", text_settings_files(settings).at("text.json"));
  EXPECT_EQ(length(0), 32);
  EXPECT_EQ(length(40), 40);
  const auto error = testing::error_of([&] { length(65); });
  testing::expect_message(error, "`length` 65", "at most 64");
  EXPECT_EQ(error->kind(), ErrorKind::usage);
  for (const std::int64_t none : {2, -7}) {
    const auto small = testing::error_of([&] { length(none); });
    testing::expect_message(small, "`length`", std::to_string(none));
    EXPECT_EQ(small->kind(), ErrorKind::usage);
  }
}

TEST_F(ClassifierOfTexts, ModelsThatAreNoClassifiersOfTextAreRefused) {
  const auto refused = [&](const std::string& folder) {
    return testing::error_of([&] { TextClassifier({folder, 0, {}}, *backend_); });
  };
  TinyTextModel encoder;
  encoder.head = HeadType::masked_lm;
  testing::expect_bad_input(refused(model(encoder)), "model", "classif");
  TextSettings settings;
  settings.task = TextTask::question_answering;
  const std::string qa = model({}, "qa");
  testing::write_text(qa + "/text.json", text_settings_files(settings).at("text.json"));
  testing::expect_bad_input(refused(qa), "qa", "not for classification");
  testing::write_tiny_classifier(folder_ / "dna");
  testing::expect_bad_input(refused((folder_ / "dna").string()), "dna", "DNA");
}

}  // namespace
}  // namespace bigbird
