// See model_card.h.
#include "lib/model_folder/model_card.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "lib/core/names.h"
#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model_folder/config_json.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<Activation, const char*>, 4> activation_words{
    {{Activation::gelu_tanh, "gelu (tanh form)"},
     {Activation::gelu_erf, "gelu (erf)"},
     {Activation::relu, "relu"},
     {Activation::silu, "silu"}}};

std::string norm_line(const ModelConfig& config) {
  std::string line = config.norm_type == NormType::postnorm ? "after every branch (post-LN)"
                                                            : "before every branch (pre-LN)";
  if (config.norm_type == NormType::prenorm) line += config.final_norm ? ", and after the last layer" : "";
  if (config.embedding_norm == EmbeddingNorm::none) return line + "; none of the embeddings";
  return line + "; of the embeddings " +
         (config.embedding_norm == EmbeddingNorm::after_dropout ? "after dropout" : "before dropout");
}

// There global tokens are not the model's but the call's.
std::string longformer_globals_text(const ModelConfig& config) {
  const LongformerOptions& options = config.attention_options.longformer;
  const bool of_task = options.global_first == 0 && options.global_rule == GlobalRule::task;
  if (of_task && config.has_decoder()) {
    return "\nGlobal tokens are named by each call there (global_attention_mask). This model has one, the first "
           "token of a document.\n";
  }
  if (of_task) {
    return "\nThe class makes the global tokens that this model has, unless a call names others "
           "(global_attention_mask).\n";
  }
  return fmt::format(
      "\nGlobal tokens are named by each call there (global_attention_mask). This model has: {}.\n",
      attention_options_text(config));
}

std::string huggingface_text(const ModelConfig& config, const WriteOptions& written) {
  if (written.dialect == Dialect::gena) {
    return "The folder is in the form of GENA-LM's own code: load it with the modeling_bert.py of "
           "AIRI-Institute/GENA_LM. `bigbird` reads it as it is.\n";
  }
  if (config.quantization != nullptr) {
    return "The transformers library knows nothing of its int8 weights, and refuses the folder by its "
           "model_type; `bigbird convert FOLDER TO` writes their values as fp32.\n";
  }
  if (config.head == HeadType::structured_answers) {
    return "The transformers library has no class for this head, and refuses the folder by its model_type.\n";
  }
  if (system_of(config.attention).by_own_length && !is_huggingface_architecture(config)) {
    return fmt::format(
        "The transformers library has no class for {} attention, and refuses the folder by its model_type.\n",
        name_of(config.attention));
  }
  if (!is_huggingface_architecture(config)) {
    return "The transformers library has no class for this architecture (its big_bird is a post-LN encoder "
           "with learned positions, its bigbird_pegasus pre-LN), and refuses the folder by its model_type.\n";
  }
  std::string text = fmt::format(
      "```python\nfrom transformers import AutoTokenizer, {0}\nmodel = "
      "{0}.from_pretrained(\"FOLDER\")\n```\n",
      architecture_name(config));
  if (config.attention == AttentionPattern::full) return text;
  if (config.attention == AttentionPattern::longformer) return text + longformer_globals_text(config);
  if (config.attention != AttentionPattern::bigbird) {
    return text + fmt::format("\ntransformers knows the bigbird pattern only, not {}: its outputs differ.\n",
                              name_of(config.attention));
  }
  switch (config.random_mode) {
    case RandomMode::hf_train:
    case RandomMode::hf_eval:
      return text +
             fmt::format("\nIts outputs equal this program's in {} mode.\n",
                         config.random_mode == RandomMode::hf_train ? "train (without dropout)" : "eval");
    case RandomMode::google:
    case RandomMode::none:
    case RandomMode::file:
      return text +
             fmt::format(
                 "\nWhat it does not reproduce: random blocks. In eval mode transformers takes block 0 "
                 "instead of each of them; this model was made for random_mode {0}. bigbird computes "
                 "what transformers does in random mode hf-eval.\n",
                 name_of(config.random_mode));
  }
  return text;
}

}  // namespace

std::string answer_scores_line(const ModelConfig& config) {
  std::string line;
  for (const TokenScore& score : config.token_scores) {
    line +=
        fmt::format("{}{} ({})", line.empty() ? "" : ", ", score.name, score.softmax ? "softmax" : "sigmoid");
  }
  return line + "; " +
         (config.label_names.empty() ? "none" : fmt::format("{}", fmt::join(config.label_names, ", ")));
}

std::string attention_line(const ModelConfig& config) {
  if (config.attention == AttentionPattern::full) return "full";
  std::string line = fmt::format("{}, blocks of {} tokens", name_of(config.attention), config.block_size);
  if (const std::string options = attention_options_text(config); !options.empty()) line += ", " + options;
  if (system_of(config.attention).random) {
    line += config.random_mode == RandomMode::file
                ? fmt::format(", every list from attention_plan.json (up to {} tokens)",
                              config.plan == nullptr ? 0 : config.plan->blocks() * config.block_size)
                : fmt::format(", {} random, random_mode {}", config.num_random_blocks,
                              name_of(config.random_mode));
  }
  return line;
}

std::string full_attention_line(const ModelConfig& config) {
  if (config.attention == AttentionPattern::full) return "always";
  // The lengths, in blocks, as ranges.
  std::string ranges;
  const ModelConfig trunk = trunk_config(config);  // of as many blocks
  const std::int64_t longest = config.max_position_embeddings / config.block_size;
  for (std::int64_t blocks = 1; blocks <= longest; ++blocks) {
    if (full_attention_reason(trunk, blocks).empty()) continue;
    const std::int64_t first = blocks;
    while (blocks < longest && !full_attention_reason(trunk, blocks + 1).empty()) ++blocks;
    ranges += fmt::format("{}{} to {} tokens", ranges.empty() ? "" : ", ",
                          (first - 1) * config.block_size + 1, blocks * config.block_size);
  }
  return ranges.empty() ? "never" : ranges;
}

std::string model_card(const ModelCard& card) {
  std::string text = "---\nlibrary_name: transformers\ntags: [bigbird";
  for (const std::string& tag : card.tags) text += ", " + tag;
  text += "]\n---\n# " + card.title + "\n\n";
  if (!card.about.empty()) text += card.about + "\n";
  text += "| " + card.table + " | |\n|---|---|\n";
  for (const auto& [what, value] : card.rows) text += fmt::format("| {} | {} |\n", what, value);
  if (!card.origin.empty()) text += "\n" + card.origin;
  if (!card.command.empty()) text += "\n```\n" + card.command + "\n```\n";
  if (!card.use.empty()) text += "\n" + card.use;
  return text;
}

ModelCard converted_card(const ModelConfig& config, const Conversion& conversion) {
  const ParameterLayout layout(config);
  ModelCard card;
  card.title = config.has_decoder() ? "BigBird encoder and decoder" : "BigBird encoder";
  card.table = "model";
  const auto row = [&](const std::string& what, const std::string& value) {
    card.rows.emplace_back(what, value);
  };
  row("head", name_of(config.head));
  if (config.head == HeadType::structured_answers) row("scores of tokens; types", answer_scores_line(config));
  row("parameters",
      fmt::format("{}, stored as {}", layout.count(), tensor_type_name(conversion.written.type)));
  row("layers, width, heads, inner width",
      fmt::format("{}, {}, {}, {}", config.num_hidden_layers, config.hidden_size, config.num_attention_heads,
                  config.intermediate_size));
  if (config.has_decoder()) {
    row("layers, heads, inner width of the decoder",
        fmt::format("{}, {}, {}", config.decoder.num_hidden_layers, config.decoder.num_attention_heads,
                    config.decoder.intermediate_size));
  }
  row("attention", attention_line(config));
  row("full attention", full_attention_line(config));
  const std::string of_decoder = config.has_decoder() && config.decoder.positions > 0
                                     ? fmt::format("; of the decoder {}", config.decoder.positions)
                                     : "";
  row("positions", config.position_type == PositionType::rotary
                       ? fmt::format("rotary, the first {} of {} dimensions of a head", config.rotary_dim,
                                     config.head_size())
                   : config.position_type == PositionType::none
                       ? std::string("none, but labels of pairs")
                       : fmt::format("learned, {}", config.max_position_embeddings) + of_decoder);
  row("LayerNorm", norm_line(config));
  row("activation", find_name(activation_words, config.activation));
  row("vocabulary", fmt::format("{} pieces", config.vocab_size));
  if (!conversion.tokenizer.empty()) row("tokenizer", conversion.tokenizer);
  row("padded length", config.input_length > 0 ? fmt::format("{} tokens", config.input_length)
                                               : "the next multiple of the block size");
  card.origin = fmt::format("## Where it comes from\n\nConverted from `{}`:\n\n", conversion.source);
  for (const std::string& file : conversion.source_files) card.origin += "- " + file + "\n";
  for (const std::string& note : conversion.notes) card.origin += "- " + note + "\n";
  card.command = conversion.command;
  card.use =
      "## How to load it\n\nIn bigbird: `bigbird check FOLDER`, `bigbird info FOLDER`, `bigbird forward -m "
      "FOLDER -i IN.safetensors -o OUT.safetensors`.\n\n" +
      huggingface_text(config, conversion.written);
  return card;
}

}  // namespace bigbird
