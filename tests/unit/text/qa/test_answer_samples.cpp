// Files of four data sets as samples: which tokens compete, which are right, and how samples lie in a batch.
#include "lib/text/qa/answer_samples.h"

#include <gtest/gtest.h>

#include <set>

#include "lib/text/qa/finetune.h"
#include "lib/text/qa/hotpotqa/questions.h"
#include "lib/text/qa/natural_questions/questions.h"
#include "tests/support/tiny_answer_model.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;

class TrainingData : public ::testing::Test {
 protected:
  TrainingData() {
    testing::write_tiny_text_tokenizer(folder_ / "init", testing::tiny_answer_pieces());
    tokenizer_ = load_tokenizer((folder_ / "init").string());
    reading_.windows = chosen_windows(128, {});
    reading_.evidence = (folder_ / "evidence").string();
  }
  AnswerSamples read(const QuestionTask& task, const std::string& text) {
    testing::write_text(folder_ / "train", text);
    return read_samples(task, (folder_ / "train").string(), reading_, *tokenizer_);
  }
  Batch batch_of(const AnswerSamples& data, std::size_t first, std::size_t last) const {
    const ModelConfig config = testing::tiny_answer_config();
    Batch batch;
    for (std::size_t i = first; i <= last; ++i) data.append(i, config, batch);
    return batch;
  }
  std::string piece(const Batch& batch, std::int32_t row) const {
    return tokenizer_->piece(static_cast<std::uint32_t>(batch.ids.at(static_cast<std::size_t>(row))));
  }
  // "group:piece" of everything that is right.
  std::vector<std::string> right_pieces(const Batch& batch, std::size_t score) const {
    const TokenTargets& targets = batch.token_targets.at(score);
    std::vector<std::string> found;
    for (std::size_t group = 0; group + 1 < targets.group_offsets.size(); ++group) {
      for (auto i = static_cast<std::size_t>(targets.group_offsets[group]);
           i < static_cast<std::size_t>(targets.group_offsets[group + 1]); ++i) {
        if (targets.right[i] != 0)
          found.push_back(std::to_string(group) + ":" + piece(batch, targets.rows[i]));
      }
    }
    return found;
  }
  // Every real token of sequence `sequence`, as the rows of group `group` of a score must be.
  static void expect_all_tokens(const Batch& batch, std::size_t score, std::size_t group) {
    const TokenTargets& targets = batch.token_targets.at(score);
    const auto first = static_cast<std::size_t>(targets.group_offsets.at(group));
    const auto last = static_cast<std::size_t>(targets.group_offsets.at(group + 1));
    ASSERT_EQ(last - first, static_cast<std::size_t>(batch.lengths.at(group)));
    for (std::size_t i = first; i < last; ++i) {
      EXPECT_EQ(targets.rows[i],
                static_cast<std::int32_t>(batch.token_offsets[group]) + static_cast<std::int32_t>(i - first));
    }
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
  SampleOptions reading_;
};

using Strings = std::vector<std::string>;
const std::string word_sign = "\xE2\x96\x81";

TEST_F(TrainingData, HotpotSpansCompeteOverTheInputAndSentencesStandAlone) {
  const AnswerSamples data = read(hotpotqa_task(), testing::tiny_hotpotqa_json());
  ASSERT_EQ(data.size(), 4U);
  EXPECT_EQ(data.inputs(), 4U);
  EXPECT_EQ(data.most_inputs(), 1);
  EXPECT_EQ(data.facts().questions, 4U);
  const Batch batch = batch_of(data, 0, 3);
  EXPECT_EQ(data.longest(), *std::max_element(batch.lengths.begin(), batch.lengths.end()));
  EXPECT_EQ(batch.sequence_labels, (std::vector<std::int32_t>{0, 0, 1, 2})) << "span, span, yes, no";
  ASSERT_EQ(batch.token_targets.size(), 3U);
  // The first and the last letter of "blue" and of "red"; [CLS] for yes and no.
  EXPECT_EQ(right_pieces(batch, hotpot_start),
            (Strings{"0:" + word_sign + "b", "1:" + word_sign + "r", "2:[CLS]", "3:[CLS]"}));
  EXPECT_EQ(right_pieces(batch, hotpot_end), (Strings{"0:e", "1:d", "2:[CLS]", "3:[CLS]"}));
  for (std::size_t group = 0; group < 4; ++group) {
    expect_all_tokens(batch, hotpot_start, group);
    expect_all_tokens(batch, hotpot_end, group);
  }
  // Four sentences each, at the pieces that close them; titles have none.
  const TokenTargets& support = batch.token_targets[hotpot_support];
  EXPECT_EQ(support.group_offsets, (std::vector<std::int32_t>{0, 4, 8, 12, 16}));
  for (const std::int32_t row : support.rows) EXPECT_EQ(piece(batch, row), "<sep_3>");
  EXPECT_EQ(support.right, (std::vector<std::uint8_t>{0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1}));
}

TEST_F(TrainingData, HotpotCountsWhatDoesNotFit) {
  reading_.windows = chosen_windows(32, {});
  AnswerSamples data = read(hotpotqa_task(), testing::tiny_hotpotqa_json());
  EXPECT_LE(data.longest(), 32);
  EXPECT_GE(data.facts().noted.count("sentences beyond the length"), 8U);
  EXPECT_EQ(data.facts().noted.count("answers beyond the length"), 1U) << "blue, and not red";
  EXPECT_EQ(right_pieces(batch_of(data, 0, 0), hotpot_start), (Strings{"0:[CLS]"}));
  EXPECT_EQ(data.facts().unknown.unknown_pieces(), 0U);
}

TEST_F(TrainingData, PagesHaveAWindowASampleWithFourPositionsAndAType) {
  const AnswerSamples data = read(nq_task(), testing::tiny_nq_jsonl());
  ASSERT_EQ(data.size(), 5U);
  EXPECT_EQ(data.facts().unanswerable, 1U);
  const Batch batch = batch_of(data, 0, 4);
  // null 0, yes 1, no 2, long 3, short 4.
  EXPECT_EQ(batch.sequence_labels, (std::vector<std::int32_t>{4, 4, 1, 3, 0}));
  ASSERT_EQ(batch.token_targets.size(), 4U);
  EXPECT_EQ(right_pieces(batch, nq_short_start),
            (Strings{"0:" + word_sign + "r", "1:" + word_sign + "b", "2:[CLS]", "3:[CLS]", "4:[CLS]"}));
  EXPECT_EQ(right_pieces(batch, nq_short_end), (Strings{"0:d", "1:e", "2:[CLS]", "3:[CLS]", "4:[CLS]"}));
  EXPECT_EQ(right_pieces(batch, nq_long_start),
            (Strings{"0:<unused_35>", "1:<unused_35>", "2:<unused_35>", "3:<unused_35>", "4:[CLS]"}));
  EXPECT_EQ(right_pieces(batch, nq_long_end),
            (Strings{"0:<unused_36>", "1:<unused_36>", "2:<unused_36>", "3:<unused_36>", "4:[CLS]"}));
  for (std::size_t score = 0; score < 4; ++score) {
    for (std::size_t group = 0; group < 5; ++group) expect_all_tokens(batch, score, group);
  }
}

TEST_F(TrainingData, WindowsWithoutTheAnswerAreKeptByTheSeed) {
  reading_.windows = chosen_windows(20, {});
  const auto kept = [&](double share, std::uint64_t seed) {
    reading_.keep_null = share;
    reading_.seed = seed;
    const AnswerSamples data = read(nq_task(), testing::tiny_nq_jsonl());
    std::string text;
    for (std::size_t i = 0; i < data.size(); ++i) {
      const Batch batch = batch_of(data, i, i);
      text += std::to_string(batch.sequence_labels.front()) + "/" + piece(batch, 1) + piece(batch, 6) + " ";
    }
    return std::pair(data.size(), text);
  };
  const auto all = kept(1, 1), none = kept(0, 1), half = kept(0.5, 1);
  EXPECT_GE(all.first, 12U);
  // Answers are inside of some windows still, and only those are left.
  EXPECT_GE(none.first, 2U);
  EXPECT_EQ(none.second.find("0/"), std::string::npos) << none.second;
  EXPECT_GT(half.first, none.first);
  EXPECT_LT(half.first, all.first);
  EXPECT_EQ(half, kept(0.5, 1));
  EXPECT_NE(half, kept(0.5, 2));
  // The pieces of a page that are held are those of its windows; tokens are the same as with all of them.
  EXPECT_NE(all.second.find(none.second.substr(0, none.second.find(' '))), std::string::npos);
}

TEST_F(TrainingData, DocumentsCompeteOverAllOfTheirWindows) {
  const std::string text = testing::tiny_triviaqa_json(folder_ / "evidence");
  testing::write_text(folder_ / "evidence/wikipedia/pets.txt", "red blue a cat is red and a dog is blue");
  reading_.windows = chosen_windows(24, {});
  const AnswerSamples data = read(triviaqa_task(), text);
  ASSERT_EQ(data.size(), 4U);
  EXPECT_EQ(data.facts().questions, 4U);
  EXPECT_GE(data.most_inputs(), 2);
  EXPECT_GT(data.inputs(), data.size());
  const Batch batch = batch_of(data, 0, 1);
  ASSERT_EQ(batch.token_targets.size(), 2U) << "start and end";
  EXPECT_TRUE(batch.sequence_labels.empty());
  EXPECT_TRUE(batch.start_positions.empty());
  const TokenTargets& starts = batch.token_targets[0];
  EXPECT_EQ(starts.groups(), 2) << "one a document";
  EXPECT_EQ(batch.token_targets[1].rows, starts.rows);
  // Context tokens of every window, without [CLS], question and [SEP].
  std::size_t row = 0;
  for (std::size_t sequence = 0; sequence < batch.lengths.size(); ++sequence) {
    for (std::int64_t i = 5; i + 1 < batch.lengths[sequence]; ++i) {
      ASSERT_LT(row, starts.rows.size());
      EXPECT_EQ(starts.rows[row++], batch.token_offsets[sequence] + i);
    }
  }
  EXPECT_EQ(row, starts.rows.size());
  const Strings right = right_pieces(batch, 0);
  EXPECT_GE(right.size(), 4U) << "two places of each, some in two windows";
  for (const std::string& one : right)
    EXPECT_TRUE(one == "0:" + word_sign + "b" || one == "1:" + word_sign + "r") << one;
}

TEST_F(TrainingData, DocumentsAreCutToTheirFirstWindows) {
  const std::string text = testing::tiny_triviaqa_json(folder_ / "evidence");
  reading_.windows = chosen_windows(24, {});
  reading_.max_windows = 1;
  AnswerSamples data = read(triviaqa_task(), text);
  EXPECT_EQ(data.most_inputs(), 1);
  EXPECT_EQ(data.facts().noted.count("windows beyond `max_windows`"), 2U);
  // "blue" stands at the end of its document.
  EXPECT_EQ(data.facts().skipped.count("no name of the answer in the first `max_windows` windows"), 1U);
  EXPECT_EQ(data.size(), 3U);
}

TEST_F(TrainingData, CandidatesCompeteAtTheirMarks) {
  const AnswerSamples data = read(wikihop_task(), testing::tiny_wikihop_json());
  ASSERT_EQ(data.size(), 3U);
  const Batch batch = batch_of(data, 0, 2);
  ASSERT_EQ(batch.token_targets.size(), 1U);
  const TokenTargets& targets = batch.token_targets[0];
  EXPECT_EQ(targets.group_offsets, (std::vector<std::int32_t>{0, 3, 6, 9}));
  for (const std::int32_t row : targets.rows) EXPECT_EQ(piece(batch, row), "<ans>");
  EXPECT_EQ(targets.right, (std::vector<std::uint8_t>{0, 1, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_TRUE(batch.sequence_labels.empty());
}

TEST_F(TrainingData, CandidatesAreAddedUpOverTheInputsOfTheirQuestion) {
  reading_.windows = chosen_windows(40, {});
  AnswerSamples data = read(wikihop_task(), testing::tiny_wikihop_json());
  ASSERT_EQ(data.size(), 3U);
  EXPECT_GT(data.inputs(), 3U);
  EXPECT_LE(data.longest(), 40);
  EXPECT_TRUE(data.facts().noted.empty());
  const Batch batch = batch_of(data, 0, 0);
  const auto inputs = static_cast<std::int32_t>(batch.sequences());
  ASSERT_GT(inputs, 1);
  const TokenTargets& targets = batch.token_targets.at(0);
  EXPECT_EQ(targets.groups(), 1);
  EXPECT_EQ(targets.group_parts, (std::vector<std::int32_t>{inputs}));
  EXPECT_EQ(targets.group_offsets, (std::vector<std::int32_t>{0, 3 * inputs}));
  // The three candidates of every input, in the order of the inputs; the second is right.
  for (std::int32_t i = 0; i < 3 * inputs; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(piece(batch, targets.rows[at]), "<ans>");
    EXPECT_GE(targets.rows[at], batch.token_offsets[at / 3]);
    EXPECT_LT(targets.rows[at], batch.token_offsets[at / 3 + 1]);
    EXPECT_EQ(targets.right[at], i % 3 == 1 ? 1 : 0);
  }

  reading_.max_windows = 1;
  AnswerSamples first = read(wikihop_task(), testing::tiny_wikihop_json());
  EXPECT_EQ(first.inputs(), 3U);
  EXPECT_EQ(first.facts().noted.count("inputs beyond `max_windows`"), data.inputs() - 3);
}

TEST_F(TrainingData, MicroBatchesHoldWholeSamples) {
  const AnswerSamples data = [&] {
    reading_.windows = chosen_windows(24, {});
    return read(triviaqa_task(), testing::tiny_triviaqa_json(folder_ / "evidence"));
  }();
  const ModelConfig config = testing::tiny_answer_config();
  RunOptions run = question_answering_defaults(triviaqa_task());
  run.batch = 4;
  run.accumulate = 2;
  const SampleTask task = answer_task(run, config, data, nullptr);
  const std::vector<Batch> batches = task.whole_update(0);
  ASSERT_EQ(batches.size(), 2U);
  std::int64_t sequences = 0;
  for (const Batch& batch : batches) {
    EXPECT_EQ(batch.token_targets.at(0).groups(), 2);
    EXPECT_LE(batch.sequences(), 2 * data.most_inputs());
    sequences += batch.sequences();
  }
  EXPECT_EQ(sequences, static_cast<std::int64_t>(data.inputs()));
}

TEST_F(TrainingData, FilesWithoutAQuestionAreRefused) {
  testing::expect_bad_input(error_of([&] { read(hotpotqa_task(), "[]"); }), "train", "no questions");
  testing::expect_bad_input(error_of([&] { read(wikihop_task(), "[]"); }), "train", "no questions");
  testing::expect_bad_input(error_of([&] { read(nq_task(), "\n"); }), "train", "");
  const std::string text = testing::tiny_nq_jsonl();
  reading_.keep_null = 0;
  const auto error = error_of([&] { read(nq_task(), text.substr(text.find("{\"example_id\": 5"))); });
  testing::expect_bad_input(error, "train", "no questions");
  EXPECT_NE(error->hint().find("windows without the answer 1"), std::string::npos) << error->hint();
}

TEST(QuestionTasks, HeadsAreThoseOfTheDataSets) {
  EXPECT_EQ(squad_task().head.type, HeadType::question_answering);
  EXPECT_EQ(triviaqa_task().head.type, HeadType::question_answering);
  const AnswerHead& hotpot = hotpotqa_task().head;
  EXPECT_EQ(hotpot.type, HeadType::structured_answers);
  EXPECT_EQ(hotpot.scores.at(hotpot_support), (TokenScore{"support", false}));
  EXPECT_EQ(hotpot.types, (Strings{"span", "yes", "no"}));
  const AnswerHead& page = nq_task().head;
  EXPECT_EQ(page.scores.size(), 4U);
  EXPECT_EQ(page.scores.at(nq_long_end), (TokenScore{"long_end", true}));
  EXPECT_EQ(page.types, (Strings{"null", "yes", "no", "long", "short"}));
  EXPECT_TRUE(wikihop_task().head.types.empty());
}

TEST(QuestionTasks, DefaultsOfTrainingFollowTheTablesOfThePaper) {
  EXPECT_EQ(question_answering_defaults(nq_task()).batch, 128U);
  EXPECT_EQ(question_answering_defaults(wikihop_task()).batch, 64U);
  EXPECT_EQ(question_answering_defaults(hotpotqa_task()).epochs, 5);
  EXPECT_EQ(question_answering_defaults().learning_rate, 3e-5);
}

}  // namespace
}  // namespace bigbird
