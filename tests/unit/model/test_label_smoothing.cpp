// Label smoothing against its two published formulas, by numbers and in the loss of the reference.
#include "lib/model/label_smoothing.h"

#include <gtest/gtest.h>

#include "lib/core/error.h"
#include "reference/losses.h"

namespace bigbird {
namespace {

double loss_of(const LabelSmoothing& smoothing) {
  reference::Matrix logits(1, 3);
  logits.values = {2.0, 1.0, 0.0};
  return reference::smoothed_cross_entropy(logits, {0}, {smoothing.own_share(3), smoothing.other_share(3)})
      .loss;
}

TEST(LabelSmoothing, LossesAreThePublishedFormulas) {
  EXPECT_NEAR(loss_of({}), 0.4076059644, 1e-10);
  EXPECT_NEAR(loss_of({0.1, SmoothingForm::huggingface}), 0.5076059644, 1e-10);
  const LabelSmoothing google{0.1, SmoothingForm::google};
  EXPECT_NEAR(loss_of(google), 0.5576059644, 1e-10);
  EXPECT_NEAR(loss_of(google) - google.entropy(3), 0.1632082730, 1e-10);
}

TEST(LabelSmoothing, EntropiesAreThoseOfThePublishedVocabularies) {
  EXPECT_NEAR((LabelSmoothing{0.1, SmoothingForm::google}.entropy(96103)), 1.4723995140, 1e-9);
  EXPECT_NEAR((LabelSmoothing{0.1, SmoothingForm::google}.entropy(50358)), 1.4077722649, 1e-9);
  EXPECT_EQ((LabelSmoothing{0.0, SmoothingForm::google}.entropy(50358)), 0.0);
  EXPECT_EQ((LabelSmoothing{0.1, SmoothingForm::huggingface}.entropy(50358)), 0.0);
}

TEST(LabelSmoothing, SharesAreADistribution) {
  for (const SmoothingForm form : {SmoothingForm::huggingface, SmoothingForm::google}) {
    for (const std::int64_t columns : {2, 37, 96103}) {
      const LabelSmoothing smoothing{0.25, form};
      EXPECT_NEAR(
          smoothing.own_share(columns) + static_cast<double>(columns - 1) * smoothing.other_share(columns),
          1.0, 1e-14);
    }
    EXPECT_EQ((LabelSmoothing{0.0, form}.own_share(37)), 1.0);
    EXPECT_EQ(parse_smoothing_form(name_of(form)), form);
  }
  EXPECT_THROW(parse_smoothing_form("half"), Error);
}

}  // namespace
}  // namespace bigbird
