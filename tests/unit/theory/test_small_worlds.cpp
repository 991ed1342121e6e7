// Random graphs and plans: formulas, what other programs measured, and brute force.
#include "lib/theory/small_worlds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace bigbird {
namespace {

constexpr double close = 1e-9;

std::int64_t edges_of(const GraphRows& rows) {
  std::int64_t ends = 0;
  for (const auto& row : rows) ends += static_cast<std::int64_t>(row.size());
  return ends / 2;
}

TEST(SmallWorlds, Y1RingsAreAsTheirFormulas) {
  for (const std::int64_t n : {16, 64, 256}) {
    for (const std::int64_t w : {4, 8}) {
      const TokenGraph plain = measured_plainly(ring_graph(n, w), 1);
      EXPECT_NEAR(plain.clustering, ring_clustering(w), close);
      EXPECT_NEAR(plain.gap, ring_gap(n, w), close);
      EXPECT_LT(largest_difference(plain, token_graph(ring_graph(n, w), 1)), close);
    }
  }
}

// Means over 20 draws with networkx and numpy at 256 nodes of degree 8; draws of another generator.
TEST(SmallWorlds, Y2RandomGraphsAreAsOtherProgramsFoundThem) {
  struct Known {
    double beta, path, clustering, gap;
  };
  constexpr int draws = 20;
  for (const Known& known :
       {Known{0, 16.44, .643, .0023}, Known{.01, 7.68, .626, .0056}, Known{.1, 3.86, .472, .057},
        Known{.3, 3.17, .238, .175}, Known{1, 2.88, .027, .359}, Known{-1, 2.89, .032, .355}}) {
    double path = 0, clustering = 0, gap = 0;
    for (std::uint64_t draw = 0; draw < draws; ++draw) {
      const GraphRows rows = known.beta < 0 ? erdos_renyi_graph(256, 8.0 / 255, 1, draw)
                                            : watts_strogatz_graph(256, 8, known.beta, 1, draw);
      const bool rewired = known.beta >= 0;  // which changes no number of edges
      EXPECT_TRUE(!rewired || edges_of(rows) == 1024);
      const TokenGraph graph = token_graph(rows, 1);
      path += graph.mean_path / draws;
      clustering += graph.clustering / draws;
      gap += graph.gap / draws;
    }
    EXPECT_NEAR(path, known.path, .1 * known.path) << known.beta;
    EXPECT_NEAR(clustering, known.clustering, .1 * known.clustering) << known.beta;
    EXPECT_NEAR(gap, known.gap, known.gap * (known.beta == .01 ? .3 : .12)) << known.beta;
  }
}

TEST(SmallWorlds, DrawsAreFunctionsOfTheirNumber) {
  EXPECT_EQ(watts_strogatz_graph(64, 6, .3, 1, 2), watts_strogatz_graph(64, 6, .3, 1, 2));
  EXPECT_NE(watts_strogatz_graph(64, 6, .3, 1, 2), watts_strogatz_graph(64, 6, .3, 1, 3));
  EXPECT_NE(erdos_renyi_graph(64, .1, 1, 2), erdos_renyi_graph(64, .1, 2, 2));
}

TEST(SmallWorlds, Y3EveryPlanIsAsBruteForceMeasuresIt) {
  std::set<std::string> names;
  for (const std::int64_t block : {1, 3, 4}) {
    for (const PlanAsGraph& plan : all_plans(14, block)) {
      names.insert(plan.name);
      EXPECT_LT(largest_difference(token_graph(plan.rows, plan.block_size),
                                   measured_plainly(plan.rows, plan.block_size)),
                close)
          << plan.name << " " << block;
      EXPECT_LT(largest_difference(token_graph(plan.blocks, 1), measured_plainly(plan.blocks, 1)), close)
          << plan.name;
    }
  }
  EXPECT_EQ(names.size(), attention_systems().size());
}

// Erdos-Renyi graphs with n ln n edges have paths of ln n / ln k, and a gap as random graphs have.
TEST(SmallWorlds, Y4RandomGraphsHaveShortPathsAndAWideGap) {
  for (const std::int64_t n : {64, 256, 1024}) {
    const auto nodes = static_cast<double>(n);
    const double degree = 2 * std::log(nodes), p = degree / (nodes - 1);
    for (std::uint64_t draw = 0; draw < 20; ++draw) {
      const TokenGraph graph = token_graph(erdos_renyi_graph(n, p, 1, draw), 1);
      if (graph.unreachable_pairs > 0) continue;
      const double ratio = graph.mean_path / (std::log(nodes) / std::log(degree));
      EXPECT_GT(ratio, .8) << n << " " << draw;
      EXPECT_LT(ratio, 1.2) << n << " " << draw;
      EXPECT_GE(graph.gap, 1 - 3 / std::sqrt(degree)) << n << " " << draw;
    }
  }
}

}  // namespace
}  // namespace bigbird
