// The fixed pattern of the Sparse Transformer against DeepSpeed's FixedSparsityConfig
// (tests/golden/neighbours/sparse_fixed.json), in the cases in which both mean the same: left to right with
// one summary block, both directions where the chunks come out whole.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/model/plans/patterns.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

TEST(SparseTransformer, S1ListsAreDeepSpeeds) {
  const auto cases = nlohmann::json::parse(
      testing::read_text(testing::source_dir() / "tests" / "golden" / "neighbours" / "sparse_fixed.json"));
  std::size_t causal = 0;
  for (const auto& of : cases) {
    const auto number = [&](const char* key) { return of.at(key).get<std::int64_t>(); };
    const auto rows = of.at("causal").get<bool>() ? sparse_fixed_causal_rows : sparse_fixed_rows;
    const SparseFixed fixed{number("chunk"), number("summary"), number("patterns")};
    EXPECT_EQ(rows(fixed, number("blocks"), number("heads"), 0), of.at("rows").get<KeyLists>())
        << of.dump().substr(0, 100);
    causal += of.at("causal").get<bool>() ? 1u : 0u;
  }
  EXPECT_EQ(causal, 17u);
  EXPECT_EQ(cases.size(), 25u);
}

}  // namespace
}  // namespace bigbird
