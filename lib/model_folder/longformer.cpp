// See longformer.h.
#include "lib/model_folder/longformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/options_json.h"

namespace bigbird {
namespace {

struct Front {
  std::string_view ours;
  std::string_view theirs;
};
// The first that fits is taken; heads for classes and answers have the same names.
constexpr std::array<Front, 6> layout_fronts{{{"bert.pooler.", "longformer.pooler.dense."},
                                              {"bert.", "longformer."},
                                              {"cls.predictions.transform.dense.", "lm_head.dense."},
                                              {"cls.predictions.transform.LayerNorm.", "lm_head.layer_norm."},
                                              {"cls.predictions.decoder.", "lm_head.decoder."},
                                              {"cls.predictions.bias", "lm_head.bias"}}};

}  // namespace

std::vector<float> longformer_positions(const float* table, std::int64_t rows, const ModelConfig& config) {
  const std::int64_t width = config.hidden_size;
  std::vector<float> stored(static_cast<std::size_t>(longformer_first_position(config) * width), 0.0f);
  stored.insert(stored.end(), table, table + rows * width);
  return stored;
}

std::string longformer_stored_name(const std::string& layout_name) {
  for (const Front& front : layout_fronts) {
    if (layout_name.starts_with(front.ours))
      return std::string(front.theirs) + layout_name.substr(front.ours.size());
  }
  return layout_name;
}

const char* longformer_class(HeadType head) {
  switch (head) {
    case HeadType::encoder:
      return "LongformerModel";
    case HeadType::masked_lm:
      return "LongformerForMaskedLM";
    case HeadType::classification:
      return "LongformerForSequenceClassification";
    case HeadType::token_classification:
      return "LongformerForTokenClassification";
    case HeadType::question_answering:
      return "LongformerForQuestionAnswering";
    case HeadType::causal_lm:
    case HeadType::pretraining:
    case HeadType::structured_answers:
    case HeadType::generation:
    case HeadType::masked_sentences:
    case HeadType::sentence_labels:
      break;
  }
  return nullptr;
}

std::string longformer_windows(const std::string& windows, std::int64_t layers, const std::string& file) {
  using Ordered = nlohmann::ordered_json;
  const Ordered window = Ordered::parse(windows);
  if (!window.is_array()) return json_text(Ordered::array({window}));
  if (static_cast<std::int64_t>(window.size()) != layers) {
    throw_bad_input(
        fmt::format("{}: field attention_window has {} windows for {} layers", file, window.size(), layers),
        "one number for all layers, or one for each");
  }
  const bool same =
      std::all_of(window.begin(), window.end(), [&](const Ordered& one) { return one == window[0]; });
  return json_text(same && !window.empty() ? Ordered::array({window[0]}) : window);
}

std::string longformer_config_json(const ModelConfig& config, const std::string& torch_dtype) {
  using Ordered = nlohmann::ordered_json;
  // What the two forms have in common, as ours is written.
  const Ordered own = Ordered::parse(own_config_json(config, torch_dtype));
  Ordered json;
  json["architectures"] = {longformer_class(config.head)};
  json["model_type"] = "longformer";
  for (const char* field :
       {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
        "hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob"})
    json[field] = own.at(field);
  json["attention_window"] = Ordered::array();
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer)
    json["attention_window"].push_back(longformer_window(config, layer));
  json["max_position_embeddings"] = config.max_position_embeddings + longformer_first_position(config);
  for (const char* field : {"type_vocab_size", "initializer_range", "layer_norm_eps", "pad_token_id",
                            "bos_token_id", "eos_token_id", "sep_token_id"})
    json[field] = own.at(field);
  json["onnx_export"] = false;
  for (const char* field : {"tie_word_embeddings", "torch_dtype", "problem_type", "id2label", "label2id"}) {
    if (own.contains(field)) json[field] = own.at(field);
  }
  Ordered& ours = json["bigbird"];
  ours["attention_options"] = Ordered::parse(attention_options_json(config));
  ours["attention_options"].erase("window");  // attention_window
  ours.update(Ordered::parse(fields_without_a_place(config)));
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
