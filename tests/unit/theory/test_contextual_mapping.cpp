// The universality proof run on every input of small sizes: exactly, in the reference's attention in fp64, in
// the program's in fp32, and with softmax; and what becomes of it without a star.
#include "lib/theory/contextual_mapping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/theory/mapping_attention.h"
#include "lib/theory/small_worlds.h"
#include "reference/attention.h"

namespace bigbird {
namespace {

const std::vector<MappingSize>& mapping_sizes() {
  static const std::vector<MappingSize> sizes{{2, 1, 2}, {3, 1, 2}, {4, 1, 2}, {2, 2, 2},
                                              {3, 1, 3}, {2, 2, 3}, {4, 1, 3}, {3, 2, 2}};
  return sizes;
}

ContextualMapping star_mapping(const MappingSize& size) {
  return contextual_mapping(size, star_graph(size.tokens));
}

GraphRows plan_of(const char* name, std::int64_t tokens) {
  for (const PlanAsGraph& plan : all_plans(tokens + 1, 1)) {
    if (plan.name == name) return plan.rows;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(ContextualMapping, TheExampleOfTwoTokens) {
  const ContextualMapping mapping = star_mapping({2, 1, 2});
  std::vector<std::string> ids;
  for (const auto& of_input : mapping.columns) {
    for (const Natural id : of_input) ids.push_back(steps_text(id, 2));
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"3272", "2582", "2952", "2329.5", "3023.5", "2386", "2703.5",
                                           "2133.5"}));
  ASSERT_EQ(mapping.layers.size(), 5u);
  EXPECT_EQ(steps_text(35, 3), "11 2/3");
  EXPECT_EQ(natural_text(0), "0");
}

TEST(ContextualMapping, U1AllIdsAreDistinctIn2nPlus1Layers) {
  for (const MappingSize& size : mapping_sizes()) {
    const ContextualMapping mapping = star_mapping(size);
    EXPECT_EQ(mapping.layers.size(), static_cast<std::size_t>(2 * size.tokens + 1));
    EXPECT_EQ(mapping.collisions(), 0) << size.tokens << " " << size.width << " " << size.grid;
    EXPECT_EQ(mapping.strays, 0) << size.tokens << " " << size.width << " " << size.grid;
  }
  EXPECT_EQ(star_mapping({3, 2, 2}).ids(), 192);
  EXPECT_EQ(bits_of(star_mapping({3, 2, 2}).greatest()), 49);
  EXPECT_EQ(bits_of(star_mapping({5, 1, 2}).greatest()), 62);
}

TEST(ContextualMapping, TheLastLayerIsNeeded) {
  EXPECT_EQ(contextual_mapping({2, 1, 2}, star_graph(2), false).collisions(), 2);
}

TEST(ContextualMapping, TheCentreMaySeeItself) {
  for (const MappingSize& size : mapping_sizes())
    EXPECT_EQ(contextual_mapping(size, plan_of("star", size.tokens)).columns, star_mapping(size).columns);
}

TEST(ContextualMapping, U2WithoutAStarIdsCollide) {
  EXPECT_FALSE(contains_star(graph_without_centre(3)));
  EXPECT_EQ(contextual_mapping({3, 1, 2}, graph_without_centre(3)).collisions(), 18);
  EXPECT_EQ(contextual_mapping({3, 1, 2}, plan_of("window", 3)).collisions(), 6);
  EXPECT_TRUE(contains_star(plan_of("bigbird", 3)));
  EXPECT_EQ(contextual_mapping({3, 1, 2}, plan_of("bigbird", 3)).collisions(), 0);
}

TEST(ContextualMapping, RandomEdgesDoNoHarm) {
  for (const MappingSize& size : {MappingSize{3, 1, 2}, MappingSize{4, 1, 2}, MappingSize{2, 2, 2}}) {
    bool any = false;
    for (std::uint64_t draw = 0; draw < 20; ++draw) {
      const GraphRows graph = with_random_edges(star_graph(size.tokens), .5, 1, draw);
      EXPECT_EQ(contextual_mapping(size, graph).collisions(), 0) << draw;
      EXPECT_EQ(graph, with_random_edges(star_graph(size.tokens), .5, 1, draw));
      any = any || graph != star_graph(size.tokens);
    }
    EXPECT_TRUE(any);
  }
}

TEST(ContextualMapping, U3FeedForwardLayersComputeEveryTable) {
  const TableCheck check = check_tables(star_mapping({2, 1, 2}));
  EXPECT_EQ(check.tables, 256);
  EXPECT_EQ(check.right, 256);
  // Two inputs with one id cannot have two outputs.
  EXPECT_LT(check_tables(contextual_mapping({2, 1, 2}, graph_without_centre(2))).right, 256);
}

TEST(ContextualMapping, U4SoftmaxComesCloseWithItsScale) {
  for (const MappingSize& size :
       {MappingSize{2, 1, 2}, MappingSize{3, 1, 2}, MappingSize{2, 2, 2}, MappingSize{2, 1, 9}}) {
    const ContextualMapping mapping = star_mapping(size);
    EXPECT_GT(softmax_error(mapping, .001), 1e-3);
    EXPECT_LT(softmax_error(mapping, 1000), 1e-6);
  }
}

// Each layer as two heads of the reference's attention, one row a block.
std::int64_t ids_by_reference(const ContextualMapping& mapping) {
  const std::size_t n = mapping.graph.size();
  reference::AttentionPlan plan(2);
  for (const auto& row : mapping.graph) {
    for (auto& head : plan) head.emplace_back(row.begin(), row.end());
  }
  const reference::AttentionShape shape{2, n, 1, 1, n, 0};
  std::int64_t right = 0;
  for (std::size_t input = 0; input < mapping.inputs.size(); ++input) {
    std::vector<double> f;
    for (const Natural value : mapping.inputs[input]) f.push_back(static_cast<double>(value));
    for (const SelectiveShift& shift : mapping.layers) {
      reference::Vector query, both;
      for (const Natural bound : {shift.low, shift.high}) {
        const double half_steps = bound == 0 ? -1 : static_cast<double>(bound);
        for (const double value : f) query.push_back(4096 * (value - half_steps / 2));
        both.insert(both.end(), f.begin(), f.end());
      }
      const reference::Vector seen = reference::attention_dense_forward(shape, plan, query, both, both);
      for (std::size_t i = 0; i < n; ++i) f[i] += static_cast<double>(shift.factor) * (seen[i] - seen[n + i]);
    }
    for (std::size_t i = 1; i < n; ++i)
      right += f[i] == static_cast<double>(mapping.columns[input][i - 1]) ? 1 : 0;
  }
  return right;
}

TEST(ContextualMapping, TheReferencesAttentionInFp64GivesTheIds) {
  for (const MappingSize& size : mapping_sizes()) {
    const ContextualMapping mapping = star_mapping(size);
    if (bits_of(mapping.greatest()) > 53) continue;
    EXPECT_EQ(ids_by_reference(mapping), mapping.ids())
        << size.tokens << " " << size.width << " " << size.grid;
  }
}

// fp32 holds the ids of two tokens of width 1, up to a step of 1/3; those of three tokens have 26 bits.
TEST(ContextualMapping, TheProgramsAttentionInFp32GivesTheIdsThatItCanHold) {
  const auto backend = kernels::make_cpu_backend();
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t, int>> held;
  std::vector<MappingSize> sizes = mapping_sizes();
  sizes.push_back({2, 1, 3});
  for (const MappingSize& size : sizes) {
    const ContextualMapping mapping = star_mapping(size);
    const int bits = bits_of(mapping.greatest());
    const std::int64_t right = ids_by_attention(mapping, *backend);
    if (bits > fp32_bits) continue;
    EXPECT_EQ(right, mapping.ids()) << size.tokens << " " << size.width << " " << size.grid;
    held.emplace_back(size.tokens, size.width, size.grid, bits);
  }
  EXPECT_EQ(held, (std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t, int>>{{2, 1, 2, 13},
                                                                                          {2, 1, 3, 21}}));
}

TEST(ContextualMapping, SizesBeyondItsMeansAreRefused) {
  const auto message = [](const MappingSize& size) {
    try {
      star_mapping(size);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(error.hint(), "");
      return error.message();
    }
    return std::string();
  };
  EXPECT_NE(message({17, 1, 2}).find("more than 65536 inputs"), std::string::npos) << message({17, 1, 2});
  EXPECT_NE(message({8, 1, 2}).find("more than 120 bits"), std::string::npos) << message({8, 1, 2});
}

}  // namespace
}  // namespace bigbird
