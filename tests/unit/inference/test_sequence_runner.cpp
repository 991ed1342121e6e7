// What comes out of a sequence of a ragged batch, by the head of the model.
#include "lib/inference/sequence_runner.h"
#include "lib/model/network/model.h"

#include <gtest/gtest.h>

#include <string>

#include "lib/core/error.h"
#include "tests/support/tiny_question_model.h"

namespace bigbird {
namespace {

class AnswersOfSequences : public ::testing::Test {
 protected:
  // A folder with this head: three scores, and two types unless there are to be none.
  std::string write_model(HeadType head, bool types = true) {
    const auto folder = folder_ / (name_of(head) + (types ? "" : "-typeless"));
    testing::write_tiny_text_tokenizer(folder);
    ModelConfig config = testing::tiny_question_config(head);
    if (head == HeadType::structured_answers) {
      config.token_scores = {{"start", true}, {"sentence", false}, {"end", true}};
      if (types) config.label_names = {"span", "yes"};
      config.num_labels = types ? 2 : 0;
      config.initializer_range = 0.4;
    }
    const ParameterLayout layout(config);
    write_model_files(folder.string(), config, layout, initial_parameters(layout, config, 5), "", "tiny\n");
    return folder.string();
  }
  static SequenceRunnerOptions answers() {
    SequenceRunnerOptions options;
    options.batch.tokens = 64;
    options.answer_logits = true;
    return options;
  }

  const testing::TemporaryFolder folder_;
  const std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
};

TEST_F(AnswersOfSequences, ScoresOfEveryTokenAndTypesComeOutOfStructuredAnswers) {
  const std::vector<std::vector<std::int32_t>> inputs{
      {2, 5, 6, 7, 3}, {2, 9, 8, 7, 6, 5, 4, 3, 9, 10, 3}, {2, 3}};
  for (const bool types : {true, false}) {
    const ModelFolder folder(write_model(HeadType::structured_answers, types));
    SequenceRunner runner(folder, answers(), *backend_);
    std::size_t done = 0;
    for (const std::vector<std::int32_t>& ids : inputs) {
      runner.add({ids}, [&, ids](const SequenceResult& result) {
        // Alone in its batch.
        Batch batch;
        batch.append(ids, {}, 8, 0);
        Model model(*backend_, runner.config(), {batch.tokens(), 1, 0, batch.tokens()}, {});
        model.set_parameters(folder.load().parameters);
        model.forward(batch, {});
        ASSERT_EQ(result.token_logits.size(), 3u);
        for (std::size_t score = 0; score < 3; ++score) {
          ASSERT_EQ(result.token_logits[score].size(), ids.size());
          const std::vector<float> expected = model.token_logits(score);
          for (std::size_t t = 0; t < ids.size(); ++t)
            EXPECT_NEAR(result.token_logits[score][t], expected[t], 1e-5) << done << " " << score << " " << t;
        }
        ASSERT_EQ(result.sequence_logits.size(), types ? 2u : 0u);
        for (std::size_t type = 0; type < result.sequence_logits.size(); ++type)
          EXPECT_NEAR(result.sequence_logits[type], model.sequence_logits()[type], 1e-5) << done;
        EXPECT_TRUE(result.start_logits.empty());
        ++done;
      });
    }
    runner.finish();
    EXPECT_EQ(done, inputs.size());
  }
}

TEST_F(AnswersOfSequences, StartAndEndComeOutOfQuestionAnswering) {
  SequenceRunner runner(ModelFolder(write_model(HeadType::question_answering)), answers(), *backend_);
  bool done = false;
  runner.add({{2, 5, 3, 7, 3}}, [&](const SequenceResult& result) {
    EXPECT_EQ(result.start_logits.size(), 5u);
    EXPECT_EQ(result.end_logits.size(), 5u);
    EXPECT_NE(result.start_logits[3], result.end_logits[3]);
    EXPECT_TRUE(result.token_logits.empty());
    EXPECT_TRUE(result.sequence_logits.empty());
    done = true;
  });
  runner.finish();
  EXPECT_TRUE(done);
}

TEST_F(AnswersOfSequences, AModelWithoutSuchAHeadIsRefused) {
  const ModelFolder encoder(write_model(HeadType::encoder));
  EXPECT_THROW(SequenceRunner(encoder, answers(), *backend_), Error);
  try {
    encoder.require_question_head();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_NE(error.message().find("its head is encoder"), std::string::npos) << error.message();
  }
  EXPECT_THROW(ModelFolder(write_model(HeadType::structured_answers)).require_question_head(), Error);
}

}  // namespace
}  // namespace bigbird
