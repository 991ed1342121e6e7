// Questions through a model against plain calls of it, window by window; defaults of the folder; models that
// cannot answer.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/model/folder/model_folder.h"
#include "lib/model/network/model.h"
#include "lib/tasks/text/qa/squad/task.h"
#include "tests/support/tiny_question_model.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;

class Answerer : public ::testing::Test {
 protected:
  Answerer() : backend(kernels::make_cpu_backend()) {
    testing::write_tiny_question_model(folder / "model");
    options.model = path("model");
    options.length = 40;
    options.windows.overlap = 10;
    options.windows.max_question = 8;
    std::string text;
    for (std::size_t i = 0; i < 120; ++i) text += std::string(1, static_cast<char>('a' + i * i % 23)) + "xy ";
    examples.push_back(example("long", "where is it", text));
    examples.push_back(example("short", "who", "me and you"));
    examples.push_back(example("blank", "what", " "));
    examples.push_back(example("again", "a question that is far too long", text));
  }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  static QuestionExample example(const std::string& id, const std::string& question,
                                 const std::string& text) {
    QuestionExample made;
    made.id = id;
    made.question = question;
    made.context = std::make_shared<const std::string>(text);
    made.where = "question '" + id + "'";
    return made;
  }

  // One call of the model for each window, with nothing beside it.
  std::vector<float> side_logits(const std::vector<std::uint32_t>& ids,
                                 const std::vector<std::uint32_t>& types, bool start) {
    const LoadedModel loaded = load_model(path("model"), {});
    Batch batch;
    batch.append({ids.begin(), ids.end()}, {types.begin(), types.end()}, loaded.config.block_size, 0);
    Model one(*backend, loaded.config, {batch.tokens(), 1, 0, batch.tokens()}, {});
    one.set_parameters(loaded.parameters);
    one.forward(batch, {});
    std::vector<float> logits = start ? one.start_logits() : one.end_logits();
    logits.resize(ids.size());
    return logits;
  }
  DecodedAnswer plain(const QuestionExample& question, const SpanDecoding& decoding) {
    const auto tokenizer = load_tokenizer(path("model"));
    QuestionEncoder encoder(*tokenizer, TextSettings().encoding, 8);
    const EncodedQuestion encoded = encoder.encode(question);
    WindowOptions windows;
    windows.length = 40;
    windows.overlap = 10;
    windows.max_question = 8;
    const auto cut =
        context_windows(encoded.question.size(), encoded.context->ids.size(), windows, question.where);
    std::vector<std::vector<float>> values;
    std::vector<WindowLogits> logits;
    for (const ContextWindow& window : cut) {
      std::vector<std::uint32_t> ids, types;
      append_input(encoded.question, *encoded.context, window, testing::tiny_cls, testing::tiny_sep, ids,
                   types);
      values.push_back(side_logits(ids, types, true));
      values.push_back(side_logits(ids, types, false));
    }
    for (std::size_t w = 0; w < cut.size(); ++w) logits.push_back({cut[w], values[2 * w], values[2 * w + 1]});
    return decode_spans({question, *encoded.context, encoded.question.size()}, logits, decoding);
  }
  std::vector<std::string> answers(const QuestionPredictionOptions& chosen) {
    QuestionAnswerer answerer(chosen, *backend);
    std::vector<std::string> all;
    for (const QuestionExample& question : examples) {
      answerer.add(question, [&](const AnsweredQuestion& answer) {
        nlohmann::json line = {answer.example.id, answer.text(), answer.span().begin, answer.span().end,
                               answer.probability()};
        for (const ScoredAnswer& scored : answer.scored) line.push_back({scored.text, scored.score});
        if (answer.decoded != nullptr) line.push_back(answer.decoded->null_odds);
        all.push_back(line.dump());
      });
    }
    answerer.finish();
    return all;
  }

  testing::TemporaryFolder folder;
  std::unique_ptr<kernels::Backend> backend;
  QuestionPredictionOptions options;
  std::vector<QuestionExample> examples;
};

TEST_F(Answerer, EveryAnswerIsThatOfPlainCallsInTheOrderOfTheQuestions) {
  options.version_2 = true;
  options.n_best = 7;
  options.max_answer = 5;
  QuestionAnswerer answerer(options, *backend);
  std::size_t next = 0;
  for (const QuestionExample& question : examples) {
    answerer.add(question, [&](const AnsweredQuestion& answer) {
      ASSERT_LT(next, examples.size());
      ASSERT_EQ(answer.example.id, examples[next].id);
      const DecodedAnswer expected = plain(examples[next++], {7, 5, true, 0});
      EXPECT_EQ(answer.text(), expected.text);
      EXPECT_EQ(answer.span(), expected.span);
      EXPECT_NEAR(answer.probability(), expected.probability, 1e-5);
      ASSERT_NE(answer.decoded, nullptr);
      EXPECT_NEAR(answer.decoded->null_odds, expected.null_odds, 1e-4);
      ASSERT_EQ(answer.decoded->candidates.size(), expected.candidates.size());
    });
  }
  answerer.finish();
  EXPECT_EQ(next, 4U);
  EXPECT_EQ(answerer.questions(), 4U);
  EXPECT_GT(answerer.inputs(), 20U) << "the long texts take many windows";
}

TEST_F(Answerer, AnswersDependOnNoBatch) {
  const auto usual = answers(options);
  ASSERT_EQ(usual.size(), 4U);
  for (const std::int64_t tokens : {40, 80, 1000}) {
    options.batch.tokens = tokens;
    EXPECT_EQ(answers(options), usual) << tokens;
  }
}

TEST_F(Answerer, OfThePipelineTheBestComesFirst) {
  options.decoding = AnswerDecoding::pipeline;
  options.n_best = 3;
  QuestionAnswerer answerer(options, *backend);
  std::size_t seen = 0;
  answerer.add(examples[1], [&](const AnsweredQuestion& answer) {
    ++seen;
    EXPECT_EQ(answer.decoded, nullptr);
    ASSERT_EQ(answer.scored.size(), 3U);
    EXPECT_GE(answer.scored[0].score, answer.scored[1].score);
    EXPECT_EQ(answer.text(), answer.scored[0].text);
    EXPECT_EQ(answer.probability(), answer.scored[0].score);
    EXPECT_EQ(std::string("me and you").substr(answer.span().begin, answer.span().end - answer.span().begin),
              answer.text());
  });
  answerer.add(examples[2], [&](const AnsweredQuestion& answer) {
    ++seen;
    EXPECT_EQ(answer.text(), "");
    EXPECT_EQ(answer.span(), TextSpan{});
  });
  answerer.finish();
  EXPECT_EQ(seen, 2U);
}

TEST_F(Answerer, WindowsAreThoseOfTheFolder) {
  options.length = 0;
  options.windows = {};
  EXPECT_EQ(QuestionAnswerer(options, *backend).windows().length, 128U)
      << "384, at most what the model takes";
  TextSettings settings;
  settings.task = TextTask::question_answering;
  settings.data_format = "squad";
  settings.length = 60;
  testing::write_tiny_question_model(folder / "model", HeadType::question_answering, &settings);
  const QuestionAnswerer answerer(options, *backend);
  EXPECT_EQ(answerer.windows().length, 60U);
  EXPECT_EQ(answerer.windows().overlap, 20U);
  EXPECT_EQ(answerer.settings().data_format, "squad");
}

TEST_F(Answerer, RefusesModelsAndSettingsThatCannotAnswer) {
  const auto refused = [&](const QuestionPredictionOptions& chosen) {
    return error_of([&] { QuestionAnswerer(chosen, *backend); });
  };
  QuestionPredictionOptions other = options;
  testing::write_tiny_question_model(folder / "mlm", HeadType::masked_lm);
  other.model = path("mlm");
  testing::expect_bad_input(refused(other), "mlm", "no question answering head");
  TextSettings settings;
  settings.task = TextTask::classification;
  testing::write_tiny_question_model(folder / "classes", HeadType::question_answering, &settings);
  other.model = path("classes");
  testing::expect_bad_input(refused(other), "classes", "not for questions");
  other = options;
  other.length = 4000;
  testing::expect_message(refused(other), "`length` 4000", "128");
  other = options;
  other.windows.step = 100;
  testing::expect_message(refused(other), "`step`", "100");
  other = options;
  other.n_best = 0;
  testing::expect_message(refused(other), "`n_best`", "at least 1");
  other = options;
  other.max_answer = 0;
  testing::expect_message(refused(other), "`max_answer`", "at least 1");
  other = options;
  other.decoding = AnswerDecoding::pipeline;
  other.null_threshold = 1;
  testing::expect_message(refused(other), "`null_threshold`", "pipeline");
}

}  // namespace
}  // namespace bigbird
