// Sums of losses, and validation spread over ranks; see training_task.h.
#include "lib/training/training_task.h"

#include "lib/core/cancel.h"

namespace bigbird {

void LossSums::add(const ForwardResult& result) {
  mlm_loss += result.mlm_loss_sum;
  mlm_count += result.mlm_count;
  mlm_correct += result.mlm_correct;
  sequence_loss += result.sequence_loss_sum + result.start_loss_sum + result.end_loss_sum +
                   result.choice_loss_sum + result.target_loss_sum;
  sequence_count += result.sequence_count + result.start_count + result.end_count + result.choice_count +
                    result.target_count;
  sequence_correct += result.sequence_correct + result.target_correct;
  mark_loss += result.mark_loss_sum;
  mark_count += result.mark_count;
}

void LossSums::add(const LossSums& other) {
  mlm_loss += other.mlm_loss;
  mlm_count += other.mlm_count;
  mlm_correct += other.mlm_correct;
  sequence_loss += other.sequence_loss;
  sequence_count += other.sequence_count;
  sequence_correct += other.sequence_correct;
  mark_loss += other.mark_loss;
  mark_count += other.mark_count;
}

double LossSums::loss() const {
  double loss = 0;
  if (mlm_count > 0) loss += mlm_loss / static_cast<double>(mlm_count);
  if (sequence_count > 0) loss += sequence_loss / static_cast<double>(sequence_count);
  if (mark_count > 0) loss += mark_loss / static_cast<double>(mark_count);
  return loss;
}

std::array<double, LossSums::width> LossSums::numbers() const {
  const auto exact = [](std::int64_t count) { return static_cast<double>(count); };
  return {mlm_loss,      exact(mlm_count),      exact(mlm_correct),
          sequence_loss, exact(sequence_count), exact(sequence_correct),
          mark_loss,     exact(mark_count)};
}

LossSums LossSums::of_numbers(const double* numbers) {
  const auto count = [numbers](int at) { return static_cast<std::int64_t>(numbers[at]); };
  return {numbers[0], count(1), count(2), numbers[3], count(4), count(5), numbers[6], count(7)};
}

std::optional<LossSums> TrainingTask::validate(Model& model, kernels::Ranks& ranks) const {
  const std::uint64_t batches = validation_batches();
  if (batches == 0) return std::nullopt;
  const auto count = static_cast<std::uint64_t>(ranks.count());
  // Every rank sends as many numbers: those of batches that it does not have are zeros.
  const std::uint64_t rounds = (batches + count - 1) / count;
  std::vector<double> mine(static_cast<std::size_t>(rounds) * LossSums::width);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (count == 1) throw_if_cancelled();
    const std::uint64_t batch = round * count + static_cast<std::uint64_t>(ranks.rank());
    if (batch >= batches) break;
    LossSums sums;
    sums.add(model.forward(validation_batch(batch), {}));
    const auto numbers = sums.numbers();
    std::copy(numbers.begin(), numbers.end(),
              mine.begin() + static_cast<std::ptrdiff_t>(round * LossSums::width));
  }
  const std::vector<double> all = gather_numbers(ranks, mine);
  LossSums sums;
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    const std::uint64_t rank = batch % count, round = batch / count;
    sums.add(LossSums::of_numbers(all.data() + (rank * rounds + round) * LossSums::width));
  }
  return sums;
}

}  // namespace bigbird
