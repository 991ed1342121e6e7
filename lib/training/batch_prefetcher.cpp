// Batches made ahead; see batch_prefetcher.h.
#include "lib/training/batch_prefetcher.h"

namespace bigbird {

std::vector<Batch> BatchPrefetcher::take(std::uint64_t step) {
  std::vector<Batch> batches;
  if (next_.valid() && next_step_ == step) {
    batches = next_.get();
  } else {
    if (next_.valid()) next_.wait();
    batches = make_(step);
  }
  if (ahead_ && step + 1 < steps_) {
    next_step_ = step + 1;
    next_ = std::async(std::launch::async, [this, ahead = next_step_] { return make_(ahead); });
  }
  return batches;
}

}  // namespace bigbird
