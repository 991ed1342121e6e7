// Names and values of tensors of other kinds of models; see dialect.h.
#include "lib/model_folder/dialect.h"
#include "lib/model_folder/etc_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model_folder/esm.h"
#include "lib/model_folder/led.h"
#include "lib/model_folder/longformer.h"
#include "lib/model_folder/pegasus.h"
#include "lib/model_folder/roberta.h"

namespace bigbird {
namespace {

// First those that can be written.
constexpr std::array<std::pair<Dialect, const char*>, 10> dialect_names{
    {{Dialect::huggingface, "hf"},
     {Dialect::gena, "gena"},
     {Dialect::bert, "bert"},
     {Dialect::roberta, "roberta"},
     {Dialect::longformer, "longformer"},
     {Dialect::led, "led"},
     {Dialect::esm, "esm"},
     {Dialect::etcmodel, "etcmodel"},
     {Dialect::pegasus, "pegasus"},
     {Dialect::original_pegasus, "original-pegasus"}}};

constexpr const char* position_table = "bert.embeddings.position_embeddings.weight";
constexpr const char* decoder_position_table = "decoder.embeddings.position_embeddings.weight";
constexpr const char* type_table = "bert.embeddings.token_type_embeddings.weight";
constexpr std::string_view layout_suffix = "attention.self.sparse_self_attention.master_layout";
constexpr std::string_view angles_suffix = "attention.self.rotary_emb.inv_freq";
constexpr std::string_view esm_angles_suffix = "attention.self.rotary_embeddings.inv_freq";

struct Spelling {
  std::string_view theirs;
  std::string_view ours;
};
// The front of a name. The first that fits is taken.
constexpr std::array<Spelling, 9> fronts{{{"roberta.", "bert."},
                                          {"longformer.", "bert."},
                                          {"embeddings.", "bert.embeddings."},
                                          {"encoder.", "bert.encoder."},
                                          {"pooler.", "bert.pooler."},
                                          {"lm_head.dense.", "cls.predictions.transform.dense."},
                                          {"lm_head.layer_norm.", "cls.predictions.transform.LayerNorm."},
                                          {"lm_head.decoder.", "cls.predictions.decoder."},
                                          {"lm_head.bias", "cls.predictions.bias"}}};
constexpr std::array<Spelling, 2> name_ends{
    {{"LayerNorm.gamma", "LayerNorm.weight"}, {"LayerNorm.beta", "LayerNorm.bias"}}};
constexpr std::array<Spelling, 3> gena_norms{{{".pre_attention_ln.", ".attention.output.LayerNorm."},
                                              {".post_attention_ln.", ".output.LayerNorm."},
                                              {"bert.encoder.last_layer_ln.", "bert.encoder.LayerNorm."}}};
constexpr std::array<std::string_view, 5> without_parameters{
    "embeddings.position_ids", "embeddings.token_type_ids", layout_suffix, angles_suffix, esm_angles_suffix};

bool replace(std::string& name, std::string_view from, std::string_view to) {
  const std::size_t at = name.find(from);
  if (at == std::string::npos) return false;
  name.replace(at, from.size(), to);
  return true;
}

// Without what wraps a model when it is saved: torch.compile, DistributedDataParallel, FSDP, activation
// checkpoints. Their names stand wherever a module was wrapped.
std::string without_wrappers(std::string name) {
  for (const std::string_view wrapper :
       {"_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."}) {
    while (replace(name, wrapper, "")) {
    }
  }
  while (name.starts_with("module.")) name.erase(0, 7);
  return name;
}

// Stored rows `first` and on, again and again, until `rows` are full.
std::vector<float> repeated_rows(const StoredTensor& tensor, std::int64_t first, std::int64_t rows) {
  const auto width = static_cast<std::size_t>(tensor.shape[1]);
  std::vector<float> stored(static_cast<std::size_t>(tensor.elements()));
  read_floats(tensor, stored);
  const auto begin = stored.begin() + first * static_cast<std::ptrdiff_t>(width);
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(rows) * width);
  while (values.size() < static_cast<std::size_t>(rows) * width) {
    const auto missing = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rows) * width - values.size());
    values.insert(values.end(), begin, begin + std::min(missing, stored.end() - begin));
  }
  return values;
}

}  // namespace

std::string name_of(Dialect dialect) {
  return find_name(dialect_names, dialect);
}

std::string config_file(const std::string& folder) {
  const std::string own = folder + "/config.json", of_etc = folder + "/" + etc_config_name;
  return !file_exists(own) && file_exists(of_etc) ? of_etc : own;
}

bool is_bert_or_roberta(Dialect dialect) {
  return dialect == Dialect::bert || dialect == Dialect::roberta;
}

Dialect parse_written_dialect(const std::string& name) {
  return parse_name(std::span(dialect_names).first<2>(), name, "dialect that can be written");
}

std::shared_ptr<const PlanTable> plan_of_folder(const std::string& folder, const ModelConfig& config) {
  const std::string file = folder + "/attention_plan.json";
  if (file_exists(file)) return std::make_shared<const PlanTable>(PlanTable::read(file));
  const WeightFiles weights(folder);
  std::vector<std::vector<std::int64_t>> layouts;
  std::int64_t blocks = 0;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string suffix = fmt::format("encoder.layer.{}.{}", layer, layout_suffix);
    const auto found =
        std::find_if(weights.tensors().begin(), weights.tensors().end(), [&](const StoredTensor& tensor) {
          const std::string& name = tensor.name;
          return has_suffix(name, suffix) &&
                 (name.size() == suffix.size() || name[name.size() - suffix.size() - 1] == '.');
        });
    if (found == weights.tensors().end()) {
      throw_bad_input(
          fmt::format("{}: sparse attention, but no plan: neither attention_plan.json nor a layout of "
                      "layer {} in {}",
                      folder, layer, weights.path()),
          message(
              "the blocks were drawn when the model was made; give them with `plan_file` FILE (bigbird attention "
              "writes the format)"));
    }
    if (found->shape.size() != 3 || found->shape[0] != config.num_attention_heads ||
        found->shape[1] != found->shape[2] || (layer > 0 && found->shape[1] != blocks)) {
      throw_bad_input(
          fmt::format("{}: tensor {} has shape [{}], not [{} heads, blocks, blocks]", found->file,
                      one_line_name(found->name), fmt::join(found->shape, ", "), config.num_attention_heads),
          "config.json and the weights must come from the same model");
    }
    blocks = found->shape[1];
    layouts.push_back(read_integers(*found));
  }
  return std::make_shared<const PlanTable>(PlanTable::from_layouts(
      config.block_size, layouts, config.num_attention_heads, blocks, weights.path()));
}

std::string layout_name(const std::string& stored_name, Dialect dialect) {
  if (dialect == Dialect::etcmodel) {
    const std::optional<EtcName> known = etc_layout_name(stored_name);
    return known ? known->name : stored_name;
  }
  std::string name = without_wrappers(stored_name);
  if (dialect == Dialect::pegasus || dialect == Dialect::original_pegasus) return pegasus_layout_name(name);
  if (dialect == Dialect::led) return led_layout_name(name);
  while (name.starts_with("model.")) name.erase(0, 6);  // a module of its own around the model
  for (const std::string_view end : without_parameters) {
    if (has_suffix(name, end)) return {};
  }
  if (dialect == Dialect::esm) return esm_layout_name(name);
  for (const Spelling& front : fronts) {
    if (!name.starts_with(front.theirs)) continue;
    name.replace(0, front.theirs.size(), front.ours);
    break;
  }
  for (const Spelling& end : name_ends) {
    if (has_suffix(name, end.theirs))
      name.replace(name.size() - end.theirs.size(), end.theirs.size(), end.ours);
  }
  if (name.starts_with("bert.pooler.dense.")) replace(name, "bert.pooler.dense.", "bert.pooler.");
  if (dialect == Dialect::bert) {  // its pooler is the dense layer before
    if (name == "classifier.weight") return "classifier.out_proj.weight";
    if (name == "classifier.bias") return "classifier.out_proj.bias";
  }
  if (name.starts_with("bert.encoder.")) {
    for (const Spelling& norm : gena_norms) {
      if (replace(name, norm.theirs, norm.ours)) break;
    }
  }
  return name;
}

std::string gena_name(const std::string& layout_name, const ModelConfig& config) {
  std::string name = layout_name;
  if (name.starts_with("bert.pooler.")) replace(name, "bert.pooler.", "bert.pooler.dense.");
  if (config.norm_type != NormType::prenorm || !name.starts_with("bert.encoder.")) return name;
  for (const Spelling& norm : gena_norms) {
    if (replace(name, norm.ours, norm.theirs)) break;
  }
  return name;
}

std::string stored_name(const std::string& layout_name, const ModelConfig& config, Dialect dialect) {
  if (dialect == Dialect::gena) return gena_name(layout_name, config);
  if (dialect == Dialect::etcmodel) {
    return etc_variable_name(layout_name, config.attention_options.etc.shared_feed_forward)
        .value_or(layout_name);
  }
  if (dialect == Dialect::longformer) return longformer_stored_name(layout_name);
  if (dialect == Dialect::esm) return esm_stored_name(layout_name);
  if (dialect == Dialect::bert) return bert_stored_name(layout_name);
  if (dialect == Dialect::roberta) return roberta_stored_name(layout_name);
  if (dialect == Dialect::led || is_led_architecture(config)) return led_stored_name(layout_name);
  const bool pegasus = config.has_decoder() && is_huggingface_architecture(config);
  return pegasus ? pegasus_stored_name(layout_name) : layout_name;
}

std::vector<float> adapted_values(const StoredTensor& tensor, const TensorSpec& spec, Dialect dialect,
                                  std::int64_t pad, std::vector<std::string>& notes) {
  const bool warm = is_bert_or_roberta(dialect);
  const bool sinusoid = dialect == Dialect::original_pegasus;
  const std::int64_t unused = pad + 1;  // of a Longformer, whose pad token is 1, too
  if ((dialect == Dialect::longformer || dialect == Dialect::esm) && spec.name == position_table &&
      tensor.shape.size() == 2 && tensor.shape[0] == spec.shape[0] + unused &&
      tensor.shape[1] == spec.shape[1])
    return repeated_rows(tensor, unused, spec.shape[0]);
  if (!(warm || sinusoid) || tensor.shape.size() != 2 || spec.shape.size() != 2 ||
      tensor.shape[1] != spec.shape[1])
    return {};
  const std::int64_t rows = tensor.shape[0], wanted = spec.shape[0];
  if (sinusoid) {
    const bool of_positions = spec.name == position_table || spec.name == decoder_position_table;
    return of_positions && rows < wanted ? continued_sinusoid(tensor, wanted, notes) : std::vector<float>();
  }
  const std::int64_t first = dialect == Dialect::roberta ? unused : 0;
  if (spec.name == position_table && first < rows && rows - first <= wanted) {
    if (rows - first == wanted) return repeated_rows(tensor, first, wanted);
    notes.push_back(
        fmt::format("position rows {} to {} of the file repeated to {} positions", first, rows - 1, wanted));
    return repeated_rows(tensor, first, wanted);
  }
  if (spec.name == type_table && rows == 1) {
    notes.push_back(fmt::format("the one token type of the file repeated to {}", wanted));
    return repeated_rows(tensor, 0, wanted);
  }
  return {};
}

std::vector<float> continued_sinusoid(const StoredTensor& tensor, std::int64_t rows,
                                      std::vector<std::string>& notes) {
  constexpr double tolerance = 1e-3;
  struct Form {
    const char* name;
    std::int64_t fewer;  // than N, what j is divided by
  };
  constexpr std::array<Form, 2> forms{{{"the published", 1}, {"transformers'", 0}}};
  const std::int64_t stored_rows = tensor.shape[0], width = tensor.shape[1], half = width / 2;
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
  read_floats(tensor, values);
  for (const Form& form : forms) {
    if (width % 2 != 0 || half <= form.fewer) continue;
    const auto value = [&](std::int64_t position, std::int64_t column) {
      const std::int64_t j = column % half;
      const double angle =
          static_cast<double>(position) *
          std::pow(10000.0, -static_cast<double>(j) / static_cast<double>(half - form.fewer));
      return column < half ? std::sin(angle) : std::cos(angle);
    };
    const auto follows = [&](std::size_t i) {
      const auto at = static_cast<std::int64_t>(i);
      return std::abs(static_cast<double>(values[i]) - value(at / width, at % width)) <= tolerance;
    };
    std::size_t same = 0;
    while (same < values.size() && follows(same)) ++same;
    if (same < values.size()) continue;
    for (std::int64_t position = stored_rows; position < rows; ++position) {
      for (std::int64_t column = 0; column < width; ++column)
        values.push_back(static_cast<float>(value(position, column)));
    }
    notes.push_back(
        fmt::format("{}: position rows {} to {} continue {} sinusoid, which the stored ones follow",
                    one_line_name(tensor.name), stored_rows, rows - 1, form.name));
    return values;
  }
  throw_bad_input(fmt::format("{}: tensor {} follows neither of the two sinusoids that Pegasus has: how it "
                              "goes on from {} to {} rows is not known",
                              tensor.file, one_line_name(tensor.name), stored_rows, rows),
                  "leave the positions as they are stored");
}

bool has_attention_biases(const std::string& folder) {
  const WeightFiles weights(folder);
  return std::any_of(weights.tensors().begin(), weights.tensors().end(), [](const StoredTensor& tensor) {
    if (tensor.name.find("_attn.") == std::string::npos || !has_suffix(tensor.name, "_proj.bias"))
      return false;
    std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
    read_floats(tensor, values);
    return std::any_of(values.begin(), values.end(), [](float value) { return value != 0.0f; });
  });
}

void check_rotary_angles(const WeightFiles& weights, const ModelConfig& config) {
  if (config.position_type != PositionType::rotary) return;
  for (const StoredTensor& tensor : weights.tensors()) {
    if (!has_suffix(tensor.name, angles_suffix) && !has_suffix(tensor.name, esm_angles_suffix)) continue;
    std::vector<float> stored(static_cast<std::size_t>(tensor.elements()));
    read_floats(tensor, stored);
    bool equal = static_cast<std::int64_t>(stored.size()) == config.rotary_dim / 2;
    const double tolerance = tensor.type == TensorType::f32 || tensor.type == TensorType::f64 ? 1e-5 : 1e-2;
    for (std::size_t i = 0; equal && i < stored.size(); ++i) {
      const double angle = std::pow(config.rotary_base,
                                    -2.0 * static_cast<double>(i) / static_cast<double>(config.rotary_dim));
      equal = std::abs(static_cast<double>(stored[i]) - angle) <= tolerance * angle;
    }
    if (!equal) {
      throw_bad_input(
          fmt::format("{}: tensor {} are not the angles of rotary_dim {} and rotary_base {}", tensor.file,
                      one_line_name(tensor.name), config.rotary_dim, config.rotary_base),
          "config.json and the weights must come from the same model");
    }
  }
}

}  // namespace bigbird
