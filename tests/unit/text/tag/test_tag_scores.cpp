// Entities of labels, and the scores of words, against seqeval (tests/golden/entities.json).
#include "lib/text/tag/evaluate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/metrics/entities.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using Names = std::vector<std::string>;

TEST(Entities, AreSeqevalsInEveryScheme) {
  const auto cases =
      nlohmann::json::parse(testing::read_text(testing::source_dir() / "tests/golden/entities.json"));
  ASSERT_EQ(cases.size(), 3u);
  for (const nlohmann::json& one : cases) {
    SCOPED_TRACE(one.at("scheme"));
    EntityScores scores;
    ScoredTags words;
    for (std::size_t i = 0; i < one.at("gold").size(); ++i) {
      const auto gold = one.at("gold")[i].get<Names>(), predicted = one.at("predicted")[i].get<Names>();
      const std::vector<Entity> found = entities_of(gold);
      ASSERT_EQ(found.size(), one.at("entities")[i].size());
      for (std::size_t j = 0; j < found.size(); ++j) {
        const nlohmann::json& wanted = one.at("entities")[i][j];
        EXPECT_EQ(found[j], (Entity{wanted[0], wanted[1], wanted[2]}));
      }
      scores.add(gold, predicted);
      words.add(gold, predicted);
    }
    EXPECT_DOUBLE_EQ(scores.all().precision(), one.at("precision"));
    EXPECT_DOUBLE_EQ(scores.all().recall(), one.at("recall"));
    EXPECT_DOUBLE_EQ(scores.all().f1(), one.at("f1"));
    EXPECT_DOUBLE_EQ(scores.macro_f1(), one.at("macro_f1"));
    EXPECT_DOUBLE_EQ(scores.weighted_f1(), one.at("weighted_f1"));
    EXPECT_DOUBLE_EQ(words.accuracy(), one.at("accuracy"));
    ASSERT_TRUE(words.entities().has_value());
    EXPECT_DOUBLE_EQ(words.entities()->all().f1(), one.at("f1"));
  }
}

TEST(Entities, LabelsOfOtherKindsTellNone) {
  EXPECT_FALSE(are_entity_labels(Names{"NOUN", "VERB", "O"}));
  EXPECT_FALSE(are_entity_labels(Names{"O"}));
  EXPECT_FALSE(are_entity_labels(Names{"B-PER", "NOUN"}));
  EXPECT_TRUE(are_entity_labels(Names{"B-PER", "O", "I-PER"}));
  ScoredTags words;
  words.add({"NOUN", "VERB", "NOUN"}, {"NOUN", "NOUN", "NOUN"});
  EXPECT_FALSE(words.entities().has_value());
  EXPECT_DOUBLE_EQ(words.accuracy(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(words.macro_f1(), (0.8 + 0.0) / 2);
  EXPECT_EQ(words.majority().first, "NOUN");
  EXPECT_DOUBLE_EQ(EntityScores().macro_f1(), 0);
  EXPECT_DOUBLE_EQ(EntityScores().all().f1(), 0);
}

}  // namespace
}  // namespace bigbird
