// See quantization_json.h.
#include "lib/model/folder/quantization_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/model/network/linear_layers.h"
#include "lib/model/quantization.h"

namespace bigbird {
namespace {

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
            fmt::format("{}: {} is no layer of the model, or is there twice", where, layer.layer));
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
