// Fine-tuning for spans: windows and labels that reach the model, the order of an epoch, a model that learns
// its questions by heart, and runs that must be refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "lib/model_folder/model_folder.h"
#include "lib/text/qa/finetune.h"
#include "lib/text/qa/predict.h"
#include "lib/text/qa/squad/questions.h"
#include "lib/text/qa/windows.h"
#include "tests/support/sanitizer.h"
#include "tests/support/tiny_question_model.h"
#include "tests/support/tiny_training_data.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_message;

class QuestionFinetune : public ::testing::Test {
 protected:
  QuestionFinetune() : backend(kernels::make_cpu_backend()) {
    testing::write_tiny_question_model(folder / "init", HeadType::masked_lm);
    write("train.json", testing::tiny_questions_json(testing::four_tiny_questions()));
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    testing::write_text(folder / name, text);
    return path(name);
  }
  QuestionFinetuneOptions options(const std::string& run) const {
    QuestionFinetuneOptions result;
    result.init = path("init");
    result.train = path("train.json");
    result.run = path(run);
    result.batch = 4;
    result.steps = 2;
    result.save_every = 0;
    return result;
  }

  testing::TemporaryFolder folder;
  std::unique_ptr<kernels::Backend> backend;
};

TEST_F(QuestionFinetune, BatchesHoldTheInputsAndLabelsOfEveryWindow) {
  const auto tokenizer = load_tokenizer(path("init"));
  WindowOptions windows;
  windows.length = 24;
  windows.max_question = 8;
  windows.overlap = 6;
  SampleOptions reading;
  reading.windows = windows;
  const AnswerSamples questions = read_samples(squad_task(), path("train.json"), reading, *tokenizer);
  EXPECT_EQ(questions.facts().questions, 4U);
  EXPECT_EQ(questions.facts().unanswerable, 0U);

  const ModelConfig config = testing::tiny_question_config(HeadType::question_answering);
  SquadReader reader(path("train.json"), {});
  QuestionEncoder encoder(*tokenizer, {}, windows.max_question);
  QuestionExample example;
  std::size_t index = 0;
  std::int64_t longest = 0;
  std::uint64_t answered = 0;
  while (reader.next(example)) {
    const EncodedQuestion encoded = encoder.encode(example);
    const std::size_t size = encoded.question.size();
    for (const ContextWindow& window :
         context_windows(size, encoded.context->ids.size(), windows, example.where)) {
      const auto [ids, types, globals] =
          window_input(encoded.question, *encoded.context, window, testing::tiny_cls, testing::tiny_sep);
      const SpanLabel label = span_label(*encoded.context, window, size, example.answers.front().span);
      ASSERT_LT(index, questions.size());
      Batch batch;
      questions.append(index++, config, batch);
      ASSERT_EQ(batch.lengths, std::vector<std::int64_t>{static_cast<std::int64_t>(ids.size())});
      EXPECT_EQ(batch.tokens() % config.block_size, 0);
      for (std::size_t i = 0; i < ids.size(); ++i) {
        EXPECT_EQ(batch.ids[i], static_cast<std::int32_t>(ids[i]));
        EXPECT_EQ(batch.types[i], static_cast<std::int32_t>(types[i]));
      }
      EXPECT_EQ(batch.start_positions, std::vector<std::int32_t>{static_cast<std::int32_t>(label.start)});
      EXPECT_EQ(batch.end_positions, std::vector<std::int32_t>{static_cast<std::int32_t>(label.end)});
      longest = std::max(longest, batch.lengths.front());
      answered += label.start > 0 ? 1U : 0U;
    }
  }
  EXPECT_EQ(index, questions.size());
  EXPECT_GT(index, 4U);
  EXPECT_EQ(longest, questions.longest());
  EXPECT_NE(questions.facts().more.find(" " + std::to_string(answered) + " of them"), std::string::npos);
  EXPECT_GE(answered, 4U);
  EXPECT_LT(answered, index) << "windows without the answer are there too";
}

TEST_F(QuestionFinetune, AnEpochVisitsEveryWindowOnceInAnOrderOfTheSeed) {
  const auto tokenizer = load_tokenizer(path("init"));
  SampleOptions reading;
  reading.windows = chosen_windows(24, {});
  const AnswerSamples questions = read_samples(squad_task(), path("train.json"), reading, *tokenizer);
  ModelConfig config = testing::tiny_question_config(HeadType::question_answering);
  RunOptions run = question_answering_defaults();
  const std::size_t windows = questions.size();
  ASSERT_GT(windows, 4U);
  run.batch = windows;
  run.accumulate = 3;
  const auto epoch = [&](std::uint64_t seed, std::uint64_t step) {
    run.seed = seed;
    const SampleTask task = answer_task(run, config, questions, nullptr);
    std::vector<std::string> seen;
    for (const Batch& batch : task.whole_update(step)) {
      EXPECT_LE(batch.sequences(), micro_batch(run));
      EXPECT_EQ(batch.start_positions.size(), batch.lengths.size());
      for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
        std::string text;
        for (std::int64_t i = batch.token_offsets[s]; i < batch.token_offsets[s + 1]; ++i)
          text += std::to_string(batch.ids[static_cast<std::size_t>(i)]) + ' ';
        seen.push_back(text);
      }
    }
    return seen;
  };
  const auto first = epoch(1, 0), second = epoch(1, 1), other = epoch(2, 0);
  EXPECT_EQ(first.size(), windows);
  EXPECT_EQ(std::multiset<std::string>(first.begin(), first.end()),
            std::multiset<std::string>(second.begin(), second.end()));
  EXPECT_EQ(first, epoch(1, 0));
  EXPECT_NE(first, second);
  EXPECT_NE(first, other);
}

TEST_F(QuestionFinetune, LearnsItsQuestionsByHeart) {
  if (testing::under_sanitizer) GTEST_SKIP() << "400 updates; the other runs are watched";
  QuestionFinetuneOptions run = options("run");
  run.valid = path("train.json");
  run.steps = 400;
  run.learning_rate = 0.003;  // at 0.01 the last digits of a matmul decide whether it learns all four
  const TrainingSummary summary = question_finetune(run, *backend);
  EXPECT_EQ(summary.steps, 400U);
  EXPECT_LT(summary.loss, 0.1);

  const TextSettings settings = read_text_settings(path("run/final"));
  EXPECT_EQ(settings.task, TextTask::question_answering);
  EXPECT_EQ(settings.data_format, "squad");
  EXPECT_EQ(settings.length, 128);
  EXPECT_EQ(settings.encoding.white_space, WhiteSpace::fold);
  EXPECT_EQ(settings.overlap, 42U);
  EXPECT_FALSE(settings.step.has_value());
  EXPECT_EQ(settings.max_question, 32U);
  EXPECT_EQ(settings.version_2, false);
  const auto config = nlohmann::json::parse(testing::read_text(folder / "run/final/config.json"));
  EXPECT_EQ(config.at("architectures").at(0), "BigBirdForQuestionAnswering");

  QuestionPredictionOptions predict;
  predict.model = path("run/final");
  predict.input = path("train.json");
  predict.output = path("answers.json");
  EXPECT_EQ(predict_questions(squad_task(), predict, *backend), 4U);
  EXPECT_EQ(nlohmann::json::parse(testing::read_text(folder / "answers.json")),
            nlohmann::json({{"q1", "blue"}, {"q2", "red"}, {"q3", "near"}, {"q4", "far"}}));

  // A row for every validation, and a loss that fell.
  const std::string valid = testing::read_text(folder / "run/valid.tsv");
  EXPECT_NE(valid.find("span_loss"), std::string::npos) << valid;
  EXPECT_EQ(valid.find("span_accuracy"), std::string::npos) << valid;
}

TEST_F(QuestionFinetune, AResumedRunMustBeOfTheSameWindows) {
  QuestionFinetuneOptions run = options("run");
  question_finetune(run, *backend);
  run.start = RunStart::resume;
  EXPECT_FALSE(error_of([&] { question_finetune(run, *backend); }));
  QuestionFinetuneOptions other = run;
  other.windows.overlap = 5;
  expect_message(error_of([&] { question_finetune(other, *backend); }), "", "overlap");
  other = run;
  other.windows.max_question = 5;
  expect_message(error_of([&] { question_finetune(other, *backend); }), "", "max_question");
  other = run;
  other.encoding.ascii_punctuation = true;
  expect_message(error_of([&] { question_finetune(other, *backend); }), "", "ascii_punctuation");
  auto questions = testing::four_tiny_questions();
  questions.pop_back();
  other = run;
  other.train = write("three.json", testing::tiny_questions_json(questions));
  expect_message(error_of([&] { question_finetune(other, *backend); }), "", "training questions");
}

TEST_F(QuestionFinetune, RefusesWhatItCannotTrain) {
  QuestionFinetuneOptions run = options("run");
  run.task = &triviaqa_task();
  expect_message(error_of([&] { question_finetune(run, *backend); }), "triviaqa", "`evidence`");
  run.evidence = path("nowhere");
  run.max_windows = 0;
  expect_message(error_of([&] { question_finetune(run, *backend); }), "`max_windows` 0", "one window");
  run = options("run");
  run.keep_null = 1.5;
  expect_message(error_of([&] { question_finetune(run, *backend); }), "`keep_null` 1.5", "between 0 and 1");
  run = options("run");
  run.task = &wikihop_task();
  testing::expect_bad_input(error_of([&] { question_finetune(run, *backend); }), "vocabulary", "<sep_0>");
  run = options("run");
  run.length = 129;
  expect_message(error_of([&] { question_finetune(run, *backend); }), "`length` 129", "128 positions");
  run = options("run");
  run.windows.overlap = 120;
  expect_message(error_of([&] { question_finetune(run, *backend); }), "`overlap`", "120");
  run = options("run");
  run.train = write("none.json", "{\"data\": []}");
  testing::expect_bad_input(error_of([&] { question_finetune(run, *backend); }), "none.json", "no questions");
  run.train = write("unanswerable.json", testing::tiny_questions_json({{"u", "why", "a text", "", 0}}));
  testing::expect_bad_input(error_of([&] { question_finetune(run, *backend); }), "'u'", "has no answer");
  run.version_2 = true;
  EXPECT_FALSE(error_of([&] { question_finetune(run, *backend); }));
  EXPECT_TRUE(std::filesystem::exists(folder / "run/final"));

  run = options("dna");
  testing::write_tiny_tokenizer(folder / "init");
  ModelConfig config = testing::tiny_question_config(HeadType::masked_lm);
  config.vocab_size = static_cast<std::int64_t>(load_tokenizer(path("init"))->vocab_size());
  config.sep_token_id = 3;
  const ParameterLayout layout(config);
  write_model_files(path("init"), config, layout, initial_parameters(layout, config, 1), "", "tiny\n");
  testing::expect_bad_input(error_of([&] { question_finetune(run, *backend); }), "init", "DNA");
}

TEST(QuestionWindows, DefaultsFollowTheLength) {
  const auto windows = [](std::int64_t length, const WindowChoice& choice = {}) {
    const WindowOptions chosen = chosen_windows(length, choice);
    return std::tuple(chosen.length, chosen.overlap, chosen.max_question);
  };
  EXPECT_EQ(windows(4096), std::tuple(4096U, 1024U, 64U));
  EXPECT_EQ(windows(384), std::tuple(384U, 128U, 64U));
  EXPECT_EQ(windows(128), std::tuple(128U, 42U, 32U));
  for (std::int64_t length = 8; length < 600; ++length) chosen_windows(length, {});  // none is refused
  WindowChoice choice;
  choice.overlap = 100;
  choice.max_question = 20;
  EXPECT_EQ(windows(384, choice), std::tuple(384U, 100U, 20U));
  choice = {};
  choice.step = 200;
  EXPECT_EQ(chosen_windows(384, choice).step, 200U);
  choice.step = 400;
  expect_message(error_of([&] { chosen_windows(384, choice); }), "`step`", "400");
}

TEST(QuestionWindows, PredictionTakesThoseOfTrainingAtTheSameLength) {
  TextSettings settings;
  settings.length = 384;
  settings.overlap = 100;
  settings.max_question = 20;
  const auto windows = [&](std::int64_t length, const WindowChoice& choice = {}) {
    const WindowOptions chosen = prediction_windows(length, choice, settings);
    return std::tuple(chosen.overlap, chosen.step.value_or(0), chosen.max_question);
  };
  EXPECT_EQ(windows(384), std::tuple(100U, 0U, 20U));
  EXPECT_EQ(windows(512), std::tuple(170U, 0U, 64U)) << "the usual ones of another length";
  WindowChoice choice;
  choice.step = 50;
  EXPECT_EQ(std::get<1>(windows(384, choice)), 50U);
  EXPECT_EQ(std::get<2>(windows(384, choice)), 20U);
  choice = {};
  choice.overlap = 7;
  choice.max_question = 9;
  EXPECT_EQ(windows(384, choice), std::tuple(7U, 0U, 9U));
  settings.overlap.reset();
  settings.step = 60;
  EXPECT_EQ(std::get<1>(windows(384)), 60U);
  settings = {};
  settings.length = 384;  // of a folder that does not tell
  EXPECT_EQ(windows(384), std::tuple(128U, 0U, 64U));
}

TEST(QuestionWindows, LengthsComeFromTheFolderOrFromTransformers) {
  ModelConfig config;
  config.max_position_embeddings = 4096;
  TextSettings settings;
  EXPECT_EQ(prediction_length(0, settings, config), 384);
  EXPECT_EQ(training_length(0, config), 4096);
  settings.length = 2048;
  EXPECT_EQ(prediction_length(0, settings, config), 2048);
  EXPECT_EQ(prediction_length(512, settings, config), 512);
  config.max_position_embeddings = 256;
  settings.length = 0;
  EXPECT_EQ(prediction_length(0, settings, config), 256);
  EXPECT_EQ(training_length(0, config), 256);
  expect_message(error_of([&] { prediction_length(257, settings, config); }), "`length` 257", "256");
  expect_message(error_of([&] { training_length(3, config); }), "`length` 3", "between 4");
}

TEST(QuestionFormats, NamesAreThoseOfTheDataSets) {
  for (const char* name : {"squad", "hotpotqa", "nq", "triviaqa", "wikihop"})
    EXPECT_EQ(question_task(name).name, name);
  EXPECT_EQ(question_tasks().size(), 5U);
  expect_message(error_of([] { question_task("quac"); }), "quac", "format of questions");
  EXPECT_TRUE(nq_task().has_overlapping_windows());
  EXPECT_FALSE(hotpotqa_task().has_overlapping_windows());
}

}  // namespace
}  // namespace bigbird
