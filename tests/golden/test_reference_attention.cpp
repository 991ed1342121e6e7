// Both attention oracles against the published five-part computation, recorded in
// block_sparse_attention.json.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "reference/attention.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace reference;
using nlohmann::json;

// Nested arrays (heads, length, head size), laid out row-major.
Vector flattened(const json& nested) {
  Vector result;
  for (const json& head : nested) {
    for (const json& row : head) {
      for (const json& value : row) result.push_back(value.get<double>());
    }
  }
  return result;
}

TEST(GoldenAttention, BothOraclesReproduceEveryCase) {
  const json golden =
      json::parse(testing::read_text(testing::source_dir() / "tests/golden/block_sparse_attention.json"));
  ASSERT_EQ(golden.at("cases").size(), 7u);
  for (const json& one : golden.at("cases")) {
    const std::size_t blocks = one.at("n_blocks");
    const AttentionPlan plan = itc_plan(blocks, one.at("rand_attn").get<AttentionPlan>());
    for (std::size_t row = 0; row < one.at("B").get<std::size_t>(); ++row) {
      const AttentionShape shape{one.at("H"), blocks, one.at("block"), one.at("D"), one.at("lens").at(row)};
      const Vector q = flattened(one.at("q").at(row));
      const Vector k = flattened(one.at("k").at(row));
      const Vector v = flattened(one.at("v").at(row));
      const Vector expected = flattened(one.at("out").at(row));
      const Vector dense = attention_dense_forward(shape, plan, q, k, v);
      const Vector folded = attention_blocks_forward(shape, plan, q, k, v).output;
      ASSERT_EQ(dense.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(dense[i], expected[i], 1e-9) << blocks << " blocks, element " << i;
        ASSERT_NEAR(folded[i], expected[i], 1e-9) << blocks << " blocks, element " << i;
      }
    }
  }
}

TEST(GoldenAttention, TheCopiesHereEqualTheSharedFiles) {
  BIGBIRD_REQUIRE_SHARED();
  for (const char* name : {"block_sparse_attention.json", "random_plans.json"}) {
    EXPECT_TRUE(testing::read_text(*testing::shared_dir() / "golden" / name) ==
                testing::read_text(testing::source_dir() / "tests/golden" / name))
        << name;
  }
}

}  // namespace
}  // namespace bigbird
