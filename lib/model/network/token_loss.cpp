// See token_loss.h.
#include "lib/model/network/token_loss.h"

#include <cstddef>
#include <numeric>
#include <vector>

namespace bigbird {

void token_targets_stage(const PassContext& pass, const TokenTargets& targets,
                         const TokenTargetActivations& kept) {
  const auto upload = [&](std::int32_t* to, const std::vector<std::int32_t>& from) {
    pass.backend.upload(to, from.data(), from.size() * sizeof(std::int32_t));
  };
  upload(kept.rows, targets.rows);
  upload(kept.right, {targets.right.begin(), targets.right.end()});
  upload(kept.offsets, targets.group_offsets);
  std::vector<std::int32_t> parts(static_cast<std::size_t>(targets.groups()));
  for (std::size_t group = 0; group < parts.size(); ++group) parts[group] = targets.parts_of(group);
  upload(kept.parts, parts);
}

void token_loss(const PassContext& pass, const TokenTargets& targets, const TokenTargetActivations& kept,
                bool softmax, const float* logits, const kernels::LossGradient& gradient) {
  const kernels::Values dlogits = gradient.data;
  if (dlogits.data() != nullptr) {
    pass.backend.zero(dlogits.data(),
                      static_cast<std::size_t>(pass.tokens()) * kernels::size_of(dlogits.type()));
  }
  const kernels::TokenGroups groups{kept.rows, kept.right, kept.offsets, kept.parts, targets.groups()};
  pass.backend.token_losses(logits, groups, softmax, kept.losses, gradient);
}

double sum_token_losses(const PassContext& pass, const TokenTargets& targets,
                        const TokenTargetActivations& kept) {
  std::vector<float> losses(static_cast<std::size_t>(targets.groups()));
  pass.backend.download_values(losses.data(), kept.losses, targets.groups());
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

}  // namespace bigbird
