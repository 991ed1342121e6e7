// Models, tokenizers and training runs; see describe_parts.h.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/calibration/calibration_file.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/describe/describe_parts.h"
#include "lib/inference/model_task.h"
#include "lib/inference/probabilities.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/weights/safetensors.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model/network/layout.h"
#include "lib/model/quantization.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/dialect.h"
#include "lib/model_folder/model_card.h"
#include "lib/model_folder/self_test.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/memory_plan.h"
#include "lib/training/run_folder.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

Json parameters_by_part(const ModelConfig& config, const ParameterLayout& layout) {
  Json parts = {{"total", layout.count()}, {"embeddings", 0}, {"layers", 0}, {"pooler", 0}, {"head", 0}};
  if (config.has_any_decoder()) parts["decoder"] = 0;
  if (config.has_documents()) parts["documents"] = 0;
  for (const TensorSpec& spec : layout.tensors()) {
    const char* part = is_decoder_tensor(spec.name)                ? "decoder"
                       : spec.name.starts_with("bert.embeddings.") ? "embeddings"
                       : spec.name.starts_with("bert.encoder.")    ? "layers"
                       : spec.name.starts_with("bert.pooler.")     ? "pooler"
                       : spec.name.starts_with("documents.")       ? "documents"
                                                                   : "head";
    parts[part] = parts[part].get<std::int64_t>() + spec.count;
  }
  return parts;
}

Json memory_of(const std::vector<MemoryRow>& rows) {
  Json json = Json::object();
  std::size_t total = 0;
  for (const MemoryRow& row : rows) {
    if (row.bytes > 0) json[row.what] = row.bytes;
    total += row.bytes;
  }
  json["total"] = total;
  json["total_text"] = format_bytes(total);
  return json;
}

Json memory_json(const ModelConfig& config, const DescribeOptions& options, const kernels::Backend& backend) {
  const std::int64_t length = options.length > 0        ? options.length
                              : config.input_length > 0 ? config.input_length
                                                        : config.max_position_embeddings;
  if (length > config.max_position_embeddings) {
    throw_usage(message("`length` {}: the model has {} positions", length, config.max_position_embeddings));
  }
  const std::int64_t padded = (length + config.block_size - 1) / config.block_size * config.block_size;
  BatchLimits limits{padded * options.batch, options.batch, 0, padded};
  // A decoder's rows as the paper has them for long documents (table 17).
  if (config.has_decoder())
    limits.target_tokens = std::min<std::int64_t>(256, config.decoder_positions()) * options.batch;
  if (config.writes_sentences()) limits.target_tokens = limits.tokens;
  Json json = {{"length", length}, {"padded_length", padded}, {"batch", options.batch}};
  if (config.has_decoder()) json["decoder_length"] = limits.target_tokens / options.batch;
  json["inference"] = memory_of(plan_model_memory(config, limits, {}, backend));
  if (config.predicts_next()) limits.masked_tokens = limits.tokens;
  if (config.has_mlm()) limits.masked_tokens = std::max<std::int64_t>(1, limits.tokens * 15 / 100);
  if (config.head != HeadType::encoder) {
    for (const bool checkpoint : {false, true}) {
      json[checkpoint ? "training_grad_checkpoint" : "training"] =
          memory_of(plan_training_memory(config, limits, training_options(checkpoint), backend, {})
                        .places.front()
                        .rows);
    }
  }
  return json;
}

Json tokenizer_json(const std::string& folder) {
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(folder);
  const SpecialIds& special = tokenizer->special();
  return {{"files", tokenizer_files(folder)},
          {"alphabet", tokenizer->is_dna() ? "DNA" : "text"},
          {"pieces", tokenizer->vocab_size()},
          {"longest_piece",
           *std::max_element(tokenizer->piece_lengths().begin(), tokenizer->piece_lengths().end())},
          {"special_ids",
           {{"pad", special.pad},
            {"unknown", special.unknown},
            {"cls", special.cls},
            {"sep", special.sep},
            {"mask", special.mask}}},
          {"sha256", tokenizer->digest()}};
}

Json weights_json(const WeightFiles& weights) {
  Json json = {{"files", weights.files()}, {"tensors", weights.tensors().size()}};
  Json types = Json::object();
  for (const StoredTensor& tensor : weights.tensors()) {
    const char* type = tensor_type_name(tensor.type);
    types[type] = types.value(type, std::int64_t{0}) + tensor.elements();
  }
  json["values_by_type"] = types;
  return json;
}

// What the header of the weights says about where they come from.
Json provenance_of(const WeightFiles& weights) {
  if (!has_suffix(weights.path(), ".safetensors")) return nullptr;
  const SafetensorsFile file(weights.path());
  const auto found = file.metadata().find("provenance");
  if (found == file.metadata().end()) return nullptr;
  Json json = Json::parse(found->second, nullptr, false);
  return json.is_discarded() ? Json(found->second) : json;
}

Json calibration_json(const std::string& folder, const ModelConfig& config) {
  try {
    const std::optional<Calibration> calibration = read_calibration(folder, outputs_of(config));
    if (!calibration) return nullptr;
    return {{"fitted_on", calibration->fitted_on},
            {"windows", calibration->windows},
            {"strands", name_of(calibration->strands)},
            {"outputs", calibration->outputs.size()},
            {"fitted_outputs", calibration->fitted()},
            {"prior", calibration->prior ? Json(*calibration->prior) : Json()}};
  } catch (const Error& error) {
    return {{"error", error.message()}};
  }
}

// Null for a model without int8 layers.
Json quantization_of(const ModelConfig& config) {
  if (config.quantization == nullptr) return nullptr;
  const QuantizationLoss& measured = config.quantization->measured;
  return {
      {"layers", config.quantization->int8.size()},
      {"layers_kept", config.quantization->kept.size()},
      {"measure", measured.measure == "auroc" ? "mean AUROC" : "KL divergence, nats for each masked token"},
      {"loss", measured.loss},
      {"max_loss", measured.most},
      {"data", measured.data},
      {"examples", measured.examples}};
}

// What such a model is for.
std::string next_of(const ModelConfig& config, const std::optional<ModelWindow>& window) {
  if (!config.foreign_class.empty() && config.has_decoder() && config.foreign_class.ends_with("CausalLM"))
    return "nothing here reads it: it has no encoder";
  if (!config.foreign_class.empty())
    return config.has_decoder() ? "bigbird text summarize finetune begins from it without its head"
                                : "verbs that train begin from its encoder; bigbird embed takes its vectors";
  switch (config.head) {
    case HeadType::classification:
      if (window && window->task == "promoter")
        return "bigbird promoter predict, promoter scan, ism, attribute";
      if (window) return "bigbird variants, chromatin predict, ism, attribute";
      return "bigbird text classify predict";
    case HeadType::token_classification:
      return "bigbird text tag predict";
    case HeadType::question_answering:
    case HeadType::structured_answers:
      return "bigbird text qa predict";
    case HeadType::generation:
      return "bigbird text summarize predict";
    case HeadType::masked_sentences:
      return "bigbird text hibert finetune begins from it";
    case HeadType::sentence_labels:
      return "bigbird text hibert predict";
    default:
      return "bigbird promoter finetune, chromatin finetune or text classify finetune begin from it; "
             "bigbird embed takes its vectors";
  }
}

// Where the run stood that wrote a checkpoint.
Json training_json(const std::string& folder) {
  const TrainState state = read_train_state(folder);
  return {{"step", state.step},
          {"tokens", state.tokens},
          {"valid_loss", state.valid_loss ? Json(*state.valid_loss) : Json()},
          {"device", state.device.empty() ? Json() : Json(state.device)},
          {"precision", state.precision.empty() ? Json() : Json(state.precision)}};
}

}  // namespace

std::string describe_tokenizer(const std::string& folder) {
  Json json = {{"kind", "tokenizer"}, {"path", folder}};
  json.update(tokenizer_json(folder));
  return json_text(json);
}

std::string describe_model(const std::string& folder, const DescribeOptions& options,
                           const kernels::Backend& backend) {
  const std::string file = config_file(folder);
  const ModelConfig config = read_config(file);
  const ParameterLayout layout(config);
  const bool checkpoint = file_exists(folder + "/trainer_state.json");
  Json json = {{"kind", checkpoint ? "checkpoint" : "model"}, {"path", folder}};
  if (checkpoint) json["training"] = training_json(folder);
  json["dialect"] = name_of(dialect_of(read_file(file), file));
  json["head"] = config.foreign_class.empty()
                     ? name_of(config.head)
                     : fmt::format("not read: {}", one_line_name(config.foreign_class));
  json["parameters"] = parameters_by_part(config, layout);
  const WeightFiles weights(folder);
  json["weights"] = weights_json(weights);
  json["random_mode"] = name_of(config.random_mode);
  json["attention"] = attention_line(config);
  json["full_attention"] = full_attention_line(config);
  if (config.has_stem()) {
    json["stem"] = fmt::format("{} bases, {} filters, {} bases a row", config.stem.kernel,
                               config.stem.channels, config.stem.stride);
  }
  json["padding"] =
      config.input_length > 0
          ? fmt::format("to {} tokens, at the right end", config.input_length)
          : fmt::format("to the next multiple of {} tokens, at the right end", config.block_size);
  json["int8"] = quantization_of(config);
  json["loads_in_transformers"] = is_huggingface_architecture(config);
  json["config"] = Json::parse(config_json(config));
  json["tokenizer"] = nullptr;
  if (!tokenizer_files(folder).empty()) {
    try {
      json["tokenizer"] = tokenizer_json(folder);
    } catch (const Error& error) {
      json["tokenizer"] = {{"files", tokenizer_files(folder)}, {"error", error.message()}};
    }
  }
  const std::optional<ModelWindow> window = read_model_window(folder);
  json["window"] = window ? Json{{"task", window->task},
                                 {"bases", window->length},
                                 {"target_offset", window->target_offset},
                                 {"target_bases", window->target_length}}
                          : Json();
  json["self_test"] = read_self_test(folder).has_value();
  json["calibration"] = calibration_json(folder, config);
  json["provenance"] = provenance_of(weights);
  json["next"] = next_of(config, window);
  json["memory_bytes"] = memory_json(config, options, backend);
  return json_text(json);
}

std::string describe_run(const std::string& folder) {
  Json json = {{"kind", "run"}, {"path", folder}};
  json["finished"] = folder_exists(folder + "/final");
  std::string last_line, header;
  std::uint64_t steps = 0;
  if (file_exists(folder + "/metrics.tsv")) {
    LineReader lines(folder + "/metrics.tsv");
    for (std::string_view line; lines.next(line);) {
      if (line.starts_with("##") || line.empty()) continue;
      if (line.starts_with("#")) {
        header = line.substr(1);
        continue;
      }
      last_line = line;
      ++steps;
    }
  }
  json["logged_steps"] = steps;
  Json last = Json::object();
  for (std::size_t name = 0, value = 0;
       !last_line.empty() && name < header.size() && value < last_line.size();) {
    const std::size_t name_end = std::min(header.find('\t', name), header.size());
    const std::size_t value_end = std::min(last_line.find('\t', value), last_line.size());
    last[header.substr(name, name_end - name)] = last_line.substr(value, value_end - value);
    name = name_end + 1;
    value = value_end + 1;
  }
  json["last_step"] = last;
  std::vector<std::string> checkpoints;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("checkpoint-") && entry.is_directory()) checkpoints.push_back(name);
  }
  // By their step: the shorter number is the smaller one.
  std::sort(checkpoints.begin(), checkpoints.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  json["checkpoints"] = checkpoints;
  if (!checkpoints.empty()) {
    const TrainState state = read_train_state(folder + "/" + checkpoints.back());
    json["device"] = state.device.empty() ? Json(nullptr) : Json(state.device);
    json["precision"] = state.precision.empty() ? Json(nullptr) : Json(state.precision);
  }
  for (const char* table : {"/metrics.tsv", "/rates.tsv"}) {
    if (!file_exists(folder + table)) continue;
    json["provenance"] = Json::parse(provenance_of_text(folder + table));
    break;
  }
  if (const std::vector<std::string> lines = read_provenance(folder + "/provenance.json"); !lines.empty())
    json["provenance"] = Json::parse(provenance_of_lines(lines));
  if (file_exists(folder + "/rates.tsv")) json["learning_rates"] = folder + "/rates.tsv";
  json["next"] = json["finished"].get<bool>()
                     ? "bigbird report " + folder + "; the model is " + folder + "/final"
                     : "bigbird report " + folder + "; the same command with resume goes on with it";
  if (file_exists(folder + "/config.toml")) json["options"] = read_file(folder + "/config.toml");
  return json_text(json);
}

}  // namespace bigbird
