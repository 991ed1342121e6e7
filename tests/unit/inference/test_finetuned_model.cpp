// Model folders that must be refused, and what a fine-tuned model tells of itself: tokenizer, alphabet, head,
// window.
#include "lib/inference/finetuned_model.h"

#include <gtest/gtest.h>

#include "tests/support/tiny_classifier.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TinyClassifier;

class Finetuned : public ::testing::Test {
 protected:
  Finetuned() { testing::write_tiny_classifier(path_); }
  void replace_in_config(const std::string& old_text, const std::string& new_text) const {
    std::string text = testing::read_text(path_ + "/config.json");
    ASSERT_NE(text.find(old_text), std::string::npos) << text;
    text.replace(text.find(old_text), old_text.size(), new_text);
    testing::write_text(path_ + "/config.json", text);
  }
  // A vocabulary of text, with as many pieces as the config is then told.
  void take_text_tokenizer() const {
    std::filesystem::copy_file(testing::source_dir() / "tests" / "golden" / "tokenizer_google_layout.model",
                               path_ + "/spiece.model", std::filesystem::copy_options::overwrite_existing);
    const auto tokenizer = load_tokenizer(path_);
    const ModelConfig config = ModelFolder(path_).config();
    replace_in_config("\"vocab_size\": " + std::to_string(config.vocab_size),
                      "\"vocab_size\": " + std::to_string(tokenizer->vocab_size()));
    replace_in_config(config.tokenizer_digest, tokenizer->digest());
  }

  testing::TemporaryFolder folder_;
  std::string path_ = folder_ / "model";
};

TEST_F(Finetuned, TellsItsOutputsAndItsWindow) {
  const FinetunedModel model(path_);
  EXPECT_EQ(model.profiles(), TinyClassifier().profiles);
  EXPECT_EQ(model.window(), TinyClassifier().window);
  EXPECT_TRUE(model.gives_probabilities());
  EXPECT_TRUE(model.made_for("chromatin"));
  EXPECT_EQ(model.folder().alphabet(), Alphabet::dna);
  EXPECT_EQ(model.folder().weights_digest().size(), 64u);
  EXPECT_EQ(model.folder().load().config.num_labels, 3);
}

TEST_F(Finetuned, AFolderThatIsNotThereIsNamed) {
  expect_bad_input(error_of([&] { FinetunedModel(folder_ / "nowhere"); }), folder_ / "nowhere",
                   "no such model folder");
}

TEST_F(Finetuned, ATokenizerOfOtherPiecesIsRefused) {
  testing::write_tiny_tokenizer(path_, 12);
  expect_bad_input(error_of([&] { FinetunedModel model(path_); }), path_, "is not the one of the model");
}

TEST_F(Finetuned, ATokenizerOfAsManyOtherPiecesIsRefused) {
  replace_in_config(load_tokenizer(path_)->digest(), std::string(64, 'a'));
  expect_bad_input(error_of([&] { FinetunedModel model(path_); }), path_, "is not the one of the model");
}

TEST_F(Finetuned, AFolderWithoutATokenizerIsRefused) {
  std::filesystem::remove(path_ + "/spiece.model");
  EXPECT_FALSE(ModelFolder(path_).has_tokenizer());
  EXPECT_TRUE(error_of([&] { FinetunedModel model(path_); }));
}

TEST_F(Finetuned, TheOtherAlphabetIsRefused) {
  expect_bad_input(error_of([&] { FinetunedModel model(path_, Alphabet::text); }), path_,
                   "its tokenizer is for DNA, not for text");
  take_text_tokenizer();
  EXPECT_EQ(FinetunedModel(path_, Alphabet::text).folder().alphabet(), Alphabet::text);
  expect_bad_input(error_of([&] { FinetunedModel model(path_); }), path_,
                   "its tokenizer is for text, not for DNA");
}

TEST_F(Finetuned, AMissingHeadIsNamed) {
  expect_bad_input(error_of([&] { ModelFolder(path_).require_masked_token_head(); }), path_,
                   "no masked-token head, its head is classification");
  replace_in_config("BigBirdForSequenceClassification", "BigBirdForMaskedLM");
  EXPECT_NO_THROW(ModelFolder(path_).require_masked_token_head());
  expect_bad_input(error_of([&] { FinetunedModel model(path_); }), path_,
                   "the model has no classifier, its head is masked-lm");
}

TEST_F(Finetuned, AWindowThatIsNotTheModelsIsRefused) {
  const FinetunedModel model(path_);
  EXPECT_EQ(model.window_of(0), TinyClassifier().window);
  EXPECT_EQ(model.window_of(100), TinyClassifier().window);
  const auto other = error_of([&] { model.window_of(120); });
  testing::expect_message(other, path_, "was trained on windows of 100 bp");
  EXPECT_EQ(other->kind(), ErrorKind::usage);
  std::filesystem::remove(path_ + "/window.json");
  const FinetunedModel silent(path_);
  EXPECT_EQ(silent.window_of(90), (ModelWindow{"", 90, 44, 1}));
  testing::expect_message(error_of([&] { silent.window_of(0); }), path_, "has no window");
  EXPECT_NO_THROW(silent.require_task("promoter"));
}

TEST_F(Finetuned, AModelOfAnotherTaskIsRefused) {
  const FinetunedModel model(path_);
  EXPECT_NO_THROW(model.require_task("chromatin"));
  expect_bad_input(error_of([&] { model.require_task("promoter"); }), path_, "a model of the task chromatin");
}

TEST_F(Finetuned, ModelsOfPromotersReadTheForwardStrand) {
  EXPECT_EQ(FinetunedModel(path_).strands_of(Strands::automatic), Strands::both);
  TinyClassifier shape;
  shape.window.task = "promoter";
  testing::write_tiny_classifier(folder_ / "promoter", shape);
  const FinetunedModel promoter(folder_ / "promoter");
  EXPECT_EQ(promoter.strands_of(Strands::automatic), Strands::forward);
  EXPECT_EQ(promoter.strands_of(Strands::reverse), Strands::reverse);
}

TEST(StrandWords, OldAndNewOnes) {
  for (const Strands strands : {Strands::automatic, Strands::both, Strands::forward, Strands::reverse})
    EXPECT_EQ(parse_strands(name_of(strands)), strands);
  EXPECT_EQ(parse_strands("forward"), Strands::forward);
  EXPECT_EQ(parse_strands("reverse"), Strands::reverse);
  EXPECT_EQ(error_of([] { parse_strands("left"); })->kind(), ErrorKind::usage);
}

}  // namespace
}  // namespace bigbird
