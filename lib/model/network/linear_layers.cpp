// See linear_layers.h.
#include "lib/model/network/linear_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/int8_weights.h"
#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/model/quantization.h"

namespace bigbird {
namespace {

const LinearLayer& layer_named(const std::vector<LinearLayer>& layers, const std::string& name) {
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const LinearLayer& layer) { return layer.name == name; });
  if (found == layers.end()) throw_runtime("the model has no linear layer " + name);
  return *found;
}

kernels::Linear linear_of(const LinearLayer& layer, const float* weight) {
  return {weight, nullptr, layer.in, layer.out};
}

}  // namespace

std::vector<LinearLayer> linear_layers(const ModelConfig& config) {
  const std::int64_t c = config.hidden_size, f = config.intermediate_size;
  std::vector<LinearLayer> layers;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string prefix = fmt::format("bert.encoder.layer.{}.", layer);
    const auto one = [&](const std::string& name, std::int64_t in, std::int64_t out) {
      layers.push_back({prefix + name, {prefix + name + ".weight"}, in, out});
    };
    const auto feed_forward = [&](const std::string& side) {
      one(side + "intermediate.dense", c, config.inner_outputs());
      one(side + "output.dense", f, c);
    };
    if (config.attention == AttentionPattern::etc) {
      const EtcOptions& options = config.attention_options.etc;
      for (const EtcProducts::Names& product : etc_products(options).distinct()) {
        LinearLayer made{prefix + "attention." + product.front(), {}, c, 0};
        for (const char* name : product) made.weights.push_back(prefix + "attention." + name + ".weight");
        made.out = c * static_cast<std::int64_t>(product.size());
        layers.push_back(made);
      }
      feed_forward("");
      if (!options.shared_feed_forward) feed_forward("global_");
      continue;
    }
    const std::string self = prefix + "attention.self";
    if (is_recurrent(config)) {
      layers.push_back({self + ".query", {self + ".query.weight"}, c, c});
      layers.push_back({self + ".key", {self + ".key.weight", self + ".value.weight"}, c, 2 * c});
      if (!has_spans(config)) layers.push_back({self + ".position", {self + ".position.weight"}, c, c});
    } else if (shares_queries(config)) {
      layers.push_back({self, {self + ".query.weight", self + ".value.weight"}, c, 2 * c});
    } else {
      layers.push_back(
          {self, {self + ".query.weight", self + ".key.weight", self + ".value.weight"}, c, 3 * c});
    }
    one("attention.output.dense", c, c);
    feed_forward("");
  }
  return layers;
}

std::vector<std::string> int8_weights(const ModelConfig& config) {
  std::vector<std::string> names;
  if (config.quantization == nullptr) return names;
  const std::vector<LayerError>& int8 = config.quantization->int8;
  for (const LinearLayer& layer : linear_layers(config)) {
    const bool listed = std::any_of(int8.begin(), int8.end(),
                                    [&](const LayerError& entry) { return entry.layer == layer.name; });
    if (listed) names.insert(names.end(), layer.weights.begin(), layer.weights.end());
  }
  return names;
}

void round_to_int8(const LinearLayer& layer, const ParameterLayout& layout, float* parameters) {
  float* const first = parameters + layout.offset(layer.weights.front());
  const float* const bad =
      std::find_if(first, first + layer.in * layer.out, [](float value) { return !std::isfinite(value); });
  if (bad != first + layer.in * layer.out)
    throw_bad_input(fmt::format("a weight of {} is {}: there is no scale for it", layer.name, *bad));
  kernels::parallel_for(static_cast<std::size_t>(layer.out), [&](std::size_t row) {
    kernels::round_to_int8(first + static_cast<std::int64_t>(row) * layer.in, layer.in);
  });
}

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
    if (attention.query.weight != nullptr) {
      add(attention.query);
      add(attention.key_value);
      if (attention.spans == nullptr && attention.span.weight == nullptr) add(attention.position);
    } else if (whole_products) {
      add(attention.qkv);
    } else {
      ++number;
    }
    add(attention.output);
    add(feed_forward.inner);
    add(feed_forward.output);
  };
  // In the order of etc_products().
  const auto add_two_inputs = [&](const EtcSideTensors& longs, const EtcSideTensors& globals) {
    const auto add_both = [&](const LinearTensors& first, const LinearTensors& second) {
      add(first);
      if (second.weight != first.weight) add(second);
    };
    add_both(longs.query, globals.query);
    add_both(longs.key_value, globals.key_value);
    add_both(longs.output, globals.output);
    add(longs.feed_forward.inner);
    add(longs.feed_forward.output);
    if (globals.feed_forward.inner.weight == longs.feed_forward.inner.weight) return;
    add(globals.feed_forward.inner);
    add(globals.feed_forward.output);
  };
  for (const LayerTensors& layer : tensors.layers) {
    if (config.attention == AttentionPattern::etc) {
      add_two_inputs(layer.sides[0], layer.sides[1]);
    } else {
      add_layer(layer.attention, layer.feed_forward, !config.is_coupled());
    }
  }
  for (const LayerTensors& layer : tensors.documents.layers)
    add_layer(layer.attention, layer.feed_forward, true);
  for (const DecoderLayerTensors& layer : tensors.decoder.layers) {
    if (!config.is_coupled()) add_layer(layer.attention, layer.feed_forward, false);
    if (!config.has_documents()) add(layer.cross_attention.output);
  }
  return packed;
}

std::size_t packed_bytes(const std::vector<PackedLayer>& layers) {
  return layers.empty() ? 0 : layers.back().offset + layers.back().bytes;
}

std::string layout_of(const std::vector<PackedLayer>& layers, const kernels::Backend& backend) {
  std::string text;
  for (const PackedLayer& part : layers) {
    text += fmt::format("{} {}x{} at {}\n", backend.packed_weight_layout(part.form), part.layer.out,
                        part.layer.in, part.offset);
  }
  return text;
}

bool holds(const std::vector<PackedLayer>& layers, const float* parameter) {
  return std::any_of(layers.begin(), layers.end(), [&](const PackedLayer& part) {
    return parameter >= part.layer.weight && parameter < part.layer.weight + part.layer.in * part.layer.out;
  });
}

std::int64_t packed_floats(const std::vector<PackedLayer>& layers) {
  std::int64_t floats = 0;
  for (const PackedLayer& packed : layers) floats += packed.layer.in * packed.layer.out;
  return floats;
}

Int8Layers::Int8Layers(kernels::Backend& backend, const ModelConfig& config, const ParameterLayout& layout,
                       const float* parameters)
    : backend_(backend), layout_(layout), parameters_(parameters), layers_(linear_layers(config)) {}

Int8Layers::~Int8Layers() {
  forget();
}

bool Int8Layers::use(const std::vector<std::string>& names) {
  unbind();
  for (const std::string& name : names) {
    const LinearLayer& layer = layer_named(layers_, name);
    const kernels::Linear linear = linear_of(layer, parameters_ + layout_.offset(layer.weights.front()));
    const std::size_t bytes = backend_.packed_weight_bytes(linear, kernels::WeightForm::int8);
    if (bytes == 0) {
      unbind();
      return false;
    }
    void*& packed = packed_[name];
    if (packed == nullptr) {
      packed = backend_.allocate(bytes);
      backend_.pack_weight(linear, kernels::WeightForm::int8, packed);
    }
    backend_.bind_packed_weight(linear, kernels::WeightForm::int8, packed);
    bound_.push_back(linear.weight);
  }
  return true;
}

void Int8Layers::forget() {
  unbind();
  for (const auto& [name, packed] : packed_) backend_.release(packed);
  packed_.clear();
}

std::size_t Int8Layers::bytes(const kernels::Backend& backend, const ModelConfig& config,
                              const std::vector<std::string>& names) {
  const std::vector<LinearLayer> layers = linear_layers(config);
  std::size_t total = 0;
  for (const std::string& name : names) {
    total +=
        backend.packed_weight_bytes(linear_of(layer_named(layers, name), nullptr), kernels::WeightForm::int8);
  }
  return total;
}

void Int8Layers::unbind() {
  for (const float* weight : bound_) backend_.unbind_packed_weight(weight);
  bound_.clear();
}

std::vector<std::string> Int8Layers::names_for(const kernels::Backend& backend, const ModelConfig& config,
                                               bool training) {
  std::vector<std::string> names = int8_layer_names(config);
  if (names.empty() || (!training && bytes(backend, config, names) > 0)) return names;
  log_info(fmt::format("{} int8 layers are computed from the numbers that their integers mean, {}",
                       names.size(),
                       training ? "as gradients are wanted" : "as " + backend.name() + " has no int8"));
  return {};
}

std::vector<std::string> int8_layer_names(const ModelConfig& config) {
  std::vector<std::string> names;
  if (config.quantization == nullptr) return names;
  for (const LayerError& layer : config.quantization->int8) names.push_back(layer.layer);
  return names;
}

}  // namespace bigbird
