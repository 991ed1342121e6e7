// What is right in two inputs, the losses of it, and answers out of logits made by hand (check 19 of
// BigBird-ETC).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/cpu/cpu_backend.h"
#include "lib/model/network/heads.h"
#include "lib/model/network/layout.h"
#include "lib/model/network/losses.h"
#include "lib/model/network/model.h"
#include "lib/text/qa/answer_samples.h"
#include "lib/text/qa/hotpotqa/two_inputs.h"
#include "lib/text/qa/natural_questions/two_inputs.h"
#include "lib/text/qa/triviaqa/two_inputs.h"
#include "lib/text/qa/wikihop/questions.h"
#include "reference/losses.h"
#include "tests/support/tiny_answer_model.h"
#include "tests/unit/io/expect_error.h"
#include "tests/unit/text/qa/etc_fixture.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::Etc;
using testing::expect_message;

// A file as samples of a model of BigBird-ETC, over the letters of tiny_answer_model.h.
class EtcSamples {
 public:
  explicit EtcSamples(std::size_t globals = 64) {
    testing::write_tiny_text_tokenizer(folder_ / "init", testing::tiny_answer_pieces());
    tokenizer_ = load_tokenizer((folder_ / "init").string());
    options_.windows = chosen_windows(128, {});
    options_.evidence = (folder_ / "evidence").string();
    options_.globals = globals;
  }
  std::filesystem::path evidence() const { return folder_ / "evidence"; }
  SampleOptions& options() { return options_; }
  AnswerSamples read(const QuestionTask& task, const std::string& text) const {
    testing::write_text(folder_ / "train", text);
    return read_samples(task, (folder_ / "train").string(), options_, *tokenizer_);
  }
  static ModelConfig config(const QuestionTask& task) {
    ModelConfig config = testing::tiny_answer_config(task.head.type);
    config.attention = AttentionPattern::etc;
    config.token_scores = task.head.scores;
    config.label_names = task.head.types;
    config.num_labels = static_cast<std::int64_t>(task.head.types.size());
    return config;
  }
  // All of it, with the rows of global tokens found.
  static Batch batch_of(const AnswerSamples& samples, const QuestionTask& task) {
    Batch batch;
    for (std::size_t i = 0; i < samples.size(); ++i) samples.append(i, config(task), batch);
    batch.find_global_rows();
    return batch;
  }

 private:
  testing::TemporaryFolder folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
  SampleOptions options_;
};

// Logits made by hand, of every row of a batch and score.
double logit_of(std::size_t score, std::int64_t row) {
  return std::sin(static_cast<double>(row) * 0.7 + static_cast<double>(score)) * 3;
}
double type_logit(std::size_t sequence, std::size_t type) {
  return std::cos(static_cast<double>(sequence * 5 + type)) * 2;
}

double log_sum_exp(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::exp(value);
  return std::log(sum);
}

// What the model minimises for such logits, by the sums that its heads report, in double.
double loss_of(const Batch& batch, const ModelConfig& config) {
  ForwardResult result;
  const LabelCounts labels = label_counts(batch, config);
  const LossScale weights = answer_weights(config);
  for (std::size_t loss = 0; loss < labels.all.size(); ++loss) result.all[loss].count = labels.all[loss];
  const auto add = [&](Loss loss, double sum) {
    result[loss].sum += static_cast<double>(weights[loss]) * sum;
  };
  for (std::size_t score = 0; score < batch.token_targets.size(); ++score) {
    const TokenTargets& targets = batch.token_targets[score];
    const bool softmax = config.token_scores[score].softmax;
    for (std::size_t g = 0; g + 1 < targets.group_offsets.size(); ++g) {
      reference::Vector x;
      std::vector<bool> right;
      for (auto i = static_cast<std::size_t>(targets.group_offsets[g]);
           i < static_cast<std::size_t>(targets.group_offsets[g + 1]); ++i) {
        x.push_back(logit_of(score, targets.rows[i]));
        right.push_back(targets.right[i] != 0);
      }
      add(softmax ? Loss::choice : Loss::mark, softmax ? reference::choice_cross_entropy(x, right).loss
                                                       : reference::mark_cross_entropy(x, right).loss);
    }
  }
  for (std::size_t s = 0; s < batch.sequence_labels.size(); ++s) {
    std::vector<double> logits;
    for (std::size_t type = 0; type < config.label_names.size(); ++type)
      logits.push_back(type_logit(s, type));
    add(Loss::sequence, log_sum_exp(logits) - logits.at(static_cast<std::size_t>(batch.sequence_labels[s])));
  }
  return LossSums(result).loss();
}

// -log of what a softmax over rows [first, first + count) gives to one of them.
double cross_entropy_of(std::size_t score, std::int64_t first, std::int64_t count, std::int64_t right) {
  std::vector<double> values;
  for (std::int64_t row = first; row < first + count; ++row) values.push_back(logit_of(score, row));
  return log_sum_exp(values) - logit_of(score, right);
}

TEST_F(Etc, Check19HotpotQaLossIsAQuarterOfFour) {
  const EtcSamples data;
  const Batch batch =
      EtcSamples::batch_of(data.read(hotpotqa_task(), testing::tiny_hotpotqa_json()), hotpotqa_task());
  ASSERT_EQ(batch.sequences(), 4);
  EXPECT_EQ(batch.sequence_labels, (std::vector<std::int32_t>{0, 0, 1, 2}));
  double sum = 0;
  for (std::size_t s = 0; s < 4; ++s) {
    const std::int64_t globals = batch.tokens() + batch.globals.token_offsets[s];
    EXPECT_EQ(batch.sequence_rows.at(s), globals) << "the type is read at global token 0";
    std::vector<double> types;
    for (std::size_t type = 0; type < 3; ++type) types.push_back(type_logit(s, type));
    sum += log_sum_exp(types) - types.at(static_cast<std::size_t>(batch.sequence_labels[s]));
    for (const std::size_t score : {0u, 1u}) {
      // [CLS] for yes and no; the first question asks for "blue", the second for "red".
      const auto& targets = batch.token_targets[score];
      const auto right = std::find(targets.right.begin() + targets.group_offsets[s], targets.right.end(), 1);
      const std::int32_t row = targets.rows[static_cast<std::size_t>(right - targets.right.begin())];
      EXPECT_EQ(row == batch.token_offsets[s], s >= 2);
      sum += cross_entropy_of(score, batch.token_offsets[s], batch.lengths[s], row);
    }
    // [CLS], the question's letters, and paragraph, title and two sentences twice.
    const std::int64_t count = batch.globals.lengths[s];
    std::vector<std::int64_t> supporting;
    const std::int64_t first = globals + count - 8;
    if (s == 0) supporting = {first, first + 1, first + 3};
    if (s == 1) supporting = {first, first + 1, first + 2};
    if (s == 2) supporting = {first + 4, first + 5, first + 6, first + 7};
    if (s == 3) supporting = {first, first + 1, first + 2, first + 4, first + 5, first + 7};
    for (std::int64_t row = globals; row < globals + count; ++row) {
      const bool right = std::find(supporting.begin(), supporting.end(), row) != supporting.end();
      const double x = logit_of(hotpot_support, row);
      sum += std::log1p(std::exp(right ? -x : x));
    }
  }
  EXPECT_NEAR(loss_of(batch, EtcSamples::config(hotpotqa_task())), sum / 4 / 4, 1e-9);
  // With one input sentences weigh as they did.
  ModelConfig one = EtcSamples::config(hotpotqa_task());
  one.attention = AttentionPattern::bigbird;
  EXPECT_EQ(answer_weights(one)[Loss::mark], 1.0f);
  EXPECT_EQ(answer_weights(one)[Loss::choice], 1.0f);
}

TEST_F(Etc, Check19TheModelMinimisesThatQuarter) {
  const EtcSamples data;
  Batch batch;
  const AnswerSamples samples = data.read(hotpotqa_task(), testing::tiny_hotpotqa_json());
  ModelConfig config = testing::tiny_etc_config();
  config.head = HeadType::structured_answers;
  config.token_scores = hotpotqa_task().head.scores;
  config.label_names = hotpotqa_task().head.types;
  config.num_labels = 3;
  for (std::size_t i = 0; i < samples.size(); ++i) samples.append(i, config, batch);
  BatchLimits limits{batch.tokens(), batch.sequences(), 0, 64};
  limits.globals = batch.globals.tokens();
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  Model model(*backend, config, limits, {.training = true});
  model.set_parameters(initial_parameters(model.layout(), config, 5));
  const ForwardResult result = model.forward(batch, {});
  batch.find_global_rows();
  double sum = 0, marks_gradient = 0;
  for (std::size_t score = 0; score < 3; ++score) {
    const std::vector<float> logits = model.token_logits(score);
    ASSERT_EQ(logits.size(), static_cast<std::size_t>(batch.rows()));
    const TokenTargets& targets = batch.token_targets[score];
    for (std::size_t s = 0; s < 4; ++s) {
      double of_all = 0, of_right = 0;
      for (auto i = static_cast<std::size_t>(targets.group_offsets[s]);
           i < static_cast<std::size_t>(targets.group_offsets[s + 1]); ++i) {
        const auto x = static_cast<double>(logits[static_cast<std::size_t>(targets.rows[i])]);
        const bool right = targets.right[i] != 0;
        of_all += std::exp(x);
        of_right += right ? std::exp(x) : 0;
        if (score != hotpot_support) continue;
        sum += std::log1p(std::exp(right ? -x : x));
        marks_gradient += 1 / (1 + std::exp(-x)) - (right ? 1 : 0);
      }
      if (score != hotpot_support) sum += std::log(of_all) - std::log(of_right);
    }
  }
  const std::vector<float> types = model.sequence_logits();
  for (std::size_t s = 0; s < 4; ++s) {
    const std::vector<double> logits(types.begin() + static_cast<std::ptrdiff_t>(3 * s),
                                     types.begin() + static_cast<std::ptrdiff_t>(3 * s + 3));
    sum += log_sum_exp(logits) - logits[static_cast<std::size_t>(batch.sequence_labels[s])];
  }
  EXPECT_NEAR(LossSums(result).loss(), sum / 16, 1e-5);
  EXPECT_NEAR(scaled_loss(result, mean_scale(result)), sum / 16, 1e-5);
  model.zero_gradients();
  model.backward(mean_scale(result));
  const auto bias = static_cast<std::size_t>(model.layout().offset("answer_scores.token.bias"));
  EXPECT_NEAR(model.host_gradients().at(bias + hotpot_support), marks_gradient / 16, 1e-5);
}

TEST_F(Etc, Check19NaturalQuestionsCompeteOverClsAndPage) {
  const EtcSamples data;
  const Batch batch = EtcSamples::batch_of(data.read(nq_task(), testing::tiny_nq_jsonl()), nq_task());
  ASSERT_EQ(batch.sequences(), 5);
  EXPECT_TRUE(batch.sequence_rows.empty()) << "the type is read at long token 0";
  double sum = 0;
  for (std::size_t s = 0; s < 5; ++s) {
    std::vector<double> types;
    for (std::size_t type = 0; type < 5; ++type) types.push_back(type_logit(s, type));
    sum += log_sum_exp(types) - types.at(static_cast<std::size_t>(batch.sequence_labels[s]));
    const std::int64_t first = batch.token_offsets[s];
    const auto sep =
        std::find(batch.ids.begin() + first, batch.ids.end(), static_cast<std::int32_t>(testing::tiny_sep)) -
        batch.ids.begin();
    for (std::size_t score = 0; score < 4; ++score) {
      std::vector<double> values = {logit_of(score, first)};
      for (std::int64_t row = sep + 1; row < first + batch.lengths[s] - 1; ++row)
        values.push_back(logit_of(score, row));
      const TokenTargets& targets = batch.token_targets[score];
      ASSERT_EQ(targets.group_offsets[s + 1] - targets.group_offsets[s],
                static_cast<std::int32_t>(values.size()));
      const auto right = std::find(targets.right.begin() + targets.group_offsets[s], targets.right.end(), 1);
      sum += log_sum_exp(values) -
             logit_of(score, targets.rows[static_cast<std::size_t>(right - targets.right.begin())]);
    }
  }
  EXPECT_NEAR(loss_of(batch, EtcSamples::config(nq_task())), sum / 25, 1e-9);
}

TEST_F(Etc, Check19WikiHopAndTriviaQaLosses) {
  const EtcSamples data;
  const Batch hop =
      EtcSamples::batch_of(data.read(wikihop_task(), testing::tiny_wikihop_json()), wikihop_task());
  ASSERT_EQ(hop.sequences(), 3);
  double sum = 0;
  const std::int64_t answers[] = {1, 0, 2};  // of "red", "blue", "far"
  for (std::size_t s = 0; s < 3; ++s) {
    const std::int64_t first = hop.tokens() + hop.globals.token_offsets[s];
    sum += cross_entropy_of(0, first, 3, first + answers[s]);
  }
  EXPECT_NEAR(loss_of(hop, EtcSamples::config(wikihop_task())), sum / 3, 1e-9);

  // Windows of a document share the norm, and a window without the answer has no loss of its own.
  EtcSamples shorter;
  shorter.options().windows = chosen_windows(24, {});
  const AnswerSamples trivia = shorter.read(triviaqa_task(), testing::tiny_triviaqa_json(shorter.evidence()));
  Batch batch;
  trivia.append(0, EtcSamples::config(triviaqa_task()), batch);
  ASSERT_GE(batch.sequences(), 2);
  ASSERT_EQ(batch.token_targets[0].groups(), 1);
  for (std::size_t side = 0; side < 2; ++side) {
    const TokenTargets& targets = batch.token_targets[side];
    std::vector<double> all, right;
    reference::Vector x;
    std::vector<bool> is_right;
    for (std::size_t i = 0; i < targets.rows.size(); ++i) {
      all.push_back(logit_of(side, targets.rows[i]));
      if (targets.right[i] != 0) right.push_back(all.back());
      x.push_back(all.back());
      is_right.push_back(targets.right[i] != 0);
    }
    EXPECT_NEAR(reference::choice_cross_entropy(x, is_right).loss, log_sum_exp(all) - log_sum_exp(right),
                1e-9);
  }
}

TEST_F(Etc, Check19HotpotQaIsNotTrainedOnWithoutItsAnswer) {
  EtcSamples data;
  data.options().windows = chosen_windows(24, {});
  const AnswerSamples samples = data.read(hotpotqa_task(), testing::tiny_hotpotqa_json());
  EXPECT_EQ(samples.facts().skipped.count("answers beyond the length"), 1u) << "blue";
  EXPECT_EQ(samples.facts().skipped.count("no supporting fact in the input"), 1u) << "is moon up: of the sky";
  EXPECT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples.facts().questions, 4u);
}

TEST_F(Etc, Check19HotpotQaReadsFactsAtGlobalTokens) {
  HotpotQuestion question;
  question.where = "question 'h'";
  question.question = "is it";
  question.paragraphs = {{"mat", {"the cat sat", "on the mat"}}, {"graph", {"it is sparse"}}};
  const EncodedHotpot input = hotpot_two_inputs(question, {}, part_ids(*tokenizer_), *tokenizer_, {});
  std::vector<float> start(14, 0), end(14, 0), support(10, -5), types = {1, 0, 0};
  const auto decode = [&] { return decode_hotpot(question, input, {start, end, support, types}, {}); };
  EXPECT_EQ(decode().text, "") << "no sentence supports: no span is valid";
  EXPECT_TRUE(decode().facts.empty());
  support[5] = 0;  // "the cat sat", of probability 0.5
  support[7] = 9;  // a paragraph's token is not read
  start[13] = 8;   // in a sentence that does not support
  start[5] = 2;
  end[6] = 1;
  EXPECT_EQ(decode().text, "cat sat");
  EXPECT_EQ(decode().facts, (std::vector<SupportingFact>{{"mat", 0}}));
  end[3] = 1;  // of the title: start and end tie with it, and come later
  start[3] = 2;
  EXPECT_EQ(decode().text, "mat") << "of equals the first";
  types = {1, 1, 1};
  EXPECT_EQ(decode().text, "mat") << "of equal types the first";
  types = {0, 2, 1};
  EXPECT_EQ(decode().text, "yes");
  support.pop_back();
  expect_message(error_of(decode), "question 'h'", "9 logits where there are 10");
}

// "<P> the cat sat on mat </P> x <P> sparse graph </P>" in windows of a page.
class PooledPage {
 public:
  explicit PooledPage(const Tokenizer& tokenizer, std::vector<ContextWindow> windows)
      : windows_(std::move(windows)) {
    example_.id = 7;
    example_.where = "question '7'";
    example_.question = "is it";
    for (const char* word :
         {"<P>", "the", "cat", "sat", "on", "mat", "</P>", "x", "<P>", "sparse", "graph", "</P>"}) {
      const auto at = static_cast<std::int64_t>(example_.tokens.size());
      example_.tokens.push_back({word, word[0] == '<', 10 * at, 10 * at + 5});
    }
    example_.candidates = {{{0, 65, 0, 7}, true}, {{80, 115, 8, 12}, true}};
    page_ = NqEncoder(tokenizer, {}).encode(example_);
    for (const ContextWindow& window : windows_) {
      scores_.emplace_back(4, std::vector<float>(input_length(2, window), 0.0f));
      types_.push_back({0, 0, 0, 0, 1});
    }
  }
  // A piece of the page, by its number; -1 is [CLS].
  float& at(std::size_t window, std::size_t score, std::int64_t piece) {
    const std::int64_t first = static_cast<std::int64_t>(windows_[window].first);
    return scores_[window][score].at(piece < 0 ? 0 : static_cast<std::size_t>(4 + piece - first));
  }
  std::vector<float>& types(std::size_t window) { return types_[window]; }
  NqPrediction decode(NqRule rule = NqRule::pooled, std::size_t max_answer = 38) const {
    std::vector<NqLogits> all;
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      const auto& scores = scores_[w];
      all.push_back({windows_[w], scores[0], scores[1], scores[2], scores[3], types_[w]});
    }
    return decode_nq_pooled(example_, page_, all, {rule, 50, max_answer});
  }

 private:
  NqQuestion example_;
  EncodedNq page_;
  std::vector<ContextWindow> windows_;
  std::vector<std::vector<std::vector<float>>> scores_;
  std::vector<std::vector<float>> types_;
};

using Tokens = std::pair<std::int64_t, std::int64_t>;
Tokens short_tokens(const NqPrediction& prediction) {
  if (prediction.short_answers.empty()) return {-1, -1};
  return {prediction.short_answers[0].start_token, prediction.short_answers[0].end_token};
}
Tokens long_tokens(const NqPrediction& prediction) {
  return {prediction.long_answer.start_token, prediction.long_answer.end_token};
}

// Pieces 0..6 are document tokens 0..6, pieces 7..10 the tokens 8..11.
TEST_F(Etc, Check19NaturalQuestionsPoolTheWindowsOfAPage) {
  PooledPage page(*tokenizer_, {{0, 7}, {4, 7}});
  page.at(0, nq_short_start, 2) = 3;
  page.at(1, nq_short_end, 5) = 4;  // the end of another window
  page.at(1, nq_long_start, 7) = 2;
  page.at(1, nq_long_end, 10) = 2;
  EXPECT_EQ(short_tokens(page.decode()), (Tokens{2, 6}));
  EXPECT_EQ(long_tokens(page.decode()), (Tokens{8, 12}));
  EXPECT_NEAR(page.decode().short_score, 7, 1e-9);
  EXPECT_NEAR(page.decode().long_score, 4, 1e-9);
  EXPECT_EQ(short_tokens(page.decode(NqRule::pooled, 3)), (Tokens{2, 3})) << "words; of equal ends the first";

  // A negative logit at [CLS]: by difference it adds, by division it turns the order round.
  page.at(0, nq_short_start, -1) = -2;
  page.at(0, nq_short_end, -1) = -1;
  EXPECT_NEAR(page.decode().short_score, (3 + 2) + 4, 1e-9);
  page.at(0, nq_short_start, 3) = -8;
  EXPECT_EQ(short_tokens(page.decode()).first, 2);
  EXPECT_EQ(short_tokens(page.decode(NqRule::etcmodel, 32)).first, 3) << "-8 / -2 is the largest";

  // The type is that of all windows together, by etcmodel's rule of the last one.
  page.types(0) = {0, 9, 0, 0, 0};
  page.types(1) = {0, 0, 0, 0, 4};
  const NqPrediction yes = page.decode();
  EXPECT_EQ(yes.yes_no, NqYesNo::yes);
  EXPECT_TRUE(yes.short_answers.empty());
  const double first = 9 - std::log(std::exp(9.0) + 4), second = -std::log(std::exp(4.0) + 4);
  const double null = (-std::log(std::exp(9.0) + 4) - std::log(std::exp(4.0) + 4)) / 2;
  EXPECT_NEAR(yes.short_score, (first + second) / 2 - null, 1e-9);
  EXPECT_EQ(page.decode(NqRule::etcmodel, 32).yes_no, NqYesNo::none);
  page.types(0) = {0, 0, 1, 0, 1};
  page.types(1) = {0, 0, 1, 0, 1};
  EXPECT_EQ(page.decode().yes_no, NqYesNo::no) << "of equal types the first";
}

TEST_F(Etc, Check19NaturalQuestionsWithoutAValidSpan) {
  // The only end that stands out lies before the best start, and all others are [CLS]'s equals.
  PooledPage page(*tokenizer_, {{0, 11}});
  for (const std::size_t score : {nq_short_end, nq_long_end}) {
    for (std::int64_t piece = 0; piece < 11; ++piece) page.at(0, score, piece) = -1;
    page.at(0, score, 1) = 5;
  }
  page.at(0, nq_short_start, 10) = 3;
  EXPECT_EQ(short_tokens(page.decode()), (Tokens{11, 12})) << "the best end at or after it";
  EXPECT_NEAR(page.decode().short_score, 2, 1e-9);
  // By division no [CLS] of 0 is divided by; within one document token there is an end.
  EXPECT_EQ(short_tokens(page.decode(NqRule::etcmodel, 1)), (Tokens{11, 12}));

  // A page without text has no answer.
  PooledPage blank(*tokenizer_, {{0, 0}});
  const NqPrediction none = blank.decode();
  EXPECT_TRUE(none.long_answer.is_null());
  EXPECT_TRUE(none.short_answers.empty());
  expect_message(error_of([&] { page.decode(NqRule::pooled, 0); }), "max_answer", "at least 1");
  page.at(0, nq_long_end, 4) = std::nanf("");
  expect_message(error_of([&] { page.decode(); }), "question '7'", "not finite");
}

TEST_F(Etc, Check19TriviaQaAddsUpThePlacesOfAString) {
  const auto text = std::make_shared<const std::string>("the cat sat! A mat is a cat. Mat, the mat");
  QuestionEncoder encoder(*tokenizer_, {}, 64, true);
  const QuestionExample example{"q", "is it", text, {}, "question 'q'"};
  const EncodedQuestion encoded = encoder.encode(example);
  const ContextTokens& context = *encoded.context;
  const std::size_t tokens = context.ids.size(), at = context_position(encoded.question.size());
  std::vector<std::vector<float>> starts, ends;
  const auto token_at = [&](std::string_view word, std::size_t from) {
    const std::size_t place = text->find(word, from);
    for (std::size_t i = 0; i < tokens; ++i) {
      if (context.spans[i].end > place) return i;
    }
    return tokens;
  };
  const std::size_t cat = token_at("cat", 0), other_cat = token_at("cat", 10), mat = token_at("mat", 0);
  const DecodedQuestion question{example, context, encoded.question.size()};
  const ContextWindow whole{0, tokens};
  starts.assign(1, std::vector<float>(input_length(2, whole), -50.0f));
  ends = starts;
  const auto set = [&](std::size_t window, std::size_t first, std::size_t token, float value) {
    starts[window][at + token - first] = ends[window][at + token - first] = value;
  };
  const auto decode = [&](std::size_t documents, std::size_t max_answer = 1) {
    std::vector<WindowLogits> windows;
    for (std::size_t w = 0; w < starts.size(); ++w) windows.push_back({whole, starts[w], ends[w]});
    std::vector<DecodedDocument> all;
    for (std::size_t i = 0; i < documents; ++i) all.push_back({question, windows});
    return decode_trivia_pooled(all, max_answer);
  };
  // One place of "mat" is better than each of "cat", and worse than both together.
  set(0, 0, mat, 1.2f);
  set(0, 0, cat, 1.0f);
  EXPECT_EQ(decode(1)->text, "mat");
  set(0, 0, other_cat, 1.0f);
  EXPECT_EQ(decode(1)->text, "cat");
  EXPECT_NEAR(decode(1)->score, 2 + std::log(2.0), 1e-9);
  // The same places in two documents are four; in two windows of one document they are two.
  EXPECT_NEAR(decode(2)->score, 2 + std::log(4.0), 1e-9);
  starts.push_back(starts.front());
  ends.push_back(ends.front());
  EXPECT_NEAR(decode(1)->score, 2 + std::log(2.0), 1e-9);
  // What is nothing after normalisation is no answer, however good.
  set(0, 0, 0, 90.0f);  // "the"
  set(1, 0, 0, 90.0f);
  EXPECT_EQ(decode(1)->text, "cat");
  EXPECT_NEAR(decode(1)->score, 2 + std::log(2.0), 1e-9);
  // Of equals the first: one place each.
  starts.assign(1, std::vector<float>(input_length(2, whole), -50.0f));
  ends = starts;
  set(0, 0, cat, 1.0f);
  set(0, 0, mat, 1.0f);
  EXPECT_EQ(decode(1)->text, "cat");
  EXPECT_FALSE(decode(0).has_value());
  expect_message(error_of([&] { decode(1, 0); }), "max_answer", "at least 1");
}

TEST_F(Etc, Check19WikiHopTakesTheFirstOfTheBest) {
  EXPECT_EQ(decode_wikihop(std::vector<std::vector<float>>{{-3, 2, 2, -1}}, 4, "w"), 1u);
  EXPECT_EQ(decode_wikihop(std::vector<std::vector<float>>{{-3, -2}}, 2, "w"), 1u);
}

}  // namespace
}  // namespace bigbird
