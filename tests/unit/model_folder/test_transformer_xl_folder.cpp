// Folders of Transformer-XL: there and back with every option, int8 too, and files that are refused.
#include <gtest/gtest.h>

#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "lib/model/network/linear_layers.h"
#include "lib/model/network/validate_config.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/options_json.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

ModelConfig xl_folder_config(const RecurrentOptions& options) {
  ModelConfig config;
  config.vocab_size = 20;
  config.hidden_size = 8;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 12;
  config.max_position_embeddings = 32;
  config.block_size = 4;
  config.sep_token_id = 2;
  config.head = HeadType::causal_lm;
  config.attention = AttentionPattern::transformer_xl;
  config.attention_options.recurrent = options;
  become_recurrent(config);
  return config;
}

TEST(TransformerXlFolder, G8ThereAndBack) {
  for (const RecurrentOptions& options :
       {RecurrentOptions{.memory = 17},
        RecurrentOptions{.memory = 3, .clamp = 9, .same_length = true, .untie = true}}) {
    const ModelConfig config = xl_folder_config(options);
    const ParameterLayout layout(config);
    CounterRng random(3, Purpose::test, 1);
    std::vector<float> values(static_cast<std::size_t>(layout.count()));
    for (float& value : values) value = static_cast<float>(random.normal());
    const testing::TemporaryFolder folder;
    write_model_files(folder.path().string(), config, layout, values, "", "# card\n");
    const LoadedModel loaded = load_model(folder.path().string(), LoadOptions{});
    EXPECT_EQ(loaded.parameters, values);
    EXPECT_EQ(loaded.config.attention, config.attention);
    EXPECT_EQ(loaded.config.attention_options, config.attention_options);
    EXPECT_EQ(loaded.config.position_type, PositionType::none);
    EXPECT_EQ(loaded.config.embedding_norm, EmbeddingNorm::none);
    EXPECT_EQ(loaded.config.type_vocab_size, 0);
    EXPECT_EQ(loaded.config.layer_norm_eps, 1e-5);
    EXPECT_EQ(loaded.config.activation, Activation::relu);
    EXPECT_TRUE(loaded.config.causal && loaded.config.rescale_embeddings);
    EXPECT_FALSE(loaded.config.use_bias || loaded.config.output_bias);
    EXPECT_EQ(config_json(loaded.config), config_json(config));
    EXPECT_NE(read_file(folder / "config.json").find("\"bigbird_extended\""), std::string::npos);
  }
}

TEST(TransformerXlFolder, G8RefusesByFileAndKey) {
  ModelConfig config = xl_folder_config({});
  const auto refused = [&](const std::string& json, const std::string& what) {
    expect_bad_input(error_of([&] { read_attention_options(json, "config.json", config); }), "config.json",
                     what);
  };
  refused(R"({"memory": 4, "window": 3})", "window: attention transformer-xl has no such option");
  refused(R"({"memory": -1})", "memory");
  refused(R"({"untie": "both"})", "untie");
}

// Every weight of a layer's products is one of an int8 layer's, each once.
TEST(TransformerXlFolder, LinearLayersAreTheLayouts) {
  const ModelConfig config = xl_folder_config({});
  const ParameterLayout layout(config);
  for (const LinearLayer& layer : linear_layers(config)) {
    std::int64_t count = 0;
    const std::int64_t first = layout.offset(layer.weights.front());
    for (const std::string& name : layer.weights) {
      EXPECT_EQ(layout.offset(name), first + count) << name;
      count += layout.find(name)->count;
    }
    EXPECT_EQ(count, layer.in * layer.out) << layer.name;
  }
  EXPECT_EQ(linear_layers(config).size(), 12u);
  EXPECT_EQ(layout.offset("bert.encoder.position_bias") - layout.offset("bert.encoder.content_bias"), 8);
}

}  // namespace
}  // namespace bigbird
