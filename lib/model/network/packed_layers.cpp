// See packed_layers.h.
#include "lib/model/network/packed_layers.h"

#include <algorithm>
#include <string>

#include "lib/model/network/int8_layers.h"

namespace bigbird {

std::vector<PackedLayer> packed_layers(const ModelConfig& config, const ModelTensors& tensors,
                                       const kernels::Backend& backend) {
  std::vector<PackedLayer> packed;
  // The encoder's come first, in the order of linear_layers().
  const std::vector<LinearLayer> names = linear_layers(config);
  const std::vector<std::string> int8 = int8_layer_names(config);
  std::size_t number = 0;
  const auto add = [&](const kernels::Linear& layer) {
    const bool listed =
        number < names.size() && std::find(int8.begin(), int8.end(), names[number].name) != int8.end();
    ++number;
    const kernels::WeightForm form = listed ? kernels::WeightForm::int8 : kernels::WeightForm::bf16;
    const std::size_t bytes = backend.packed_weight_bytes(layer, form);
    if (bytes > 0) packed.push_back({layer, form, packed_bytes(packed), bytes});
  };
  const auto add_layer = [&](const AttentionTensors& attention, const FeedForwardTensors& feed_forward,
                             bool whole_products) {
    if (whole_products) {
      add(attention.qkv);
    } else {
      ++number;
    }
    add(attention.output);
    add(feed_forward.inner);
    add(feed_forward.output);
  };
  for (const LayerTensors& layer : tensors.layers)
    add_layer(layer.attention, layer.feed_forward, !config.is_coupled());
  for (const DecoderLayerTensors& layer : tensors.decoder.layers) {
    if (!config.is_coupled()) add_layer(layer.attention, layer.feed_forward, false);
    add(layer.cross_attention.output);
  }
  return packed;
}

std::size_t packed_bytes(const std::vector<PackedLayer>& layers) {
  return layers.empty() ? 0 : layers.back().offset + layers.back().bytes;
}

std::int64_t packed_floats(const std::vector<PackedLayer>& layers) {
  std::int64_t floats = 0;
  for (const PackedLayer& packed : layers) floats += packed.layer.in * packed.layer.out;
  return floats;
}

}  // namespace bigbird
