// What a training run asks of the task that it trains: the batches of its updates, and those of its
// validation, each a function of their number alone, so that a run resumes anywhere and any rank makes what
// is its own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/ranks/ranks.h"
#include "kernels/ranks/slice_sums.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/model.h"

namespace bigbird {

// Sums over a set of samples; means are taken where they are shown.
struct LossSums {
  double mlm_loss = 0;  // nats over masked tokens
  std::int64_t mlm_count = 0;
  std::int64_t mlm_correct = 0;
  // Nats over sequences; multi-label: over sequences times labels; question answering: over starts and ends;
  // answers in parts: over the types and over the choices among tokens.
  double sequence_loss = 0;
  std::int64_t sequence_count = 0;
  std::int64_t sequence_correct = 0;
  double mark_loss = 0;  // answers in parts: nats of the marked tokens over their groups (ForwardResult)
  std::int64_t mark_count = 0;

  void add(const ForwardResult& result);
  void add(const LossSums& other);
  // Mean over the masked tokens plus mean over the sequences (or their labels) plus mean over the groups of
  // marks, of those that there are: what is minimised.
  double loss() const;

  // As doubles, which hold the counts exactly: what goes from rank to rank.
  static constexpr std::size_t width = 8;
  std::array<double, width> numbers() const;
  static LossSums of_numbers(const double* numbers);
};

class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  // Micro-batches (slots) of every update: 1, 2, ...
  virtual kernels::Index slots() const = 0;
  // Those of update `step` (0, 1, ...) that are asked for, in order. May be called beside validate(), on
  // another thread.
  virtual std::vector<Batch> batches(std::uint64_t step, kernels::IndexRange slots) const = 0;

  std::vector<Batch> whole_update(std::uint64_t step) const { return batches(step, {0, slots()}); }

  // Batches of the validation set; 0: there is none.
  virtual std::uint64_t validation_batches() const { return 0; }
  virtual Batch validation_batch(std::uint64_t) const { return {}; }
  // Losses on the validation set; nothing where there is none. Collective: each rank takes every count()-th
  // batch, and all have the sums, which are taken in the order of the batches. Of one process a stop that was
  // asked for is Error{interrupted}; several go on to the end.
  virtual std::optional<LossSums> validate(Model& model, kernels::Ranks& ranks) const;
};

}  // namespace bigbird
