// Plans that were written down: JSON and DeepSpeed layouts, every refusal, and the cut for shorter sequences.
#include "lib/model/plans/plan_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;

// Two heads of three blocks.
const PlanTable::Heads two_heads{{{0, 1, 2}, {0, 1, 1}, {2, 0}}, {{0}, {1, 0}, {2, 2}}};

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return "accepted";
}

class PlanFile : public ::testing::Test {
 protected:
  PlanTable read(const std::string& text) {
    write_text_atomic(path(), text);
    return PlanTable::read(path());
  }
  std::string path() const { return (folder_ / "plan.json").string(); }
  // The refusal without the name of the file in front of it.
  std::string refused(const std::string& text) {
    const std::string message = refusal([&] { read(text); });
    EXPECT_EQ(message.find(path()), 0u) << message;
    return message.substr(std::min(message.size(), path().size()));
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(PlanFile, OneTableServesAllLayersAndSurvivesItsOwnJson) {
  const PlanTable plan(16, {two_heads}, "here");
  const PlanTable again = read(plan.json());
  EXPECT_EQ(again.block_size(), 16);
  EXPECT_EQ(again.layers(), 1);
  EXPECT_EQ(again.heads(), 2);
  EXPECT_EQ(again.blocks(), 3);
  EXPECT_EQ(again.rows(7, 3), two_heads);  // repeats kept
}

TEST_F(PlanFile, EveryLayerMayHaveItsOwn) {
  const PlanTable::Heads other{{{2}, {1}, {0}}, {{0}, {1}, {2}}};
  const PlanTable again = read(PlanTable(8, {two_heads, other}, "here").json());
  EXPECT_EQ(again.layers(), 2);
  EXPECT_EQ(again.rows(0, 3), two_heads);
  EXPECT_EQ(again.rows(1, 3), other);
}

TEST_F(PlanFile, WhatIsNoPlanIsRefusedByPlace) {
  EXPECT_NE(refused("[").find("not valid JSON"), std::string::npos);
  EXPECT_EQ(refused("[]"), ": not a JSON object");
  EXPECT_EQ(refused(R"({"heads": []})"), ": no whole number named block_size");
  EXPECT_EQ(refused(R"({"block_size": 4})"), ": no list named heads");
  EXPECT_EQ(refused(R"({"block_size": 4, "heads": [3]})"), ": head 0: no list named rows");
  EXPECT_EQ(refused(R"({"block_size": 4, "layers": [{"heads": 1}]})"), ": layer 0: no list named heads");
  EXPECT_EQ(refused(R"({"block_size": 4, "heads": [{"rows": [[0], 5]}]})"), ": head 0 row 1 is not a list");
  EXPECT_EQ(refused(R"({"block_size": 4, "heads": [{"rows": [[0], [1.5]]}]})"),
            ": head 0 row 1 holds 1.5, not a block number");
  EXPECT_EQ(refused(R"({"block_size": 4, "heads": [{"rows": [[-1]]}]})"),
            ": head 0 row 0 holds -1, not a block number");
  EXPECT_EQ(refused(R"({"block_size": 4, "heads": []})"), ": a plan without layers, heads or rows");
  EXPECT_EQ(refused(R"({"block_size": 0, "heads": [{"rows": [[0]]}]})"), ": block_size = 0");
  EXPECT_EQ(refused(R"({"block_size": 4, "heads": [{"rows": [[0], []]}]})"),
            ": layer 0 head 0 row 1 sees no block");
  EXPECT_EQ(refused(R"({"block_size": 4, "heads": [{"rows": [[0], [0, 2]]}]})"),
            ": layer 0 head 0 row 1 names block 2, outside 0..1");
  EXPECT_EQ(refused(R"({"block_size": 4, "heads": [{"rows": [[0], [1]]}, {"rows": [[0]]}]})"),
            ": layer 0 head 1 has 1 rows, not 2");
  EXPECT_EQ(refused(R"({"block_size": 4, "layers": [{"heads": [{"rows": [[0]]}]}, {"heads": []}]})"),
            ": layer 1 has 0 heads, layer 0 has 1");
}

TEST(PlanTable, AShorterSequenceTakesTheUpperLeftCorner) {
  const PlanTable plan(16, {two_heads}, "here");
  EXPECT_EQ(plan.rows(0, 2), (PlanTable::Heads{{{0, 1}, {0, 1, 1}}, {{0}, {1, 0}}}));
  EXPECT_EQ(refusal([&] { plan.rows(0, 4); }), "here: the plan is for 3 blocks, a sequence has 4");
  const PlanTable corner(16, {{{{2}, {1}, {0}}}}, "there");
  EXPECT_EQ(refusal([&] { corner.rows(0, 2); }),
            "there: layer 0 head 0 row 0 sees no block of a sequence of 2 blocks");
}

TEST(PlanTable, ADeepSpeedLayoutListsTheOnes) {
  const std::vector<std::int64_t> first{1, 0, 1,  //
                                        0, 1, 0,  //
                                        1, 1, 1};
  const std::vector<std::int64_t> second{0, 0, 1,  //
                                         1, 0, 0,  //
                                         0, 1, 0};
  std::vector<std::int64_t> layout = first;
  layout.insert(layout.end(), second.begin(), second.end());
  const PlanTable plan = PlanTable::from_layouts(64, {layout}, 2, 3, "weights");
  EXPECT_EQ(plan.block_size(), 64);
  EXPECT_EQ(plan.rows(5, 3), (PlanTable::Heads{{{0, 2}, {1}, {0, 1, 2}}, {{2}, {0}, {1}}}));
  EXPECT_EQ(PlanTable::from_layouts(64, {first, second}, 1, 3, "weights").rows(1, 3),
            (PlanTable::Heads{{{2}, {0}, {1}}}));
}

TEST(PlanTable, ALayoutThatIsNoneIsRefusedByPlace) {
  const auto from = [](const std::vector<std::vector<std::int64_t>>& layouts) {
    return refusal([&] { PlanTable::from_layouts(64, layouts, 1, 2, "weights"); });
  };
  EXPECT_EQ(from({{1, 0, 0, 1}, {1, 0, 0}}), "weights: the layout of layer 1 has 3 values, not 1 x 2 x 2");
  EXPECT_EQ(from({{1, 0, 2, 1}}),
            "weights: the layout of layer 0 holds 2 at head 0 row 1 column 0, not 0 or 1");
  EXPECT_EQ(from({{1, 1, 0, 0}}), "weights: layer 0 head 0 row 1 sees no block");
  EXPECT_EQ(from({}), "weights: a plan without layers, heads or rows");
}

}  // namespace
}  // namespace bigbird
