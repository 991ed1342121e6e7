// See etc_lift.h.
#include "lib/model_folder/etc_lift.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace bigbird {
namespace {

constexpr std::string_view lifted_layers = "bert.encoder.layer.";

// Within a layer, what stands before .weight and .bias.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> lifted_modules{
    {{"attention.long_query", "attention.self.query"},
     {"attention.global_query", "attention.self.query"},
     {"attention.l2l_key", "attention.self.key"},
     {"attention.l2g_key", "attention.self.key"},
     {"attention.g2g_key", "attention.self.key"},
     {"attention.g2l_key", "attention.self.key"},
     {"attention.l2l_value", "attention.self.value"},
     {"attention.l2g_value", "attention.self.value"},
     {"attention.g2g_value", "attention.self.value"},
     {"attention.g2l_value", "attention.self.value"},
     {"attention.long_output", "attention.output.dense"},
     {"attention.global_output", "attention.output.dense"},
     {"attention.long_LayerNorm", "attention.output.LayerNorm"},
     {"attention.global_LayerNorm", "attention.output.LayerNorm"},
     {"intermediate.dense", "intermediate.dense"},
     {"output.dense", "output.dense"},
     {"output.LayerNorm", "output.LayerNorm"},
     {"global_intermediate.dense", "intermediate.dense"},
     {"global_output.dense", "output.dense"},
     {"global_output.LayerNorm", "output.LayerNorm"}}};

}  // namespace

void become_etc(ModelConfig& config) {
  config.attention = AttentionPattern::etc;
  config.embedding_norm = EmbeddingNorm::before_dropout;
  config.position_type = PositionType::none;
  config.rotary_dim = 0;
  config.type_vocab_size = 16;
  config.num_random_blocks = 0;
  config.random_mode = RandomMode::none;
  config.plan = nullptr;
  if (config.head == HeadType::pretraining) config.head = HeadType::masked_lm;
}

bool is_one_input(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with(lifted_layers) && name.ends_with("attention.self.query.weight");
  });
}

std::string etc_source(const std::string& layout_name) {
  constexpr std::string_view global_norm = "bert.embeddings.global_LayerNorm";
  if (layout_name.starts_with(global_norm))
    return "bert.embeddings.LayerNorm" + layout_name.substr(global_norm.size());
  if (layout_name.starts_with("cls.contrast.")) return {};
  if (!layout_name.starts_with(lifted_layers)) return layout_name;
  const std::size_t number = layout_name.find('.', lifted_layers.size()), end = layout_name.rfind('.');
  if (number == std::string::npos || end <= number) return {};
  const std::string_view module = std::string_view(layout_name).substr(number + 1, end - number - 1);
  for (const auto& [ours, theirs] : lifted_modules) {
    if (ours == module)
      return layout_name.substr(0, number + 1) + std::string(theirs) + layout_name.substr(end);
  }
  return {};
}

std::vector<float> lifted_types(const std::vector<float>& source, std::vector<float> fresh,
                                std::int64_t width) {
  const auto row = static_cast<std::size_t>(width);
  const std::size_t rows = std::min<std::size_t>(fresh.size() / row, 2), last = source.size() / row;
  for (std::size_t i = 0; i < rows && last > 0; ++i) {
    const std::size_t from = std::min(i, last - 1) * row;
    std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), row,
                fresh.begin() + static_cast<std::ptrdiff_t>(i * row));
  }
  return fresh;
}

}  // namespace bigbird
