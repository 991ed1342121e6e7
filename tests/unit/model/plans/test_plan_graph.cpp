// Graphs of tokens: closed forms, networkx and numpy (tests/golden/neighbours/graphs.json), and every pair of
// tokens counted.
#include "lib/model/plans/plan_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "lib/core/eigenvalues.h"
#include "lib/core/rng.h"
#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/patterns.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using BlockRows = std::vector<std::vector<std::int32_t>>;

constexpr double close = 1e-9;

// A ring in which each of n nodes has the w nearest, w even.
BlockRows ring(std::int64_t n, std::int64_t w) {
  BlockRows rows(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t t = 1; t <= w / 2; ++t)
      rows[static_cast<std::size_t>(i)].push_back(static_cast<std::int32_t>((i + t) % n));
  }
  return rows;
}

TEST(Graphs, Y1RingsHaveTheirClosedForms) {
  for (const std::int64_t n : {16, 64, 200, 512}) {
    for (const std::int64_t w : {2, 4, 8, 16}) {
      if (3 * w / 2 >= n) continue;  // neighbours would meet around the other side
      const TokenGraph graph = token_graph(ring(n, w), 1);
      const double degree = static_cast<double>(w);
      double second = 0;
      for (std::int64_t t = 1; t <= w / 2; ++t)
        second +=
            2 / degree * std::cos(2 * std::numbers::pi * static_cast<double>(t) / static_cast<double>(n));
      EXPECT_NEAR(graph.mean_degree, degree, close);
      EXPECT_NEAR(graph.clustering, 3 * (degree - 2) / (4 * (degree - 1)), close) << n << " " << w;
      EXPECT_NEAR(graph.gap, 1 - second, close) << n << " " << w;
      EXPECT_EQ(graph.unreachable_pairs, 0);
    }
  }
}

TEST(Graphs, Y1CompleteGraphs) {
  for (const std::int64_t n : {2, 7, 64}) {
    BlockRows rows(static_cast<std::size_t>(n));
    for (auto& row : rows) {
      row.resize(static_cast<std::size_t>(n));
      std::iota(row.begin(), row.end(), 0);
    }
    for (const std::int64_t b : {1, 5}) {
      const auto tokens = static_cast<double>(n * b);
      const TokenGraph graph = token_graph(rows, b);
      EXPECT_NEAR(graph.gap, tokens / (tokens - 1), close);
      EXPECT_NEAR(graph.mean_path, 1, close);
      EXPECT_NEAR(graph.clustering, tokens > 2 ? 1 : 0, close);
    }
  }
}

TEST(Graphs, Y2NetworkxAndNumpySayTheSame) {
  const auto graphs = nlohmann::json::parse(
      testing::read_text(testing::source_dir() / "tests" / "golden" / "neighbours" / "graphs.json"));
  std::size_t of_blocks = 0;
  for (const auto& of : graphs) {
    const std::int64_t block = of.value("block", std::int64_t{1});
    BlockRows rows(of.at("nodes").get<std::size_t>());
    if (of.contains("rows")) {
      rows = of.at("rows").get<BlockRows>();
      of_blocks += block > 1 ? 1 : 0;
    } else {
      for (const auto& edge : of.at("edges"))
        rows[edge[0].get<std::size_t>()].push_back(edge[1].get<std::int32_t>());
    }
    const TokenGraph graph = token_graph(rows, block);
    const double second = of.at("second").get<double>(), least = of.at("least").get<double>();
    EXPECT_NEAR(graph.clustering, of.at("clustering").get<double>(), close) << of.at("name");
    EXPECT_NEAR(graph.mean_path, of.at("mean_path").get<double>(), close) << of.at("name");
    EXPECT_NEAR(graph.gap, 1 - second, close) << of.at("name");
    EXPECT_NEAR(graph.two_sided_gap, 1 - std::max(std::abs(second), std::abs(least)), close) << of.at("name");
  }
  EXPECT_EQ(graphs.size(), 10u);
  EXPECT_EQ(of_blocks, 3u);
}

// The product's plans at 4,096 tokens, by another program once.
TEST(Graphs, Y2PlansHaveTheMeasuredClusteringAndGap) {
  struct Plan {
    AttentionPattern attention;
    RandomMode mode;
    double clustering, gap;
  };
  for (const Plan& plan : {Plan{AttentionPattern::bigbird, RandomMode::google, .682, .497},
                           Plan{AttentionPattern::window, RandomMode::google, .781, .0008},
                           Plan{AttentionPattern::random, RandomMode::google, .454, .266},
                           Plan{AttentionPattern::window_random, RandomMode::google, .395, .367},
                           Plan{AttentionPattern::bigbird, RandomMode::hf_eval, .896, .403}}) {
    ModelConfig config;
    config.attention = plan.attention;
    config.random_mode = plan.mode;
    const TokenGraph graph = token_graph(plan_rows(config, 0, 64, false)[0], 64);
    EXPECT_NEAR(graph.clustering, plan.clustering, 6e-4) << name_of(plan.attention);
    EXPECT_NEAR(graph.gap, plan.gap, 6e-4) << name_of(plan.attention);
  }
}

// Of every pair of tokens whether it is an edge, and all measures of that matrix, plainly.
TokenGraph counted(const BlockRows& rows, std::int64_t block) {
  const std::size_t b = static_cast<std::size_t>(block), n = rows.size() * b;
  std::vector<std::vector<bool>> edge(n, std::vector<bool>(n, false));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const auto sees = [&](std::size_t from, std::size_t to) {
        const auto& row = rows[from / b];
        return std::find(row.begin(), row.end(), static_cast<std::int32_t>(to / b)) != row.end();
      };
      edge[i][j] = i != j && (i / b == j / b || sees(i, j) || sees(j, i));
    }
  }
  TokenGraph graph;
  std::vector<double> degree(n, 0), matrix(n * n, 0);
  for (std::size_t i = 0; i < n; ++i)
    degree[i] = static_cast<double>(std::count(edge[i].begin(), edge[i].end(), true));
  double paths = 0, reached = 0;
  for (std::size_t i = 0; i < n; ++i) {
    graph.mean_degree += degree[i] / static_cast<double>(n);
    double links = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (edge[i][j]) matrix[i * n + j] = 1 / std::sqrt(degree[i] * degree[j]);
      for (std::size_t k = 0; k < j; ++k) links += edge[i][j] && edge[i][k] && edge[j][k] ? 1 : 0;
    }
    if (degree[i] >= 2)
      graph.clustering += 2 * links / (degree[i] * (degree[i] - 1)) / static_cast<double>(n);
    std::vector<int> distance(n, -1);
    distance[i] = 0;
    std::vector<std::size_t> queue{i};
    for (std::size_t at = 0; at < queue.size(); ++at) {
      for (std::size_t next = 0; next < n; ++next) {
        if (!edge[queue[at]][next] || distance[next] >= 0) continue;
        distance[next] = distance[queue[at]] + 1;
        paths += distance[next];
        reached += 1;
        queue.push_back(next);
      }
    }
  }
  graph.mean_path = paths / reached;
  graph.unreachable_pairs = static_cast<std::int64_t>(static_cast<double>(n * (n - 1)) - reached) / 2;
  const std::vector<double> values = symmetric_eigenvalues(matrix, n);
  graph.gap = 1 - values[n - 2];
  graph.two_sided_gap = 1 - std::max(std::abs(values[n - 2]), std::abs(values[0]));
  return graph;
}

TEST(Graphs, Y3TokensFromBlocksAreWhatCountingThemGives) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    for (const std::int64_t block : {1, 2, 3, 4, 5}) {
      CounterRng rng(seed, Purpose::test, static_cast<std::uint64_t>(block));
      BlockRows rows(7 + seed);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        // One seed in two leaves the last block to itself, where it has other tokens for company.
        const bool alone = seed % 2 == 1 && block > 1;
        const auto others = static_cast<std::int64_t>(rows.size()) - (alone ? 1 : 0);
        if (alone && static_cast<std::int64_t>(i) == others) continue;
        rows[i] = {static_cast<std::int32_t>((static_cast<std::int64_t>(i) + 1) % others)};
        for (int draw = 0; draw < 2; ++draw)
          rows[i].push_back(static_cast<std::int32_t>(rng.between(0, others - 1)));
      }
      const TokenGraph graph = token_graph(rows, block), plain = counted(rows, block);
      EXPECT_NEAR(graph.mean_degree, plain.mean_degree, close);
      EXPECT_NEAR(graph.clustering, plain.clustering, close) << seed << " " << block;
      EXPECT_NEAR(graph.mean_path, plain.mean_path, close);
      EXPECT_EQ(graph.unreachable_pairs, plain.unreachable_pairs);
      EXPECT_EQ(graph.unreachable_pairs > 0, seed % 2 == 1 && block > 1);
      EXPECT_NEAR(graph.gap, plain.gap, close) << seed << " " << block;
      EXPECT_NEAR(graph.two_sided_gap, plain.two_sided_gap, close) << seed << " " << block;
    }
  }
}

TEST(Graphs, LayersUntilAllPairsAreConnected) {
  const auto layers = [](const KeyLists& heads, std::int64_t block) {
    return layers_to_connect({heads}, block);
  };
  EXPECT_EQ(layers({{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}}, 4), 1);
  EXPECT_EQ(layers(star_rows(9, 1), 4), 2);
  const auto window = pattern_rows(AttentionPattern::window, 10, 1, {});
  EXPECT_EQ(layers(window, 4), 9);
  // A half alone never; with a head that crosses two layers, as neither head sees across and beside.
  EXPECT_EQ(layers(blockbert_rows(8, 2, {1}), 4), 0);
  EXPECT_EQ(layers(blockbert_rows(8, 2, {1, 1}), 4), 1);
  EXPECT_EQ(layers(blockbert_rows(8, 2, {0, 1}), 4), 2);
  // Left to right only what comes before can be met.
  EXPECT_EQ(layers(sparse_fixed_causal_rows({2, 1, 1}, 6, 1, 0), 1), 0);
  // One kind of layer in turn: the chunk, then the summary of every chunk.
  const SparseFixed of{2, 1, 1, HeadsAs::layers};
  EXPECT_EQ(layers_to_connect({sparse_fixed_rows(of, 6, 1, 0), sparse_fixed_rows(of, 6, 1, 1)}, 4), 2);
}

TEST(BlockBert, B4WorkAndScoresFallByParts) {
  ModelConfig config;
  config.attention = AttentionPattern::full;
  const AttentionFacts full = attention_facts(config, 64);
  EXPECT_EQ(full.mean_keys, 4096);
  EXPECT_EQ(full.multiply_adds, 2.0 * 768 * 4096 * 4096);
  for (const std::int64_t parts : {2, 3}) {
    config.attention = AttentionPattern::blockbert;
    config.attention_options.blockbert.parts = parts;
    const AttentionFacts facts = attention_facts(config, 64);
    const auto n = static_cast<double>(parts);
    EXPECT_NEAR(facts.bytes_of_scores * n / full.bytes_of_scores, 1, .05);
    EXPECT_NEAR(facts.bytes_read * n / full.bytes_read, 1, .05);
    EXPECT_NEAR(facts.multiply_adds * n / full.multiply_adds, 1, .05);
    EXPECT_EQ(facts.layers, 1);  // one head or another sees every part
  }
}

TEST(Eigenvalues, OfMatricesThatAreKnown) {
  EXPECT_TRUE(symmetric_eigenvalues({}, 0).empty());
  EXPECT_EQ(symmetric_eigenvalues({3}, 1), std::vector<double>{3});
  // A path of n nodes: 2 cos(k pi / (n + 1)).
  const std::size_t n = 30;
  std::vector<double> path(n * n, 0);
  for (std::size_t i = 1; i < n; ++i) path[i * n + i - 1] = path[(i - 1) * n + i] = 1;
  const std::vector<double> values = symmetric_eigenvalues(path, n);
  for (std::size_t k = 0; k < n; ++k)
    EXPECT_NEAR(values[n - 1 - k], 2 * std::cos(static_cast<double>(k + 1) * std::numbers::pi / 31), 1e-12);
  // Trace and sum of squares of a full matrix.
  std::vector<double> full(n * n);
  CounterRng rng(1, Purpose::test, 2);
  double trace = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) full[i * n + j] = full[j * n + i] = rng.normal();
    trace += full[i * n + i];
  }
  for (const double value : full) squares += value * value;
  for (const double value : symmetric_eigenvalues(full, n)) {
    trace -= value;
    squares -= value * value;
  }
  EXPECT_NEAR(trace, 0, 1e-11);
  EXPECT_NEAR(squares, 0, 1e-10);
}

}  // namespace
}  // namespace bigbird
