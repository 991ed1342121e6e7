// See rotary.h.
#include "lib/model/network/rotary.h"

#include <cmath>
#include <cstddef>

namespace bigbird {

std::vector<float> rotary_table(const ModelConfig& config, std::int64_t positions) {
  const std::size_t half = static_cast<std::size_t>(config.rotary_dim / 2);
  std::vector<float> frequencies;
  for (std::size_t i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.rotary_dim);
    frequencies.push_back(1.0f /
                          static_cast<float>(std::pow(config.rotary_base, static_cast<double>(exponent))));
  }
  std::vector<float> rotations(static_cast<std::size_t>(positions) * 2 * half);
  for (std::size_t position = 0; position < static_cast<std::size_t>(positions); ++position) {
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(static_cast<float>(position) * frequencies[i]);
      rotations[position * 2 * half + i] = static_cast<float>(std::cos(angle));
      rotations[position * 2 * half + half + i] = static_cast<float>(std::sin(angle));
    }
  }
  return rotations;
}

void rotate_queries_and_keys(const PassContext& pass, const RotaryTable& rotations, kernels::Values qkv,
                             bool back) {
  if (pass.config.position_type != PositionType::rotary) return;
  kernels::Rotary rotary;
  rotary.positions = rotations.positions;
  rotary.rotations = rotations.table;
  rotary.heads = 2 * pass.config.num_attention_heads;  // query and key lie side by side
  rotary.head_size = pass.config.head_size();
  rotary.half = pass.config.rotary_dim / 2;
  pass.backend.rotate({qkv, 3 * pass.width()}, rotary, pass.tokens(), back);
}

}  // namespace bigbird
