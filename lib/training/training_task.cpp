// Validation spread over ranks; see training_task.h.
#include "lib/training/training_task.h"

#include <algorithm>

#include "lib/core/cancel.h"
#include "lib/model/network/model.h"

namespace bigbird {

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
    const auto numbers = LossSums(model.forward(validation_batch(batch), {})).numbers();
    std::copy(numbers.begin(), numbers.end(),
              mine.begin() + static_cast<std::ptrdiff_t>(round * LossSums::width));
  }
  return sum_in_order(ranks, mine, batches);
}

LossSums TrainingTask::sum_in_order(kernels::Ranks& ranks, const std::vector<double>& mine,
                                    std::uint64_t parts) {
  const std::vector<double> all = gather_numbers(ranks, mine);
  const auto count = static_cast<std::uint64_t>(ranks.count());
  LossSums sums;
  for (std::uint64_t part = 0; part < parts; ++part) {
    const std::uint64_t rank = part % count, round = part / count;
    sums.add(LossSums::of_numbers(all.data() + rank * mine.size() + round * LossSums::width));
  }
  return sums;
}

std::vector<Batch> SampleTask::batches(std::uint64_t step, kernels::IndexRange slots) const {
  std::vector<Batch> parts;
  for (kernels::Index slot = slots.first; slot < slots.end(); ++slot) {
    const kernels::IndexRange samples = samples_of_slots(options_, {slot, 1});
    parts.push_back(train_(step * options_.batch + static_cast<std::uint64_t>(samples.first),
                           static_cast<std::uint64_t>(samples.count)));
  }
  return parts;
}

std::uint64_t SampleTask::validation_batches() const {
  const auto size = static_cast<std::uint64_t>(micro_batch(options_));
  return (valid_samples_ + size - 1) / size;
}

Batch SampleTask::validation_batch(std::uint64_t number) const {
  const auto size = static_cast<std::uint64_t>(micro_batch(options_));
  const std::uint64_t first = std::min(number * size, valid_samples_);
  return valid_(first, std::min(size, valid_samples_ - first));
}

}  // namespace bigbird
