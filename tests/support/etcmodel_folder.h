// A folder as etcmodel (google-research) leaves it: etc_config.json beside a checkpoint of TensorFlow, with
// its names, its matrices as [in, out], and what an optimizer keeps.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/network/layout.h"
#include "lib/model_folder/etc_checkpoint.h"
#include "tests/support/support.h"
#include "tests/support/tensorflow_bytes.h"

namespace bigbird::testing {

// config: of one encoder without a head, nothing shared but the feed-forward parts; parameters in its layout.
inline void write_etcmodel(const std::filesystem::path& folder, const ModelConfig& config,
                           const std::vector<float>& parameters) {
  std::vector<BundleTensor> file;
  const ParameterLayout layout(config);
  for (const TensorSpec& spec : layout.tensors()) {
    const std::string variable = etc_variable_name(spec.name).value();
    std::vector<float> tensor(parameters.begin() + spec.offset,
                              parameters.begin() + spec.offset + spec.count);
    std::vector<std::int64_t> shape = spec.shape;
    if (variable.ends_with("/kernel")) {
      for (std::int64_t in = 0; in < shape[1]; ++in) {
        for (std::int64_t out = 0; out < shape[0]; ++out)
          tensor[static_cast<std::size_t>(in * shape[0] + out)] =
              parameters[static_cast<std::size_t>(spec.offset + out * shape[1] + in)];
      }
      std::swap(shape[0], shape[1]);
    }
    file.push_back(float_tensor(variable, shape, tensor));
  }
  file.push_back(float_tensor("etc_document_bert/token_emb_lookup/embedding_table/adam_m", {1}, {0}));
  std::sort(file.begin(), file.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  write_bundle((folder / "model.ckpt").string(), file);
  const EtcOptions& options = config.attention_options.etc;
  write_text(
      folder / "etc_config.json",
      fmt::format(
          R"({{"vocab_size": {}, "hidden_size": {}, "num_hidden_layers": {}, "num_attention_heads": {},
"intermediate_size": {}, "local_radius": {}, "relative_pos_max_distance": {}, "relative_vocab_size": {},
"share_qkv_projections": false, "use_hard_g2l_mask": {}}})",
          config.vocab_size, config.hidden_size, config.num_hidden_layers, config.num_attention_heads,
          config.intermediate_size, options.radius, options.distance, etc_labels(options), options.hard_g2l));
}

}  // namespace bigbird::testing
