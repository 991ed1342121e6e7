// Questions through a model against plain calls of it, window by window; defaults of the folder; models that
// cannot answer.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "lib/model/network/model.h"
#include "lib/model_folder/model_folder.h"
#include "lib/text/qa/squad/task.h"
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
      const auto [ids, types, globals] =
          window_input(encoded.question, *encoded.context, window, testing::tiny_cls, testing::tiny_sep);
      values.push_back(side_logits(ids, types, true));
      values.push_back(side_logits(ids, types, false));
    }
    for (std::size_t w = 0; w < cut.size(); ++w) logits.push_back({cut[w], values[2 * w], values[2 * w + 1]});
    return decode_spans({question, *encoded.context, encoded.question.size()}, logits, decoding);
  }
  // Runs the questions as prediction does; how many inputs they took.
  std::uint64_t answer(const QuestionPredictionOptions& chosen, const std::vector<QuestionExample>& questions,
                       const std::function<void(const QuestionExample&, const SquadAnswer&)>& take) {
    QuestionModel model(squad_task(), chosen, *backend);
    const SquadDecoder decoder(chosen);
    QuestionEncoder encoder(model.tokenizer(), model.settings().encoding, model.windows().max_question);
    for (const QuestionExample& question : questions) {
      QuestionInputs inputs;
      const QuestionWindows encoded = encode_windows(question, encoder, model, inputs);
      model.run(inputs, [&, encoded](const std::vector<InputLogits>& logits) {
        take(question, decoder.decode(question, encoded, logits));
      });
    }
    model.finish();
    EXPECT_EQ(model.questions(), questions.size());
    return model.inputs();
  }
  std::vector<std::string> answers(const QuestionPredictionOptions& chosen) {
    std::vector<std::string> all;
    answer(chosen, examples, [&](const QuestionExample& question, const SquadAnswer& found) {
      nlohmann::json line = {question.id, found.text(), found.span().begin, found.span().end,
                             found.probability()};
      for (const ScoredAnswer& scored : found.scored) line.push_back({scored.text, scored.score});
      if (found.decoded) line.push_back(found.decoded->null_odds);
      all.push_back(line.dump());
    });
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
  std::size_t next = 0;
  const std::uint64_t inputs =
      answer(options, examples, [&](const QuestionExample& question, const SquadAnswer& found) {
        ASSERT_LT(next, examples.size());
        ASSERT_EQ(question.id, examples[next].id);
        const DecodedAnswer expected = plain(examples[next++], {7, 5, true, 0});
        EXPECT_EQ(found.text(), expected.text);
        EXPECT_EQ(found.span(), expected.span);
        EXPECT_NEAR(found.probability(), expected.probability, 1e-5);
        ASSERT_TRUE(found.decoded.has_value());
        EXPECT_NEAR(found.decoded->null_odds, expected.null_odds, 1e-4);
        ASSERT_EQ(found.decoded->candidates.size(), expected.candidates.size());
      });
  EXPECT_EQ(next, 4U);
  EXPECT_GT(inputs, 20U) << "the long texts take many windows";
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
  std::size_t seen = 0;
  answer(options, {examples[1], examples[2]}, [&](const QuestionExample& question, const SquadAnswer& found) {
    ++seen;
    EXPECT_FALSE(found.decoded.has_value());
    if (question.id == "blank") {
      EXPECT_EQ(found.text(), "");
      EXPECT_EQ(found.span(), TextSpan{});
      return;
    }
    ASSERT_EQ(found.scored.size(), 3U);
    EXPECT_GE(found.scored[0].score, found.scored[1].score);
    EXPECT_EQ(found.text(), found.scored[0].text);
    EXPECT_EQ(found.probability(), found.scored[0].score);
    EXPECT_EQ(std::string("me and you").substr(found.span().begin, found.span().end - found.span().begin),
              found.text());
  });
  EXPECT_EQ(seen, 2U);
}

TEST_F(Answerer, OneQuestionAtOnceIsTheSameAsOneOfMany) {
  std::vector<std::string> texts;
  answer(options, examples,
         [&](const QuestionExample&, const SquadAnswer& found) { texts.push_back(found.text()); });
  EXPECT_EQ(answer_question(options, "who", "me and you", *backend).text(), texts.at(1));
}

TEST_F(Answerer, WindowsAreThoseOfTheFolder) {
  options.length = 0;
  options.windows = {};
  EXPECT_EQ(QuestionModel(squad_task(), options, *backend).windows().length, 128U)
      << "384, at most what the model takes";
  TextSettings settings;
  settings.task = TextTask::question_answering;
  settings.data_format = "squad";
  settings.length = 60;
  testing::write_tiny_question_model(folder / "model", HeadType::question_answering, &settings);
  const QuestionModel model(squad_task(), options, *backend);
  EXPECT_EQ(model.windows().length, 60U);
  EXPECT_EQ(model.windows().overlap, 20U);
  EXPECT_EQ(model.settings().data_format, "squad");
}

TEST_F(Answerer, RefusesModelsAndSettingsThatCannotAnswer) {
  const auto refused = [&](const QuestionPredictionOptions& chosen) {
    return error_of([&] {
      QuestionModel(squad_task(), chosen, *backend);
      SquadDecoder{chosen};
    });
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
  other.null_threshold = 0;
  other.null_odds = "odds.json";
  testing::expect_message(refused(other), "pipeline", "no null odds");
}

TEST(SquadEntries, CandidatesAreListsOfObjects) {
  DecodedAnswer decoded;
  decoded.candidates.push_back({"Rome", {3, 7}, 1.5f, 0.1f, 0.75});
  decoded.candidates.push_back({"", {}, -3, 0, 0.25});
  // 0.1f as a double, the shortest digits that give it back.
  EXPECT_EQ(candidates_entry("a", {decoded, {}}).at(0),
            "    \"a\": [\n"
            "        {\n"
            "            \"start_logit\": 1.5,\n"
            "            \"end_logit\": 0.10000000149011612,\n"
            "            \"text\": \"Rome\",\n"
            "            \"probability\": 0.75,\n"
            "            \"start\": 3,\n"
            "            \"end\": 7\n"
            "        },\n"
            "        {\n"
            "            \"start_logit\": -3.0,\n"
            "            \"end_logit\": 0.0,\n"
            "            \"text\": \"\",\n"
            "            \"probability\": 0.25,\n"
            "            \"start\": 0,\n"
            "            \"end\": 0\n"
            "        }\n"
            "    ]");
}

TEST(SquadEntries, CandidatesOfThePipelineHaveScores) {
  EXPECT_EQ(
      candidates_entry("a", {std::nullopt, {{"Rome", {3, 7}, 0.5}}}).at(0),
      "    \"a\": [\n        {\n            \"text\": \"Rome\",\n"
      "            \"probability\": 0.5,\n            \"start\": 3,\n            \"end\": 7\n        }\n    ]");
  EXPECT_EQ(candidates_entry("b", {}).at(0), "    \"b\": []");
}

TEST(SquadEntries, NullOddsAreNumbers) {
  EXPECT_EQ(null_odds_entry("a", -2.5f).at(0), "    \"a\": -2.5");
}

}  // namespace
}  // namespace bigbird
