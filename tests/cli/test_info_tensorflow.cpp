// `bigbird info` on a checkpoint of TensorFlow: its tensors, by prefix and by index, and what is wrong with
// one.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/support.h"
#include "tests/support/tensorflow_bytes.h"

namespace bigbird {
namespace {

using testing::run_bigbird;
using testing::RunResult;

TEST(InfoTensorFlow, ListsTheTensors) {
  const std::string prefix = testing::source_dir() / "tests/golden/tensorflow/saver";
  for (const std::string& path : {prefix, prefix + ".index", prefix + ".data-00000-of-00001"}) {
    const RunResult told = run_bigbird({"info", "--json", path});
    ASSERT_EQ(told.status, 0) << told.err;
    const auto json = nlohmann::json::parse(told.out);
    EXPECT_EQ(json["kind"], "checkpoint of TensorFlow");
    EXPECT_EQ(json["tensors"], 12);
    EXPECT_EQ(json["types_and_shapes"]["etc_document_bert/token_emb_lookup/embedding_table"], "F32 7 4");
    EXPECT_EQ(json["types_and_shapes"]["global_step"], "I64");
    EXPECT_EQ(json["types_and_shapes"].size(), 12u) << "long names are whole";
  }
}

TEST(InfoTensorFlow, ACutFileIsOneLine) {
  const testing::TemporaryFolder folder;
  const std::string prefix = folder / "model.ckpt";
  testing::write_bundle(prefix, {testing::float_tensor("a", {2}, {1, 2})});
  testing::write_text(prefix + ".data-00000-of-00001", "12345");
  const RunResult refused = run_bigbird({"info", prefix});
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_NE(refused.err.find("model.ckpt.data-00000-of-00001: cut short: tensor a has 8 bytes at byte 0"),
            std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("hint: "), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace bigbird
