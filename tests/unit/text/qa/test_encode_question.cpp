// Questions as tokens of a small SentencePiece vocabulary, and what its pieces leave of the answers.
#include "lib/text/qa/squad/questions.h"

#include <gtest/gtest.h>

#include "tests/unit/text/qa/qa_tokenizer.h"

namespace bigbird {
namespace {

class QuestionEncoding : public testing::QuestionTokenizer {
 protected:
  static QuestionExample example(const std::string& question, const std::string& context,
                                 const std::string& answer = {}) {
    QuestionExample made;
    made.id = "q";
    made.where = "own: question 'q'";
    made.question = question;
    made.context = std::make_shared<const std::string>(context);
    if (!answer.empty()) {
      const std::size_t begin = context.find(answer);
      made.answers.push_back({answer, {begin, begin + answer.size()}});
    }
    return made;
  }
};

TEST_F(QuestionEncoding, WhiteSpaceBeforeAQuestionGoes) {
  QuestionEncoder encoder(*tokenizer_, {}, 64);
  const auto plain = encoder.encode(example("the cat", "the mat"));
  EXPECT_EQ(encoder.encode(example(" \n\u3000 the cat", "the mat")).question, plain.question);
  EXPECT_FALSE(plain.question_was_cut);
}

TEST_F(QuestionEncoding, LongQuestionsKeepTheirBeginAndAreCounted) {
  QuestionEncoder encoder(*tokenizer_, {}, 3);
  const auto cut = encoder.encode(example("the cat sat on the mat", "the mat"));
  QuestionEncoder whole(*tokenizer_, {}, 64);
  auto expected = whole.encode(example("the cat sat on the mat", "the mat")).question;
  EXPECT_GT(expected.size(), 3U);
  expected.resize(3);
  EXPECT_EQ(cut.question, expected);
  EXPECT_TRUE(cut.question_was_cut);
  EXPECT_FALSE(whole.encode(example("the cat sat on the mat", "the mat")).question_was_cut);
}

TEST_F(QuestionEncoding, ContextsOfOneParagraphAreEncodedOnce) {
  QuestionEncoder encoder(*tokenizer_, {}, 64);
  QuestionExample first = example("the cat", "the mat is on the mat");
  const auto one = encoder.encode(first);
  first.question = "sat on";
  EXPECT_EQ(encoder.encode(first).context, one.context);
  EXPECT_NE(encoder.encode(example("the cat", "the mat is on the mat")).context, one.context);
}

TEST_F(QuestionEncoding, TokensHaveCodePointsAndWords) {
  QuestionEncoder encoder(*tokenizer_, {}, 64);
  const std::string text = "the cats\nsat";
  const auto encoded = encoder.encode(example("the", text));
  const ContextTokens& context = *encoded.context;
  ASSERT_EQ(context.spans.size(), context.ids.size());
  EXPECT_EQ(context.spans.front().begin, 0u);
  EXPECT_EQ(context.spans.back().end, 12u);
  std::size_t words = 0;
  for (std::size_t i = 0; i < context.ids.size(); ++i) {
    words += context.word_begins[i];
    if (i > 0) {
      EXPECT_EQ(context.spans[i].begin, context.spans[i - 1].end);
    }
    // The line end is folded to a blank, and its word owns it.
    if (context.spans[i].begin == 8) {
      EXPECT_EQ(context.word_begins[i], 1);
    }
  }
  EXPECT_EQ(words, 3u);
}

TEST_F(QuestionEncoding, UnknownCharactersAreCounted) {
  QuestionEncoder encoder(*tokenizer_, {}, 64);
  UnknownTally unknown;
  encoder.encode(example("the cat", "caf\u00e9 \u4f60"), &unknown);
  EXPECT_EQ(unknown.unknown_pieces(), 2u);
}

TEST_F(QuestionEncoding, TheCeilingIsWhatLabelsCanGiveBack) {
  QuestionEncoder encoder(*tokenizer_, {}, 64);
  LabelCeiling ceiling;
  WindowOptions options;
  options.length = 40;
  options.overlap = 10;
  const auto add = [&](const QuestionExample& given) {
    const auto encoded = encoder.encode(given);
    ceiling.add(given, encoded,
                context_windows(encoded.question.size(), encoded.context->ids.size(), options, given.where));
  };
  EXPECT_EQ(ceiling.exact_match(), 100);
  add(example("the", "the cat sat on the mat", "cat"));
  add(example("the", "the cat sat on the mat", "the mat"));
  EXPECT_EQ(ceiling.exact(), 2u);
  // A part of the piece "cat": the whole word is not the answer.
  add(example("the", "the cat sat on the mat", "at"));
  EXPECT_EQ(ceiling.exact(), 2u);
  ceiling.add_unanswerable();
  EXPECT_EQ(ceiling.questions(), 4u);
  EXPECT_EQ(ceiling.exact_match(), 75);
  EXPECT_EQ(ceiling.outside(), 0u);
}

TEST_F(QuestionEncoding, AnAnswerLongerThanTheOverlapMayLieInNoWindow) {
  QuestionEncoder encoder(*tokenizer_, {}, 64);
  LabelCeiling ceiling;
  WindowOptions options;
  options.length = 8;
  options.overlap = 1;
  const QuestionExample given =
      example("the", "the cat sat on the mat and the cat sat on the mat", "the mat and the");
  const auto encoded = encoder.encode(given);
  ASSERT_EQ(encoded.question.size(), 1u);
  ceiling.add(given, encoded, context_windows(1, encoded.context->ids.size(), options, given.where));
  EXPECT_EQ(ceiling.outside(), 1u);
  EXPECT_EQ(ceiling.exact_match(), 0);
}

}  // namespace
}  // namespace bigbird
