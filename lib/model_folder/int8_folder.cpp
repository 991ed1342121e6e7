// See int8_folder.h.
#include "lib/model_folder/int8_folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <set>

#include "kernels/int8_weights.h"
#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/model/network/linear_layers.h"
#include "lib/model/quantization.h"

namespace bigbird {
namespace {

constexpr const char* take_it_as_written = "take the folder as `bigbird quantize` wrote it";

using OrderedJson = nlohmann::basic_json<OrderedMap>;

[[noreturn]] void reject_quantization(std::string message) {
  throw_bad_input(std::move(message), "take the folder as `bigbird quantize` wrote it");
}

OrderedJson errors_json(const std::vector<LayerError>& layers) {
  OrderedJson json = OrderedJson::object();
  for (const LayerError& layer : layers) json[layer.layer] = layer.error;
  return json;
}

const OrderedJson& member(const OrderedJson& json, const char* name, const std::string& where) {
  const auto found = json.find(name);
  if (found == json.end()) reject_quantization(fmt::format("{}: field {} is missing", where, name));
  return *found;
}

template <typename Value>
Value field_of(const OrderedJson& json, const char* name, const std::string& where) {
  try {
    return member(json, name, where).get<Value>();
  } catch (const OrderedJson::exception&) {
    reject_quantization(
        fmt::format("{}: field {} is of another type: {}", where, name, json_text(json[name])));
  }
}

std::vector<LayerError> layers_of(const OrderedJson& json, const char* name, const std::string& where) {
  const OrderedJson& found = member(json, name, where);
  if (!found.is_object()) reject_quantization(fmt::format("{}: {} is not an object", where, name));
  std::vector<LayerError> layers;
  for (const auto& [layer, error] : found.items()) {
    if (!error.is_number())
      reject_quantization(fmt::format("{}: {}: the error of {} is not a number", where, name, layer));
    layers.push_back({layer, error.get<double>()});
  }
  return layers;
}

}  // namespace

std::string scales_name(const std::string& weight) {
  return weight + "_scale";
}

Int8Tensor int8_tensor(const float* values, const TensorSpec& spec) {
  const std::int64_t out = spec.shape[0], in = spec.shape[1];
  Int8Tensor result;
  result.integers.resize(static_cast<std::size_t>(spec.count));
  result.scales.resize(static_cast<std::size_t>(out));
  std::atomic<bool> exact{true};
  kernels::parallel_for(static_cast<std::size_t>(out), [&](std::size_t row) {
    const float* const from = values + static_cast<std::int64_t>(row) * in;
    std::int8_t* const integers = result.integers.data() + static_cast<std::int64_t>(row) * in;
    const float scale = kernels::quantize_int8_weights(from, in, integers);
    result.scales[row] = scale;
    for (std::int64_t i = 0; i < in; ++i) {
      if (scale * static_cast<float>(integers[i]) != from[i]) exact = false;
    }
  });
  if (!exact) {
    throw_bad_input(
        fmt::format("tensor {} is to be int8, but its values are not integers times a scale", spec.name),
        "make such a model with `bigbird quantize`");
  }
  return result;
}

void read_int8(const StoredTensor& integers, const StoredTensor& scales, std::span<float> out) {
  const std::string name = one_line_name(integers.name);
  if (integers.type != TensorType::i8 || !integers.is_contiguous()) {
    throw_bad_input(fmt::format("{}: by config.json tensor {} is I8, it is {}", integers.file, name,
                                tensor_type_name(integers.type)),
                    take_it_as_written);
  }
  if (integers.shape.size() != 2 || scales.shape != std::vector<std::int64_t>{integers.shape[0]} ||
      !is_floating_point(scales.type)) {
    throw_bad_input(fmt::format("{}: tensor {} is not one number for each row of {}", scales.file,
                                one_line_name(scales.name), name),
                    take_it_as_written);
  }
  const auto rows = static_cast<std::size_t>(integers.shape[0]);
  const std::int64_t columns = integers.shape[1];
  std::vector<float> factors(rows);
  read_floats(scales, factors);
  const auto* const stored = reinterpret_cast<const std::int8_t*>(integers.first);
  std::vector<std::int8_t> again(static_cast<std::size_t>(columns));
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int8_t* const from = stored + static_cast<std::int64_t>(row) * columns;
    float* const to = out.data() + static_cast<std::int64_t>(row) * columns;
    for (std::int64_t i = 0; i < columns; ++i) to[i] = factors[row] * static_cast<float>(from[i]);
    // Backends quantize what they are given, and must come to the same.
    const bool same = kernels::quantize_int8_weights(to, columns, again.data()) == factors[row] &&
                      std::memcmp(again.data(), from, static_cast<std::size_t>(columns)) == 0;
    if (!same) {
      throw_bad_input(fmt::format("{}: row {} of tensor {} and its scale are not what quantizing gives",
                                  integers.file, row, name),
                      take_it_as_written);
    }
  }
}

Quantization parse_quantization(const std::string& text, const std::string& where,
                                const ModelConfig& config) {
  const OrderedJson json = OrderedJson::parse(text);
  if (!json.is_object()) reject_quantization(where + " is not an object");
  Quantization result;
  result.int8 = layers_of(json, "int8", where);
  result.kept = layers_of(json, "kept", where);
  result.from_sha256 = field_of<std::string>(json, "from_sha256", where);
  const OrderedJson& measured = member(json, "measured", where);
  if (!measured.is_object()) reject_quantization(where + ": measured is not an object");
  const std::string place = where + ": measured";
  QuantizationLoss& loss = result.measured;
  loss.measure = field_of<std::string>(measured, "measure", place);
  loss.full = field_of<double>(measured, "full", place);
  loss.quantized = field_of<double>(measured, "int8", place);
  loss.loss = field_of<double>(measured, "loss", place);
  loss.most = field_of<double>(measured, "max_loss", place);
  if (measured.contains("effects_spearman"))
    loss.effects = field_of<double>(measured, "effects_spearman", place);
  loss.data = field_of<std::string>(measured, "data", place);
  loss.data_sha256 = field_of<std::string>(measured, "data_sha256", place);
  loss.most_examples = field_of<std::int64_t>(measured, "most_examples", place);
  loss.examples = field_of<std::int64_t>(measured, "examples", place);
  loss.seed = field_of<std::uint64_t>(measured, "seed", place);
  if (loss.measure != "auroc" && loss.measure != "kl")
    reject_quantization(fmt::format("{}: measure \"{}\" is neither auroc nor kl", place, loss.measure));

  // In the order of the model, whatever that of the file.
  std::map<std::string, std::size_t> places;
  for (const LinearLayer& layer : linear_layers(config)) places.emplace(layer.name, places.size());
  std::set<std::string> seen;
  for (auto* layers : {&result.int8, &result.kept}) {
    for (const LayerError& layer : *layers) {
      if (!places.contains(layer.layer) || !seen.insert(layer.layer).second) {
        reject_quantization(
            fmt::format("{}: {} is not a layer of the model, or is there twice", where, layer.layer));
      }
    }
    std::sort(layers->begin(), layers->end(), [&](const LayerError& one, const LayerError& other) {
      return places.at(one.layer) < places.at(other.layer);
    });
  }
  return result;
}

std::string quantization_json(const Quantization& quantization) {
  const QuantizationLoss& loss = quantization.measured;
  OrderedJson json;
  json["int8"] = errors_json(quantization.int8);
  json["kept"] = errors_json(quantization.kept);
  json["measured"] = {{"measure", loss.measure},         {"full", loss.full},
                      {"int8", loss.quantized},          {"loss", loss.loss},
                      {"max_loss", loss.most},           {"data", loss.data},
                      {"data_sha256", loss.data_sha256}, {"most_examples", loss.most_examples},
                      {"examples", loss.examples},       {"seed", loss.seed}};
  if (loss.effects) json["measured"]["effects_spearman"] = *loss.effects;
  json["from_sha256"] = quantization.from_sha256;
  return json_text(json);
}

}  // namespace bigbird
