// Weights by folder: which file wins, shards and their index, and folders that hold something else.
#include "lib/io/weights/weight_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include <string>
#include <vector>

#include "lib/core/log.h"
#include "lib/io/weights/safetensors.h"
#include "tests/support/support.h"
#include "tests/support/torch_bytes.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::torch_bytes;

class WeightFilesTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_.path().string(); }
  std::string file(const std::string& name) const { return folder_ / name; }
  void text(const std::string& name, const std::string& bytes) { testing::write_text(file(name), bytes); }
  void safetensors(const std::string& name, const std::vector<std::pair<std::string, float>>& scalars) {
    std::vector<TensorToWrite> tensors;
    for (const auto& [tensor, value] : scalars) tensors.push_back({tensor, TensorType::f32, {1}, &value});
    write_safetensors(file(name), tensors);
  }
  void expect_refused(const std::string& place, const std::string& what) {
    expect_bad_input(error_of([&] { WeightFiles weights(path()); }), place, what);
  }
  static float value(const WeightFiles& weights, const std::string& name) {
    float result = 0;
    read_floats(*weights.find(name), {&result, 1});
    return result;
  }
  // Two shards, a in the first and b in the second.
  void write_shards(const std::string& weight_map) {
    safetensors("model-00001-of-00002.safetensors", {{"a", 1.0f}});
    safetensors("model-00002-of-00002.safetensors", {{"b", 2.0f}});
    text("model.safetensors.index.json",
         R"({"metadata": {"total_size": 8}, "weight_map": )" + weight_map + "}");
  }
  static constexpr const char* right_map =
      R"({"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"})";

  testing::TemporaryFolder folder_;
};

TEST_F(WeightFilesTest, SafetensorsWinsOverPickleAndOneLineSaysSo) {
  text("pytorch_model.bin", torch_bytes({{"a", {1}, {2}}}));
  EXPECT_EQ(value(WeightFiles(path()), "a"), 2.0f);
  safetensors("model.safetensors", {{"a", 1.0f}});
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, const std::string& line) { lines.push_back(line); });
  const WeightFiles weights(path());
  set_log_sink(nullptr);
  EXPECT_EQ(value(weights, "a"), 1.0f);
  EXPECT_EQ(weights.path(), file("model.safetensors"));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("pytorch_model.bin next to it is not"), std::string::npos) << lines[0];
}

TEST_F(WeightFilesTest, ShardsAreOneSetOfTensors) {
  write_shards(right_map);
  const WeightFiles weights(path());
  EXPECT_EQ(weights.tensors().size(), 2u);
  EXPECT_EQ(weights.files().size(), 3u);
  EXPECT_EQ(value(weights, "a"), 1.0f);
  EXPECT_EQ(value(weights, "b"), 2.0f);
  EXPECT_EQ(weights.find("c"), nullptr);
}

TEST_F(WeightFilesTest, PickledShardsToo) {
  text("x.bin", torch_bytes({{"a", {1}, {5}}}));
  text("pytorch_model.bin.index.json", R"({"weight_map": {"a": "x.bin"}})");
  EXPECT_EQ(value(WeightFiles(path()), "a"), 5.0f);
}

TEST_F(WeightFilesTest, AnIndexThatDisagreesIsRefused) {
  write_shards(R"({"a": "model-00002-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"})");
  expect_refused("index.json", "tensor a is not in shard");
  write_shards(R"({"a": "model-00002-of-00002.safetensors", "b": "model-00001-of-00002.safetensors"})");
  expect_refused("index.json", "tensor a is in");
  write_shards(R"({"b": "model-00002-of-00002.safetensors", "c": "model-00001-of-00002.safetensors"})");
  expect_refused("index.json", "the index does not list it");
  write_shards(R"({"a": "nowhere.safetensors"})");
  expect_refused("index.json", "shard nowhere.safetensors is missing");
  write_shards(R"({"a": "../x.safetensors"})");
  expect_refused("index.json", "'../x.safetensors' is not the name of a shard");
  write_shards(R"({"a": ".."})");
  expect_refused("index.json", "is not the name of a shard");
  write_shards(R"({"a": 1})");
  expect_refused("index.json", "the shard of tensor a is not text");
  write_shards(R"({"a": "x", "a": "y"})");
  expect_refused("index.json", "a is listed twice");
  write_shards("{}");
  expect_refused("index.json", "no weight_map");
  write_shards(std::string(50, '['));
  expect_refused("index.json", "nested too deeply");
  text("model.safetensors.index.json", "{");
  expect_refused("index.json", "not valid JSON");
}

TEST_F(WeightFilesTest, ATensorInTwoShardsIsRefused) {
  write_shards(right_map);
  safetensors("model-00002-of-00002.safetensors", {{"a", 1.0f}, {"b", 2.0f}});
  expect_refused("model-00002-of-00002.safetensors", "tensor a is in");
}

TEST_F(WeightFilesTest, WhatIsThereInsteadIsNamed) {
  expect_refused(path(), "no weights");
  text("model.ckpt-500000.index", "");
  expect_refused("model.ckpt-500000.index", "TensorFlow are not read");
  text("pytorch_model.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n");
  expect_refused("pytorch_model.bin", "a Git LFS pointer");
}

TEST_F(WeightFilesTest, FlaxAndKerasWeightsSayHowToConvert) {
  text("flax_model.msgpack", "");
  const auto error = error_of([&] { WeightFiles weights(path()); });
  expect_bad_input(error, "flax_model.msgpack", "Flax are not read");
  EXPECT_NE(error->hint().find("from_flax=True"), std::string::npos) << error->hint();
}

TEST_F(WeightFilesTest, OtherFormsAreNamedByTheirFiles) {
  for (const char* name : {"adapter_model.safetensors", "model.onnx", "model.gguf", "last.ckpt",
                           "weights.pth", "flax_model.msgpack.index.json", "tf_model.h5", "rust_model.ot"}) {
    text(name, "x");
    const auto error = error_of([&] { WeightFiles weights(path()); });
    expect_bad_input(error, name, "");
    EXPECT_FALSE(error->hint().empty()) << name;
    EXPECT_EQ(error->hint().find("{}"), std::string::npos) << error->hint();
    std::filesystem::remove(path() + "/" + name);
  }
}

TEST_F(WeightFilesTest, AnIndexOfManyObjectsIsRefusedBeforeTheyAreRead) {
  std::string index = "{\"weight_map\":{\"a\":\"x\"";
  for (int i = 0; i < 500'000; ++i) index += ",\"" + std::to_string(i) + "\":{}";
  text("model.safetensors.index.json", index + "}}");
  expect_refused("model.safetensors.index.json", "too many objects");
}

}  // namespace
}  // namespace bigbird
