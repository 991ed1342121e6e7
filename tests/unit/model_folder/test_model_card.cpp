// Model cards: what they say about attention, and about loading in transformers.
#include "lib/model_folder/model_card.h"

#include <gtest/gtest.h>

namespace bigbird {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ModelCard, SaysWhereAttentionIsFull) {
  ModelConfig config;
  EXPECT_EQ(full_attention_line(config), "1 to 704 tokens") << "512, and what the published code cannot draw";
  config.random_mode = RandomMode::none;
  EXPECT_EQ(full_attention_line(config), "1 to 320 tokens");
  config.random_mode = RandomMode::file;
  EXPECT_EQ(full_attention_line(config), "never");
  config.attention = AttentionPattern::full;
  EXPECT_EQ(full_attention_line(config), "always");
  EXPECT_EQ(attention_line(config), "full");
}

TEST(ModelCard, NamesPlanAndMode) {
  ModelConfig config;
  EXPECT_EQ(attention_line(config), "bigbird, blocks of 64 tokens, 3 random, random_mode google");
  config.attention = AttentionPattern::window;
  EXPECT_EQ(attention_line(config), "window, blocks of 64 tokens");
}

TEST(ModelCard, SaysWhatTransformersDoesNotReproduce) {
  ModelConfig config;
  Conversion card;
  card.source = "somewhere";
  card.notes = {"position rows 0 to 511 of the file repeated to 4096 positions"};
  const std::string google = model_card(converted_card(config, card));
  EXPECT_TRUE(has(google, "BigBirdForPreTraining.from_pretrained")) << google;
  EXPECT_TRUE(has(google, "this model was made for random_mode google")) << google;
  EXPECT_TRUE(has(google, "- position rows 0 to 511")) << google;
  config.random_mode = RandomMode::hf_eval;
  EXPECT_TRUE(
      has(model_card(converted_card(config, card)), "Its outputs equal this program's in eval mode."));
  config.norm_type = NormType::prenorm;
  EXPECT_TRUE(has(model_card(converted_card(config, card)), "refuses the folder by its model_type"));
  card.written.dialect = Dialect::gena;
  EXPECT_TRUE(has(model_card(converted_card(config, card)), "in the form of GENA-LM's own code"));
}

TEST(ModelCard, PartsStandInOneOrderAndEmptyOnesAreLeftOut) {
  ModelCard card;
  card.tags = {"dna", "promoter"};
  card.title = "A model";
  card.table = "training";
  card.rows = {{"seed", "1"}};
  EXPECT_EQ(model_card(card),
            "---\nlibrary_name: transformers\ntags: [bigbird, dna, promoter]\n---\n# A model\n\n"
            "| training | |\n|---|---|\n| seed | 1 |\n");
  card.about = "Small.\n";
  card.origin = "Made.\n";
  card.command = "bigbird x";
  card.use = "Use it.\n";
  EXPECT_EQ(model_card(card),
            "---\nlibrary_name: transformers\ntags: [bigbird, dna, promoter]\n---\n# A model\n\nSmall.\n\n"
            "| training | |\n|---|---|\n| seed | 1 |\n\nMade.\n\n```\nbigbird x\n```\n\nUse it.\n");
}

}  // namespace
}  // namespace bigbird
