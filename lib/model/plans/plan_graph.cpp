// See plan_graph.h.
#include "lib/model/plans/plan_graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <set>

#include "lib/core/eigenvalues.h"
#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/patterns.h"

namespace bigbird {
namespace {

using BlockRows = std::vector<std::vector<std::int32_t>>;

// A square matrix of bits.
class BitMatrix {
 public:
  explicit BitMatrix(std::size_t n) : n_(n), words_((n + 63) / 64), bits_(n * words_, 0) {}
  std::size_t size() const { return n_; }
  bool get(std::size_t i, std::size_t j) const { return (bits_[i * words_ + j / 64] >> (j % 64) & 1) != 0; }
  void set(std::size_t i, std::size_t j) { bits_[i * words_ + j / 64] |= std::uint64_t{1} << (j % 64); }
  // Row i takes in row j of the other.
  void join(std::size_t i, const BitMatrix& other, std::size_t j) {
    for (std::size_t w = 0; w < words_; ++w) bits_[i * words_ + w] |= other.bits_[j * words_ + w];
  }
  std::int64_t common(std::size_t i, std::size_t j) const {
    int count = 0;
    for (std::size_t w = 0; w < words_; ++w)
      count += std::popcount(bits_[i * words_ + w] & bits_[j * words_ + w]);
    return count;
  }
  bool operator==(const BitMatrix&) const = default;

 private:
  std::size_t n_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

double number(std::int64_t count) {
  return static_cast<double>(count);
}

// Which blocks are neighbours or the same.
BitMatrix undirected(const BlockRows& rows) {
  BitMatrix edges(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    edges.set(i, i);
    for (const std::int32_t key : rows[i]) {
      edges.set(i, static_cast<std::size_t>(key));
      edges.set(static_cast<std::size_t>(key), i);
    }
  }
  return edges;
}

// Pairs of neighbours of a token of block i that are neighbours: sum over blocks j < k among its neighbours
// of A_jk m_j m_k, and the pairs within each, with m = b, of its own block b - 1.
double linked_neighbours(const BitMatrix& edges, std::size_t i, double b) {
  double pairs = 0;
  for (std::size_t j = 0; j < edges.size(); ++j) {
    if (!edges.get(i, j)) continue;
    const double of_j = j == i ? b - 1 : b;
    // Neighbours of i and j, j itself left out: all have m = b but i.
    const double others = number(edges.common(i, j) - 1);
    const double of_others = j == i ? others * b : (others - 1) * b + (b - 1);
    pairs += of_j * of_others / 2 + of_j * (of_j - 1) / 2;
  }
  return pairs;
}

double clustering_of(const BitMatrix& edges, const std::vector<std::int64_t>& degrees, std::int64_t b) {
  double sum = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const double k = number(degrees[i]);
    if (k >= 2) sum += 2 * linked_neighbours(edges, i, number(b)) / (k * (k - 1));
  }
  return sum / number(static_cast<std::int64_t>(edges.size()));
}

// Distances of blocks are those of their tokens; within a block all are one step apart.
void find_paths(const BitMatrix& edges, std::int64_t b, TokenGraph& graph) {
  const std::size_t n = edges.size();
  const std::int64_t within = static_cast<std::int64_t>(n) * b * (b - 1);  // ordered pairs
  std::int64_t reached = within, sum = within;
  graph.longest_path = within > 0 ? 1 : 0;
  std::vector<std::int64_t> distance(n);
  for (std::size_t start = 0; start < n; ++start) {
    std::fill(distance.begin(), distance.end(), -1);
    distance[start] = 0;
    std::vector<std::size_t> queue{start};
    for (std::size_t at = 0; at < queue.size(); ++at) {
      for (std::size_t next = 0; next < n; ++next) {
        if (distance[next] >= 0 || !edges.get(queue[at], next)) continue;
        distance[next] = distance[queue[at]] + 1;
        queue.push_back(next);
        sum += b * b * distance[next];
        reached += b * b;
        graph.longest_path = std::max(graph.longest_path, distance[next]);
      }
    }
  }
  if (reached > 0) graph.mean_path = number(sum) / number(reached);
  graph.unreachable_pairs = (graph.tokens * (graph.tokens - 1) - reached) / 2;
}

// The eigenvalues are those of (b A - I) / (b d_i - 1), here made symmetric, and, b - 1 times for every
// block, -1 / (b d_i - 1).
void find_gaps(const BitMatrix& edges, const std::vector<std::int64_t>& degrees, std::int64_t b,
               TokenGraph& graph) {
  const std::size_t n = edges.size();
  if (graph.tokens < 2) return;
  std::vector<double> matrix(n * n, 0.0), values;
  for (std::size_t i = 0; i < n; ++i) {
    if (degrees[i] == 0) matrix[i * n + i] = 1;  // the walk stays
    for (std::size_t j = 0; j <= i && degrees[i] > 0; ++j) {
      if (!edges.get(i, j) || degrees[j] == 0) continue;
      matrix[i * n + j] =
          (number(b) - (i == j ? 1.0 : 0.0)) / std::sqrt(number(degrees[i]) * number(degrees[j]));
    }
    if (b > 1) values.push_back(-1 / number(degrees[i]));
  }
  const std::vector<double> of_blocks = symmetric_eigenvalues(std::move(matrix), n);
  values.insert(values.end(), of_blocks.begin(), of_blocks.end() - 1);  // without the 1 that all have
  const auto [least, second] = std::minmax_element(values.begin(), values.end());
  // Of a graph in pieces it is 0, up to rounding.
  graph.gap = std::abs(1 - *second) < 1e-12 ? 0 : 1 - *second;
  graph.two_sided_gap = 1 - std::max(std::abs(*second), std::abs(*least));
}

// What any head sees.
BlockRows union_of(const std::vector<BlockRows>& heads) {
  BlockRows all(heads[0].size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::set<std::int32_t> keys;
    for (const BlockRows& head : heads) keys.insert(head[i].begin(), head[i].end());
    all[i].assign(keys.begin(), keys.end());
  }
  return all;
}

}  // namespace

TokenGraph token_graph(const BlockRows& rows, std::int64_t block_size) {
  TokenGraph graph;
  graph.tokens = static_cast<std::int64_t>(rows.size()) * block_size;
  if (rows.empty()) return graph;
  const BitMatrix edges = undirected(rows);
  std::vector<std::int64_t> degrees;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    degrees.push_back(block_size * edges.common(i, i) - 1);
    graph.mean_degree += number(degrees.back()) / number(static_cast<std::int64_t>(rows.size()));
  }
  graph.clustering = clustering_of(edges, degrees, block_size);
  find_paths(edges, block_size, graph);
  find_gaps(edges, degrees, block_size, graph);
  return graph;
}

std::int64_t layers_to_connect(const std::vector<std::vector<BlockRows>>& layers, std::int64_t block_size) {
  const std::size_t n = layers[0][0].size();
  std::vector<BlockRows> steps;
  for (const auto& heads : layers) steps.push_back(union_of(heads));
  BitMatrix met(n), everything(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) everything.set(i, j);
    if (block_size == 1) met.set(i, i);  // a token is there itself; the others of its block are not
  }
  if (met == everything) return 0;
  std::size_t unchanged = 0;
  for (std::size_t layer = 0; unchanged < steps.size(); ++layer) {
    BitMatrix now = met;
    const BlockRows& rows = steps[layer % steps.size()];
    for (std::size_t i = 0; i < n; ++i) {
      for (const std::int32_t key : rows[i]) {
        now.set(i, static_cast<std::size_t>(key));
        now.join(i, met, static_cast<std::size_t>(key));
      }
    }
    if (now == everything) return static_cast<std::int64_t>(layer) + 1;
    unchanged = now == met ? unchanged + 1 : 0;
    met = std::move(now);
  }
  return 0;
}

AttentionFacts attention_facts(const ModelConfig& config, std::int64_t blocks) {
  AttentionFacts facts;
  const std::int64_t b = config.block_size;
  facts.tokens = blocks * b;
  facts.full_reason = full_attention_reason(config, blocks);
  const bool full = !facts.full_reason.empty();
  std::vector<std::vector<BlockRows>> layers;
  constexpr std::int64_t in_turn = 2;  // no system has more kinds of layers
  for (std::int64_t layer = 0; layer < in_turn; ++layer)
    layers.push_back(plan_rows(config, layer, blocks, full));
  double listed = 0, visible = 0;  // block pairs of all heads, a layer
  for (const auto& heads : layers) {
    for (const BlockRows& rows : heads) {
      for (const auto& row : rows) {
        const auto keys = static_cast<std::int64_t>(std::set<std::int32_t>(row.begin(), row.end()).size());
        listed += number(static_cast<std::int64_t>(row.size())) / number(in_turn);
        visible += number(keys) / number(in_turn);
        facts.most_keys = std::max(facts.most_keys, b * keys);
      }
    }
  }
  const double heads = number(config.num_attention_heads), width = number(config.hidden_size);
  facts.visible_pairs = visible * number(b * b);
  facts.mean_keys = facts.visible_pairs / (heads * number(facts.tokens));
  facts.multiply_adds = 2 * width * listed / heads * number(b * b);
  facts.bytes_read = 2 * sizeof(float) * width * listed / heads * number(b);
  facts.bytes_of_scores = sizeof(float) * listed * number(b * b);
  facts.layers = layers_to_connect(layers, b);
  facts.head = token_graph(layers[0][0], b);
  const bool takes_turns = planned_layer(config, 1) == 1 && system_of(config.attention).by_own_length;
  std::vector<BlockRows> all = layers[0];
  if (takes_turns) all.insert(all.end(), layers[1].begin(), layers[1].end());
  facts.all_heads = token_graph(union_of(all), b);
  return facts;
}

}  // namespace bigbird
