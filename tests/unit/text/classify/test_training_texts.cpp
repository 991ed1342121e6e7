// Labelled texts as fine-tuning needs them: what kind of labels they are, numbers of classes, what is
// refused.
#include "lib/text/classify/training_texts.h"

#include <gtest/gtest.h>

#include "lib/metrics/class_metrics.h"
#include "tests/support/tiny_text_data.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

// Rows of one text each, with these labels; more than one, or none, are a list.
TextRows rows_of(const std::vector<std::vector<std::string>>& labels,
                 const std::vector<std::string>& texts = {}) {
  auto number = std::make_shared<std::size_t>(0);
  return {"own.jsonl", [=](LabelledText& row) {
            if (*number == labels.size()) return false;
            row = {};
            row.text = texts.empty() ? "a b" : texts[*number];
            row.labels = labels[*number];
            row.label_is_list = row.labels.size() != 1;
            row.place = "own.jsonl:" + std::to_string(++*number);
            return true;
          }};
}

class TrainingLabels : public ::testing::Test {
 protected:
  TrainingLabels() {
    testing::write_tiny_text_tokenizer(folder_.path());
    tokenizer_ = load_tokenizer(folder_.path().string());
  }
  TrainingTexts train(const TextRows& rows, const WantedLabels& wanted = {}, std::int64_t length = 64) {
    return read_training_texts(rows, *tokenizer_, {}, length, wanted, scheme_);
  }
  TrainingTexts validate(const TextRows& rows) {
    return read_validation_texts(rows, *tokenizer_, {}, 64, scheme_);
  }
  testing::TemporaryFolder folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
  LabelScheme scheme_;
};

TEST(ClassNumbers, NumbersComeByValueAndNamesByTheirBytes) {
  EXPECT_EQ(ClassNames({"10", "9", "-1"}).names(), (std::vector<std::string>{"-1", "9", "10"}));
  EXPECT_EQ(ClassNames({"10", "9", "x"}).names(), (std::vector<std::string>{"10", "9", "x"}));
  EXPECT_EQ(ClassNames({"b", "B", "\xC3\xA9"}).names(), (std::vector<std::string>{"B", "b", "\xC3\xA9"}));
  const ClassNames given = ClassNames::in_order({"z", "a"});
  EXPECT_EQ(given.number("z"), 0);
  EXPECT_EQ(given.number("a"), 1);
  EXPECT_FALSE(given.number("b").has_value());
}

// pandas makes 1.0 of 1 where a column has gaps.
TEST(ClassNumbers, AWholeNumberWithAPointIsTheNumber) {
  for (const auto& [label, known] : std::vector<std::pair<const char*, const char*>>{{"1.0", "1"},
                                                                                     {"-2.00", "-2"},
                                                                                     {"3.", "3"},
                                                                                     {"1.5", "1.5"},
                                                                                     {"1.0.0", "1.0.0"},
                                                                                     {".0", ".0"},
                                                                                     {"v1.0", "v1.0"},
                                                                                     {"", ""}}) {
    EXPECT_EQ(class_of_label(label), known);
  }
  const ClassNames numbers = ClassNames({"0", "1"});
  EXPECT_EQ(numbers.number("1.0"), 1);
  EXPECT_FALSE(numbers.number("1.5").has_value());
  EXPECT_EQ(ClassNames::in_order({"0.0", "1.0"}).number("1"), 1);
  const ClassNames both = ClassNames::in_order({"1.0", "1"});
  EXPECT_EQ(both.number("1"), 1) << "a class that stands there as it is";
  EXPECT_EQ(both.number("1.0"), 0);
}

TEST(ClassNumbers, ALabelOfRegressionIsAFiniteNumberAndNothingElse) {
  EXPECT_EQ(parse_regression_label("2.5"), 2.5);
  EXPECT_EQ(parse_regression_label("1234567.1"), 1234567.1);
  EXPECT_EQ(parse_regression_label("-1e2"), -100.0);
  for (const char* word : {"", "x", "1x", "1,5", "nan", "inf", " 1"})
    EXPECT_FALSE(parse_regression_label(word).has_value()) << word;
}

TEST_F(TrainingLabels, TheLabelsTellTheProblem) {
  train(rows_of({{"1"}, {"3"}, {"2"}, {"3"}}));
  EXPECT_EQ(scheme_.problem, ProblemType::single_label);
  EXPECT_EQ(scheme_.classes.names(), (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(scheme_.outputs(), 3);
  TrainingTexts texts = train(rows_of({{"1.0"}, {"3"}}));
  EXPECT_EQ(scheme_.problem, ProblemType::regression);
  EXPECT_EQ(scheme_.outputs(), 1);
  EXPECT_EQ(texts.sequences[1].targets, std::vector<float>{3.0f});
  train(rows_of({{"1.0"}, {"good"}}));
  EXPECT_EQ(scheme_.problem, ProblemType::single_label);
  texts = train(rows_of({{"b", "a"}, {}, {"a"}}));
  EXPECT_EQ(scheme_.problem, ProblemType::multi_label);
  EXPECT_EQ(texts.sequences[0].targets, (std::vector<float>{1, 1}));
  EXPECT_EQ(texts.sequences[1].targets, (std::vector<float>{0, 0}));
  EXPECT_EQ(texts.sequences[2].targets, (std::vector<float>{1, 0}));
  EXPECT_EQ(texts.class_counts, (std::vector<std::uint64_t>{2, 1}));
}

TEST_F(TrainingLabels, TheProblemCanBeGiven) {
  EXPECT_EQ(train(rows_of({{"1"}, {"4"}}), {ProblemType::regression, {}}).sequences[1].targets,
            std::vector<float>{4.0f});
  train(rows_of({{"1.5"}, {"4"}}), {ProblemType::single_label, {}});
  EXPECT_EQ(scheme_.classes.names(), (std::vector<std::string>{"1.5", "4"}));
  testing::expect_bad_input(testing::error_of([&] {
                              train(rows_of({{"1"}, {"x"}}), {ProblemType::regression, {}});
                            }),
                            "own.jsonl:2", "label 'x' is not a number");
  testing::expect_bad_input(testing::error_of([&] {
                              train(rows_of({{"a", "b"}, {"a"}}), {ProblemType::single_label, {}});
                            }),
                            "own.jsonl:1", "2 labels where one is due");
}

// The order of given classes is that of the outputs, and one may be without an example.
TEST_F(TrainingLabels, GivenClassesKeepTheirOrder) {
  const WantedLabels wanted = {ProblemType::single_label, {"z", "unseen", "a"}};
  const TrainingTexts texts = train(rows_of({{"a"}, {"z"}, {"a"}}), wanted);
  EXPECT_EQ(texts.sequences[0].label, 2);
  EXPECT_EQ(texts.sequences[1].label, 0);
  EXPECT_EQ(texts.class_counts, (std::vector<std::uint64_t>{1, 0, 2}));
  EXPECT_EQ(validate(rows_of({{"z"}})).sequences[0].label, 0);
  testing::expect_bad_input(testing::error_of([&] {
                              validate(rows_of({{"z"}, {"unseen"}}));
                            }),
                            "own.jsonl:2", "label 'unseen' is none of the 2 that were trained on");
  testing::expect_bad_input(testing::error_of([&] {
                              train(rows_of({{"a"}, {"q"}}), wanted);
                            }),
                            "own.jsonl:2", "'q'");
}

TEST_F(TrainingLabels, ALabelThatTrainingNeverSawIsRefused) {
  train(rows_of({{"a"}, {"b"}}));
  const auto error = testing::error_of([&] { validate(rows_of({{"a"}, {"c"}})); });
  testing::expect_bad_input(error, "own.jsonl:2", "label 'c' is none of the 2 that were trained on");
  EXPECT_NE(error->hint().find("a, b"), std::string::npos);
}

TEST_F(TrainingLabels, OneClassAndNoExamplesAreRefused) {
  testing::expect_bad_input(testing::error_of([&] {
                              train(rows_of({{"a"}, {"a"}}));
                            }),
                            "own.jsonl", "all examples are of the class 'a'");
  testing::expect_bad_input(testing::error_of([&] { train(rows_of({})); }), "own.jsonl",
                            "there are no examples");
  testing::expect_bad_input(testing::error_of([&] {
                              train(rows_of({{}, {}}));
                            }),
                            "own.jsonl", "no example has a label");
  EXPECT_NO_THROW(train(rows_of({{"a", "a"}, {}})));
}

TEST_F(TrainingLabels, InputsAreCountedAsTheyAre) {
  const TrainingTexts texts =
      train(rows_of({{"a"}, {"b"}, {"a"}}, {"abcdefgh", " ", "ab \xE2\x82\xAC"}), {}, 6);
  EXPECT_EQ(texts.tally.inputs, 3u);
  EXPECT_EQ(texts.tally.cut, 1u);
  EXPECT_EQ(texts.tally.blank, 1u);
  EXPECT_EQ(texts.tally.longest, 6);
  EXPECT_GT(texts.tally.unknown.unknown_pieces(), 0u);
  EXPECT_EQ(texts.sequences[1].ids.size(), 2u);
}

// Rows are taken in stretches: none is lost or exchanged at their borders.
TEST_F(TrainingLabels, ManyRowsKeepTheirOrder) {
  std::vector<std::vector<std::string>> labels;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 9000; ++i) {
    labels.push_back({std::to_string(i % 7)});
    texts.push_back(std::string(1 + i % 7, 'a'));
  }
  const TrainingTexts read = train(rows_of(labels, texts));
  ASSERT_EQ(read.sequences.size(), 9000u);
  for (std::size_t i = 0; i < 9000; ++i) {
    EXPECT_EQ(read.sequences[i].label, static_cast<std::int32_t>(i % 7));
    EXPECT_EQ(read.sequences[i].ids.size(), 3 + i % 7);
  }
}

TEST_F(TrainingLabels, RowsOfAFileAreReadWithItsColumns) {
  testing::write_text(folder_ / "own.csv", "label,text\nx,a\ny,b\n");
  train(labelled_rows((folder_ / "own.csv").string(), {}));
  EXPECT_EQ(scheme_.classes.names(), (std::vector<std::string>{"x", "y"}));
  testing::expect_bad_input(testing::error_of([&] { labelled_rows((folder_ / "none.csv").string(), {}); }),
                            "none.csv", "");
}

}  // namespace
}  // namespace bigbird
