// Folders of Compressive Transformer: there and back with every compression, and files that are refused.
#include <gtest/gtest.h>

#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/options_json.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

ModelConfig compressive_folder_config(const CompressiveOptions& options) {
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
  config.attention = AttentionPattern::compressive;
  config.attention_options.recurrent.memory = 7;
  config.attention_options.compressive = options;
  become_recurrent(config);
  return config;
}

TEST(CompressiveFolder, G8ThereAndBack) {
  for (const Compression how : {Compression::conv, Compression::dilated, Compression::mean, Compression::max,
                                Compression::most_used}) {
    const ModelConfig config = compressive_folder_config({.compressed = 9, .rate = 3, .compression = how});
    const ParameterLayout layout(config);
    const std::size_t learned = how == Compression::conv ? 2 : how == Compression::dilated ? 6 : 0;
    std::size_t tensors = 0;
    for (const TensorSpec& spec : layout.tensors())
      tensors += spec.name.starts_with("bert.encoder.layer.1.attention.self.compression") ? 1u : 0u;
    EXPECT_EQ(tensors, learned);
    CounterRng random(3, Purpose::test, 1);
    std::vector<float> values(static_cast<std::size_t>(layout.count()));
    for (float& value : values) value = static_cast<float>(random.normal());
    const testing::TemporaryFolder folder;
    write_model_files(folder.path().string(), config, layout, values, "", "# card\n");
    const LoadedModel loaded = load_model(folder.path().string(), LoadOptions{});
    EXPECT_EQ(loaded.parameters, values);
    EXPECT_EQ(loaded.config.attention, config.attention);
    EXPECT_EQ(loaded.config.attention_options, config.attention_options);
    EXPECT_EQ(config_json(loaded.config), config_json(config));
    EXPECT_NE(read_file(folder / "config.json").find("\"bigbird_extended\""), std::string::npos);
  }
}

TEST(CompressiveFolder, G8RefusesByFileAndKey) {
  ModelConfig config = compressive_folder_config({});
  const auto refused = [&](const std::string& json, const std::string& what) {
    expect_bad_input(error_of([&] { read_attention_options(json, "config.json", config); }), "config.json",
                     what);
  };
  refused(R"({"memory": 4, "clamp": 3})", "clamp: attention compressive has no such option");
  refused(R"({"compressed": 0})", "compressed");
  refused(R"({"rate": 0})", "rate");
  refused(R"({"compression": "sum"})", "compression");
}

}  // namespace
}  // namespace bigbird
