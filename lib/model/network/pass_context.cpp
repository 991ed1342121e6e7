// See pass_context.h.
#include "lib/model/network/pass_context.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace bigbird {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014) over what has been added so far.
class Key {
 public:
  void add(std::uint64_t value) {
    std::uint64_t z = (state_ ^ value) + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    state_ = z ^ (z >> 31);
  }
  void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace

std::int64_t masked_rows_of_pass(const kernels::Backend& backend, std::int64_t masked, std::int64_t tokens) {
  if (!backend.asynchronous()) return masked;
  constexpr std::int64_t unit = 64;
  return std::min((masked + unit - 1) / unit * unit, tokens);
}

std::uint64_t pass_key(const PassContext& pass, std::uint64_t model, Phase phase) {
  const Batch& batch = pass.batch;
  Key key;
  key.add(model);
  key.add(static_cast<std::uint64_t>(phase));
  key.add(static_cast<std::uint64_t>(pass.training));
  key.add(static_cast<std::uint64_t>(!batch.embedding_offsets.empty()));
  key.add(batch.sequences());
  for (const std::int64_t offset : batch.token_offsets) key.add(offset);
  key.add(pass.masked_rows);
  for (const std::int64_t offset : batch.targets.token_offsets) key.add(offset);
  const bool labels[] = {!batch.masked_labels.empty(), !batch.sequence_labels.empty(),
                         !batch.sequence_targets.empty(), !batch.start_positions.empty(),
                         !batch.targets.labels.empty()};
  for (const bool given : labels) key.add(static_cast<std::uint64_t>(given));
  if (pass.smoothing.epsilon > 0.0) {
    key.add(std::bit_cast<std::uint64_t>(pass.smoothing.epsilon));
    key.add(static_cast<std::uint64_t>(pass.smoothing.form));
  }
  for (const std::uint8_t dropped : pass.dropped) key.add(std::uint64_t{2} + dropped);
  for (const TokenTargets& targets : batch.token_targets) key.add(1 + targets.groups());
  // The tokens that compete for the ends of an answer.
  for (std::size_t s = 0; !batch.start_positions.empty() && s < batch.lengths.size(); ++s) {
    key.add(batch.given_length(s));
  }
  return key.value();
}

}  // namespace bigbird
