// Model folders, written and held against a tokenizer; see checkpoint.h. load_model.cpp reads them.
#include "lib/model_folder/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model/network/linear_layers.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model/quantization.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/int8_folder.h"
#include "lib/model_folder/longformer.h"
#include "lib/model_folder/roberta.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

// resize_token_embeddings(pad_to_multiple_of=...) is given 8 to 128.
constexpr std::int64_t most_padded_rows = 128;
constexpr std::int64_t padded_to = 8;

constexpr const char* shared_table = "bert.embeddings.word_embeddings.weight";

const char* torch_dtype(TensorType type) {
  if (type == TensorType::i8) return "int8";
  return type == TensorType::f16 ? "float16" : type == TensorType::bf16 ? "bfloat16" : "float32";
}

// One tensor's values in 16 bits.
std::vector<std::uint16_t> narrowed(const float* values, const TensorSpec& spec, TensorType type) {
  std::vector<std::uint16_t> result(static_cast<std::size_t>(spec.count));
  constexpr std::size_t part = 1 << 16;
  kernels::parallel_for((result.size() + part - 1) / part, [&](std::size_t index) {
    const std::size_t end = std::min(result.size(), (index + 1) * part);
    for (std::size_t i = index * part; i < end; ++i) {
      result[i] = type == TensorType::f16 ? float_to_float16(values[i]) : float_to_bfloat16(values[i]);
    }
  });
  if (type != TensorType::f16) return result;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if ((result[i] & 0x7fffu) == 0x7c00u && std::isfinite(values[i])) {
      throw_bad_input(fmt::format("tensor {} holds {}, beyond the range of fp16", spec.name, values[i]),
                      "write it as bf16 or fp32");
    }
  }
  return result;
}

// What modules of GENA-LM and esm keep beside parameters: angles of rotary positions, the layout of a plan.
struct ModuleBuffers {
  std::vector<std::vector<std::int64_t>> layouts;
  std::vector<float> angles;
};

// `name`: of the buffer in a layer's self-attention. Nothing where positions are not rotary.
void add_rotary_angles(const ModelConfig& config, const std::string& stack, const std::string& name,
                       ModuleBuffers& buffers, std::vector<TensorToWrite>& tensors) {
  if (config.position_type != PositionType::rotary) return;
  const auto base = static_cast<float>(config.rotary_base);
  for (std::int64_t i = 0; i < config.rotary_dim / 2; ++i) {  // in the modules' own arithmetic
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.rotary_dim);
    buffers.angles.push_back(1.0f / std::pow(base, exponent));
  }
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    tensors.push_back({fmt::format("{}.encoder.layer.{}.attention.self.{}", stack, layer, name),
                       TensorType::f32,
                       {config.rotary_dim / 2},
                       buffers.angles.data()});
  }
}

void add_layouts(const ModelConfig& config, ModuleBuffers& buffers, std::vector<TensorToWrite>& tensors) {
  if (config.plan == nullptr) return;
  const std::int64_t heads = config.num_attention_heads;
  buffers.layouts.resize(static_cast<std::size_t>(config.num_hidden_layers));
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string self = fmt::format("bert.encoder.layer.{}.attention.self.", layer);
    const std::int64_t blocks = config.plan->blocks();
    auto& layout = buffers.layouts[static_cast<std::size_t>(layer)];
    layout.assign(static_cast<std::size_t>(heads * blocks * blocks), 0);
    std::size_t row = 0;
    for (const PlanTable::Rows& rows : config.plan->rows(layer, blocks)) {
      for (const std::vector<std::int32_t>& keys : rows) {
        for (const std::int32_t key : keys) {
          std::int64_t& cell = layout[row * static_cast<std::size_t>(blocks) + static_cast<std::size_t>(key)];
          if (cell != 0) {
            throw_bad_input(fmt::format("layer {} of the plan lists block {} twice in one row", layer, key),
                            "a DeepSpeed layout has no place for this: write the hf form");
          }
          cell = 1;
        }
        ++row;
      }
    }
    tensors.push_back({self + "sparse_self_attention.master_layout",
                       TensorType::i64,
                       {heads, blocks, blocks},
                       layout.data()});
  }
}

}  // namespace

void write_model_files(const std::string& folder, const ModelConfig& of, const ParameterLayout& layout,
                       std::span<const float> parameters, const std::string& tokenizer_folder,
                       const std::string& model_card, const WriteOptions& options) {
  const bool gena = options.dialect == Dialect::gena, int8 = options.type == TensorType::i8;
  ModelConfig config = of;
  if (!int8) config.quantization = nullptr;
  const bool longformer = !gena && is_longformer_architecture(config);
  const bool esm = !gena && is_esm_architecture(config);
  const bool bert = !gena && is_bert_architecture(config);
  const bool roberta = bert && is_written_as_roberta(config);
  const Dialect dialect = longformer ? Dialect::longformer
                          : esm      ? Dialect::esm
                          : roberta  ? Dialect::roberta
                          : bert     ? Dialect::bert
                                     : options.dialect;
  const std::vector<std::string> int8_names = int8_weights(config);
  const std::string dtype = torch_dtype(options.type);
  write_text_atomic(folder + "/config.json",
                    gena ? gena_config_json(config, dtype, options.source.empty() ? folder : options.source)
                         : config_json(config, dtype));
  std::vector<TensorToWrite> tensors;
  std::vector<std::vector<std::uint16_t>> narrow;  // owns what is written in 16 bits
  std::deque<Int8Tensor> integers;                 // and this in 8
  ModuleBuffers buffers;
  std::vector<float> positions;  // of a Longformer, RoBERTa or esm, with the rows that its file has more
  for (TensorSpec spec : layout.tensors()) {
    if (bert && !has_bert_tensor(spec.name, config)) continue;
    const float* values = parameters.data() + spec.offset;
    if ((longformer || roberta || esm) && is_position_table(spec.name)) {
      positions = longformer_positions(values, spec.shape[0], config);
      values = positions.data();
      spec.count = static_cast<std::int64_t>(positions.size());
      spec.shape[0] = spec.count / spec.shape[1];
    }
    const void* data = values;
    if (int8) {
      const bool listed = std::find(int8_names.begin(), int8_names.end(), spec.name) != int8_names.end();
      if (!listed) {
        tensors.push_back({spec.name, TensorType::f32, spec.shape, data});
        continue;
      }
      const Int8Tensor& tensor = integers.emplace_back(int8_tensor(values, spec));
      tensors.push_back({spec.name, TensorType::i8, spec.shape, tensor.integers.data()});
      tensors.push_back({scales_name(spec.name), TensorType::f32, {spec.shape[0]}, tensor.scales.data()});
      continue;
    }
    if (options.type != TensorType::f32)
      data = narrow.emplace_back(narrowed(values, spec, options.type)).data();
    tensors.push_back({stored_name(spec.name, config, dialect), options.type, spec.shape, data});
    // Of an untied model bigbird_pegasus does not tie the tables of the stacks either, and transformers draws
    // what is missing. Those of led are one, tied or not.
    if (spec.name != shared_table || !config.has_decoder() || !config.has_own_output_table() ||
        is_led_architecture(config))
      continue;
    for (const char* copy : {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"})
      tensors.push_back({copy, options.type, spec.shape, data});
  }
  if (gena) {
    add_rotary_angles(config, "bert", "rotary_emb.inv_freq", buffers, tensors);
    add_layouts(config, buffers, tensors);
  }
  // What esm's class has beside the parts that are read, so that it loads without a warning.
  const std::int64_t maps = config.num_hidden_layers * config.num_attention_heads;
  const std::vector<float> contacts(static_cast<std::size_t>(esm ? maps : 0), 0.0f);
  if (esm) {
    add_rotary_angles(config, "esm", "rotary_embeddings.inv_freq", buffers, tensors);
    const std::string contact_head = "esm.contact_head.regression.";
    tensors.push_back({contact_head + "weight", TensorType::f32, {1, maps}, contacts.data()});
    tensors.push_back({contact_head + "bias", TensorType::f32, {1}, contacts.data()});
  }
  std::map<std::string, std::string> metadata = options.metadata;
  metadata.emplace("format", "pt");
  write_safetensors(folder + "/model.safetensors", tensors, metadata);
  if (config.plan != nullptr && !gena)
    write_text_atomic(folder + "/attention_plan.json", config.plan->json());
  write_text_atomic(folder + "/README.md", model_card);
  if (tokenizer_folder.empty()) return;
  if (gena) {  // of its own code, with its own tokenizer
    for (const std::string& name : tokenizer_files(tokenizer_folder)) {
      write_text_atomic(folder + "/" + name, read_file(tokenizer_folder + "/" + name));
    }
    return;
  }
  TokenizerFolderOptions tokenizer = options.tokenizer;
  tokenizer.positions = config.max_position_embeddings;
  write_tokenizer_files(tokenizer_folder, folder, tokenizer);
}

void leave_int8(LoadedModel& model) {
  if (model.config.quantization == nullptr) return;
  log_info(fmt::format("{} int8 layers are taken as the numbers that their integers mean",
                       model.config.quantization->int8.size()));
  model.config.quantization = nullptr;
}

void check_tokenizer_agrees(const ModelConfig& config, std::int64_t vocabulary_size,
                            const std::string& tokenizer_digest, const std::string& model_folder,
                            const std::string& tokenizer_folder) {
  const bool own = tokenizer_folder == model_folder;
  if (vocabulary_size > config.vocab_size) {
    throw_bad_input(
        fmt::format("{}: the tokenizer has {} pieces, the model in {} only {} rows for them",
                    tokenizer_folder, vocabulary_size, model_folder, config.vocab_size),
        own ? "tokens were added to the tokenizer after the weights were saved: in transformers, "
              "model.resize_token_embeddings(len(tokenizer)) and save_pretrained for both; or take the "
              "tokenizer without them"
            : "use the tokenizer in the model's own folder");
  }
  // Of the own tokenizer no more than there are pieces: with so many it is another one that was put there. Of
  // a tokenizer from elsewhere only what padding explains.
  const std::int64_t unused = config.vocab_size - vocabulary_size;
  const bool padded = unused < most_padded_rows && config.vocab_size % padded_to == 0;
  const bool explained = own ? unused <= vocabulary_size : unused == 0 || padded;
  if (!explained && config.tokenizer_digest != tokenizer_digest) {
    throw_bad_input(fmt::format("{}: the tokenizer has {} pieces, the model in {} was trained with {}",
                                tokenizer_folder, vocabulary_size, model_folder, config.vocab_size),
                    "use the tokenizer in the model's own folder");
  }
  if (!config.tokenizer_digest.empty() && !tokenizer_digest.empty() &&
      config.tokenizer_digest != tokenizer_digest) {
    throw_bad_input(
        fmt::format("{}: this tokenizer (sha256 {}...) is not the one of the model in {} (sha256 {}...)",
                    tokenizer_folder, tokenizer_digest.substr(0, 12), model_folder,
                    config.tokenizer_digest.substr(0, 12)),
        own ? "a tokenizer file in the folder was changed after training: put the one back that the model was "
              "trained with"
            : "use the tokenizer in the model's own folder");
  }
  if (unused > 0) {
    log_info_once(fmt::format("{}: {} rows of the vocabulary for {} pieces: the last {} have no piece",
                              model_folder, config.vocab_size, vocabulary_size, unused));
  }
}

}  // namespace bigbird
