// Sums and scales of losses; see losses.h. Which labels a head has is in heads.cpp.
#include "lib/model/network/losses.h"

#include <algorithm>

namespace bigbird {
namespace {

// What the mean of a loss weighs in what is minimised.
double weight_of(LossMean mean, bool contrast) {
  if (!contrast) return 1.0;
  return mean == LossMean::contrast ? contrast_share : mean == LossMean::mlm ? 1.0 - contrast_share : 1.0;
}

float mean_of(std::int64_t count) {
  return count > 0 ? 1.0f / static_cast<float>(count) : 0.0f;
}

void weigh(LossScale& scale, bool contrast) {
  for (std::size_t loss = 0; loss < scale.all.size(); ++loss)
    scale.all[loss] *= static_cast<float>(weight_of(loss_kinds[loss].mean, contrast));
}

}  // namespace

void LossTerm::add(const LossTerm& other) {
  sum += other.sum;
  count += other.count;
  correct += other.correct;
}

bool ForwardResult::has_labels() const {
  return std::any_of(all.begin(), all.end(), [](const LossTerm& term) { return term.count > 0; });
}

LossScale mean_scale(const ForwardResult& result) {
  LossScale scale;
  for (std::size_t loss = 0; loss < scale.all.size(); ++loss)
    scale.all[loss] = mean_of(result.all[loss].count);
  scale[Loss::start] *= 0.5f;
  scale[Loss::end] *= 0.5f;
  scale[Loss::sequence] = scale[Loss::choice] =
      mean_of(result[Loss::sequence].count + result[Loss::choice].count);
  weigh(scale, result[Loss::contrast].count > 0);
  return scale;
}

LossScale scale_of_means(const LabelCounts& labels) {
  LossScale scale;
  for (std::size_t loss = 0; loss < scale.all.size(); ++loss) {
    std::int64_t together = 0;
    for (std::size_t other = 0; other < scale.all.size(); ++other)
      together += loss_kinds[other].mean == loss_kinds[loss].mean ? labels.all[other] : 0;
    scale.all[loss] = mean_of(together);
  }
  weigh(scale, labels[Loss::contrast] > 0);
  return scale;
}

double scaled_loss(const ForwardResult& result, const LossScale& scale) {
  double sum = 0;
  for (std::size_t loss = 0; loss < scale.all.size(); ++loss)
    sum += static_cast<double>(scale.all[loss]) * result.all[loss].sum;
  return sum;
}

LossSums::LossSums(const ForwardResult& result) {
  for (std::size_t loss = 0; loss < loss_kinds.size(); ++loss)
    (*this)[loss_kinds[loss].mean].add(result.all[loss]);
}

void LossSums::add(const LossSums& other) {
  for (std::size_t mean = 0; mean < means_.size(); ++mean) means_[mean].add(other.means_[mean]);
}

double LossSums::loss() const {
  double loss = 0;
  const bool contrast = (*this)[LossMean::contrast].count > 0;
  for (std::size_t mean = 0; mean < means_.size(); ++mean) {
    const LossTerm& term = means_[mean];
    if (term.count == 0) continue;
    loss += weight_of(static_cast<LossMean>(mean), contrast) * term.sum / static_cast<double>(term.count);
  }
  return loss;
}

std::array<double, LossSums::width> LossSums::numbers() const {
  std::array<double, width> numbers{};
  auto to = numbers.begin();
  for (const LossTerm& mean : means_) {
    *to++ = mean.sum;
    *to++ = static_cast<double>(mean.count);
    *to++ = static_cast<double>(mean.correct);
  }
  return numbers;
}

LossSums LossSums::of_numbers(const double* numbers) {
  LossSums sums;
  for (LossTerm& mean : sums.means_) {
    mean = {numbers[0], static_cast<std::int64_t>(numbers[1]), static_cast<std::int64_t>(numbers[2])};
    numbers += 3;
  }
  return sums;
}

}  // namespace bigbird
