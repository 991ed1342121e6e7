// See small_worlds.h.
#include "lib/theory/small_worlds.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <set>

#include "lib/core/eigenvalues.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/patterns.h"
#include "lib/model/plans/token_pairs.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/etc_lift.h"

namespace bigbird {
namespace {

std::size_t index_of(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

using Edges = std::vector<std::vector<bool>>;

GraphRows rows_of(const Edges& edges) {
  GraphRows rows(edges.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (std::size_t j = 0; j < edges.size(); ++j) {
      if (edges[i][j]) rows[i].push_back(static_cast<std::int32_t>(j));
    }
  }
  return rows;
}

Edges no_edges(std::int64_t nodes) {
  return Edges(index_of(nodes), std::vector<bool>(index_of(nodes), false));
}

// All pairs of tokens, symmetric, no loops.
Edges token_edges(const GraphRows& rows, std::int64_t block_size) {
  const std::size_t b = index_of(block_size);
  Edges edges = no_edges(static_cast<std::int64_t>(rows.size()) * block_size);
  const auto join = [&](std::size_t one, std::size_t other) {
    for (std::size_t i = one * b; i < (one + 1) * b; ++i) {
      for (std::size_t j = other * b; j < (other + 1) * b; ++j) {
        if (i != j) edges[i][j] = edges[j][i] = true;
      }
    }
  };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    join(row, row);
    for (const std::int32_t key : rows[row]) join(row, index_of(key));
  }
  return edges;
}

// Steps from a node to each; -1: none leads there.
std::vector<std::int64_t> distances(const Edges& edges, std::size_t from) {
  std::vector<std::int64_t> steps(edges.size(), -1);
  std::vector<std::size_t> queue{from};
  steps[from] = 0;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    for (std::size_t j = 0; j < edges.size(); ++j) {
      if (!edges[queue[at]][j] || steps[j] >= 0) continue;
      steps[j] = steps[queue[at]] + 1;
      queue.push_back(j);
    }
  }
  return steps;
}

double clustering_at(const Edges& edges, std::size_t node) {
  double neighbours = 0, linked = 0;
  for (std::size_t j = 0; j < edges.size(); ++j) {
    if (!edges[node][j]) continue;
    ++neighbours;
    for (std::size_t k = 0; k < j; ++k) linked += edges[node][k] && edges[j][k] ? 1 : 0;
  }
  return neighbours < 2 ? 0 : 2 * linked / (neighbours * (neighbours - 1));
}

// The eigenvalues of the random walk, ascending: those of D^-1/2 A D^-1/2. Of a connected graph.
std::vector<double> walk_eigenvalues(const Edges& edges, const std::vector<double>& degrees) {
  const std::size_t n = edges.size();
  std::vector<double> matrix(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j)
      matrix[i * n + j] = edges[i][j] ? 1 / std::sqrt(degrees[i] * degrees[j]) : 0;
  }
  return symmetric_eigenvalues(std::move(matrix), n);
}

// A model whose attention is all that is asked for.
ModelConfig config_of(AttentionPattern pattern, std::int64_t block_size) {
  ModelConfig config;
  config.block_size = block_size;
  take_attention(pattern, {}, config);
  if (pattern == AttentionPattern::etc) become_etc(config);
  become_published(config);
  check_attention(config, name_of(pattern));
  return config;
}

PlanAsGraph plan_as_graph(const ModelConfig& config, std::int64_t blocks) {
  PlanAsGraph plan;
  plan.name = name_of(config.attention);
  plan.full_reason = full_attention_reason(config, blocks);
  if (!decided_by_tokens(config.attention)) {
    plan.rows = plan.blocks = plan_rows(config, 0, blocks, !plan.full_reason.empty())[0];
    plan.block_size = config.block_size;
    return plan;
  }
  plan.rows = token_heads(config, 0, blocks * config.block_size)[0].rows;
  const std::size_t b = index_of(config.block_size);
  std::vector<std::set<std::int32_t>> met((plan.rows.size() + b - 1) / b);
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    for (const std::int32_t key : plan.rows[i])
      met[i / b].insert(static_cast<std::int32_t>(key / config.block_size));
  }
  for (const std::set<std::int32_t>& keys : met) plan.blocks.emplace_back(keys.begin(), keys.end());
  return plan;
}

}  // namespace

GraphRows ring_graph(std::int64_t nodes, std::int64_t degree) {
  return watts_strogatz_graph(nodes, degree, 0, 0, 0);
}

GraphRows watts_strogatz_graph(std::int64_t nodes, std::int64_t degree, double beta, std::uint64_t seed,
                               std::uint64_t draw) {
  Edges edges = no_edges(nodes);
  const auto set = [&](std::int64_t i, std::int64_t j, bool is) {
    edges[index_of(i)][index_of(j)] = edges[index_of(j)][index_of(i)] = is;
  };
  for (std::int64_t i = 0; i < nodes; ++i) {
    for (std::int64_t step = 1; step <= degree / 2; ++step) set(i, (i + step) % nodes, true);
  }
  CounterRng random(seed, Purpose::theory_graphs, draw);
  for (std::int64_t i = 0; beta > 0 && i < nodes; ++i) {
    for (std::int64_t step = 1; step <= degree / 2; ++step) {
      if (random.uniform() >= beta) continue;
      std::vector<std::int64_t> free;
      for (std::int64_t j = 0; j < nodes; ++j) {
        if (j != i && !edges[index_of(i)][index_of(j)]) free.push_back(j);
      }
      if (free.empty()) continue;
      const std::int64_t other = free[index_of(static_cast<std::int64_t>(random.below(free.size())))];
      set(i, (i + step) % nodes, false);
      set(i, other, true);
    }
  }
  return rows_of(edges);
}

GraphRows erdos_renyi_graph(std::int64_t nodes, double probability, std::uint64_t seed, std::uint64_t draw) {
  Edges edges = no_edges(nodes);
  CounterRng random(seed, Purpose::theory_graphs, draw);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) edges[i][j] = edges[j][i] = random.uniform() < probability;
  }
  return rows_of(edges);
}

double ring_clustering(std::int64_t degree) {
  const auto w = static_cast<double>(degree);
  return 3 * (w - 2) / (4 * (w - 1));
}

double ring_gap(std::int64_t nodes, std::int64_t degree) {
  double sum = 0;
  for (std::int64_t t = 1; t <= degree / 2; ++t)
    sum += std::cos(2 * std::numbers::pi * static_cast<double>(t) / static_cast<double>(nodes));
  return 1 - 2 * sum / static_cast<double>(degree);
}

std::vector<PlanAsGraph> all_plans(std::int64_t blocks, std::int64_t block_size) {
  std::vector<PlanAsGraph> plans;
  for (const AttentionSystem& system : attention_systems()) {
    try {
      plans.push_back(plan_as_graph(config_of(system.pattern, block_size), blocks));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input && error.kind() != ErrorKind::usage) throw;
    }
  }
  return plans;
}

AttentionFacts facts_of_plan(AttentionPattern pattern, std::int64_t blocks, std::int64_t block_size) {
  return attention_facts(config_of(pattern, block_size), blocks);
}

TokenGraph measured_plainly(const GraphRows& rows, std::int64_t block_size) {
  const Edges edges = token_edges(rows, block_size);
  const std::size_t n = edges.size();
  const auto count = static_cast<double>(n);
  TokenGraph graph;
  graph.tokens = static_cast<std::int64_t>(n);
  std::vector<double> degrees;
  double steps = 0, reached = 0;
  for (std::size_t i = 0; i < n; ++i) {
    degrees.push_back(static_cast<double>(std::count(edges[i].begin(), edges[i].end(), true)));
    graph.mean_degree += degrees.back() / count;
    graph.clustering += clustering_at(edges, i) / count;
    for (const std::int64_t distance : distances(edges, i)) {
      graph.unreachable_pairs += distance < 0 ? 1 : 0;
      graph.longest_path = std::max(graph.longest_path, distance);
      steps += distance > 0 ? static_cast<double>(distance) : 0;
      reached += distance > 0 ? 1 : 0;
    }
  }
  graph.unreachable_pairs /= 2;
  if (reached > 0) graph.mean_path = steps / reached;
  if (n < 2 || graph.unreachable_pairs > 0) return graph;
  const std::vector<double> values = walk_eigenvalues(edges, degrees);
  graph.gap = 1 - values[n - 2];
  graph.two_sided_gap = 1 - std::max(std::abs(values[n - 2]), std::abs(values[0]));
  return graph;
}

double largest_difference(const TokenGraph& one, const TokenGraph& other) {
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  return std::max({std::abs(number(one.tokens - other.tokens)), std::abs(one.mean_degree - other.mean_degree),
                   std::abs(one.clustering - other.clustering), std::abs(one.mean_path - other.mean_path),
                   std::abs(number(one.longest_path - other.longest_path)),
                   std::abs(number(one.unreachable_pairs - other.unreachable_pairs)),
                   std::abs(one.gap - other.gap), std::abs(one.two_sided_gap - other.two_sided_gap)});
}

}  // namespace bigbird
