// ROUGE against Google's rouge_score, stems against NLTK's (tests/peers/make_rouge.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/io/files/sha256.h"
#include "lib/metrics/rouge.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

const nlohmann::json& rouge_golden() {
  static const nlohmann::json golden =
      nlohmann::json::parse(testing::read_text(testing::source_dir() / "tests" / "golden" / "rouge.json"));
  return golden;
}

void expect_rouge(const RougeScore& score, const nlohmann::json& wanted, const std::string& what) {
  EXPECT_NEAR(score.precision, wanted.at(0).get<double>(), 1e-12) << what;
  EXPECT_NEAR(score.recall, wanted.at(1).get<double>(), 1e-12) << what;
  EXPECT_NEAR(score.f1, wanted.at(2).get<double>(), 1e-12) << what;
}

RougeOptions rouge_options(bool stem) {
  return {rouge_golden().at("types").get<std::vector<std::string>>(), stem};
}

TEST(RougeGolden, ScoresOfPairsAreThePeers) {
  ASSERT_EQ(rouge_golden().at("pairs").size(), 150u);
  for (const nlohmann::json& pair : rouge_golden().at("pairs")) {
    const std::string target = pair.at("target"), prediction = pair.at("prediction");
    for (const bool stem : {false, true}) {
      const std::vector<RougeScore> scores = rouge(target, prediction, rouge_options(stem));
      const nlohmann::json& wanted = pair.at(stem ? "stemmed" : "plain");
      ASSERT_EQ(scores.size(), wanted.size());
      for (std::size_t i = 0; i < scores.size(); ++i)
        expect_rouge(scores[i], wanted[i],
                     rouge_options(stem).types[i] + "\n" + target + "\n--\n" + prediction);
    }
  }
}

TEST(RougeGolden, IntervalsAreThePeersForItsSeed) {
  std::vector<std::vector<RougeScore>> scores;
  for (const nlohmann::json& pair : rouge_golden().at("pairs"))
    scores.push_back(rouge(pair.at("target").get<std::string>(), pair.at("prediction").get<std::string>(),
                           rouge_options(true)));
  const nlohmann::json& wanted = rouge_golden().at("bootstrap");
  const std::vector<RougeSummary> summaries = summarize_rouge(scores, wanted.at("seed").get<std::uint32_t>());
  ASSERT_EQ(summaries.size(), 5u);
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const std::string type = rouge_options(true).types[i];
    expect_rouge(summaries[i].low, wanted.at(type)[0], type + " low");
    expect_rouge(summaries[i].mid, wanted.at(type)[1], type + " mid");
    expect_rouge(summaries[i].high, wanted.at(type)[2], type + " high");
  }
}

TEST(RougeGolden, StemsOfAllWordsAreThePeers) {
  std::string stems;
  std::size_t words = 0;
  for (const std::string begin : rouge_golden().at("beginnings")) {
    for (const std::string end : rouge_golden().at("endings")) {
      for (const std::string last : rouge_golden().at("last")) {
        if (words++ > 0) stems += '\n';
        stems += porter_stem(begin + end + last);
      }
    }
  }
  EXPECT_EQ(words, rouge_golden().at("stems").at("words"));
  EXPECT_GT(words, 20000u);
  EXPECT_EQ(sha256_bytes(stems), rouge_golden().at("stems").at("sha256"));
}

}  // namespace
}  // namespace bigbird
