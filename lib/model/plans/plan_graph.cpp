// See plan_graph.h.
#include "lib/model/plans/plan_graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "lib/core/eigenvalues.h"
#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/patterns.h"
#include "lib/model/plans/token_pairs.h"

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
  std::size_t words() const { return words_; }
  const std::uint64_t* row(std::size_t i) const { return bits_.data() + i * words_; }
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

// Distances of blocks are those of their tokens; within a block all are one step apart. From each block on
// the blocks of one distance after those of another, 64 at a time.
void find_paths(const BitMatrix& edges, std::int64_t b, TokenGraph& graph) {
  const std::size_t n = edges.size(), words = edges.words();
  const std::int64_t within = static_cast<std::int64_t>(n) * b * (b - 1);  // ordered pairs
  std::int64_t reached = within, sum = within;
  graph.longest_path = within > 0 ? 1 : 0;
  std::vector<std::uint64_t> seen(words), next(words);
  std::vector<std::size_t> ring;
  for (std::size_t start = 0; start < n; ++start) {
    std::fill(seen.begin(), seen.end(), 0);
    seen[start / 64] |= std::uint64_t{1} << (start % 64);
    ring = {start};
    for (std::int64_t distance = 1; !ring.empty(); ++distance) {
      std::fill(next.begin(), next.end(), 0);
      for (const std::size_t block : ring) {
        const std::uint64_t* const row = edges.row(block);
        for (std::size_t w = 0; w < words; ++w) next[w] |= row[w];
      }
      ring.clear();
      for (std::size_t w = 0; w < words; ++w) {
        for (std::uint64_t found = next[w] & ~seen[w]; found != 0; found &= found - 1)
          ring.push_back(64 * w + static_cast<std::size_t>(std::countr_zero(found)));
        seen[w] |= next[w];
      }
      if (ring.empty()) break;
      const auto count = static_cast<std::int64_t>(ring.size());
      sum += b * b * distance * count;
      reached += b * b * count;
      graph.longest_path = std::max(graph.longest_path, distance);
    }
  }
  if (reached > 0) graph.mean_path = number(sum) / number(reached);
  graph.unreachable_pairs = (graph.tokens * (graph.tokens - 1) - reached) / 2;
}

// The matrix of a walk on blocks, (b A - I) / (b d_i - 1), made symmetric: entries of pairs of neighbours.
class WalkMatrix {
 public:
  WalkMatrix(const BitMatrix& edges, const std::vector<std::int64_t>& degrees, std::int64_t b)
      : edges_(edges), degrees_(degrees), b_(b) {}

  std::vector<double> dense() const {
    const std::size_t n = edges_.size();
    std::vector<double> matrix(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      if (degrees_[i] == 0) matrix[i * n + i] = 1;  // the walk stays
      for (std::size_t j = 0; j <= i && degrees_[i] > 0; ++j) {
        if (edges_.get(i, j) && degrees_[j] > 0) matrix[i * n + j] = entry(i, j);
      }
    }
    return matrix;
  }
  // The greatest of its eigenvalues but the 1 that all have, and the least. Of a connected graph.
  SpectrumEnds ends() const {
    const std::size_t n = edges_.size();
    std::vector<std::size_t> begins{0};
    std::vector<std::int32_t> neighbours;
    std::vector<double> weights, uniform;  // 1 / sqrt(degree); the eigenvector of the eigenvalue 1
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (edges_.get(i, j) && (i != j || b_ > 1)) neighbours.push_back(static_cast<std::int32_t>(j));
      }
      begins.push_back(neighbours.size());
      uniform.push_back(std::sqrt(number(degrees_[i])));
      weights.push_back(1 / uniform.back());
    }
    std::vector<double> scaled(n);
    return spectrum_ends(
        n,
        [&](const std::vector<double>& x, std::vector<double>& y) {
          for (std::size_t i = 0; i < n; ++i) scaled[i] = x[i] * weights[i];
          for (std::size_t i = 0; i < n; ++i) {
            double sum = 0;
            for (std::size_t at = begins[i]; at < begins[i + 1]; ++at)
              sum += scaled[static_cast<std::size_t>(neighbours[at])];
            y[i] = weights[i] * (number(b_) * sum - (b_ > 1 ? scaled[i] : 0.0));
          }
        },
        uniform);
  }

 private:
  double entry(std::size_t i, std::size_t j) const {
    return (number(b_) - (i == j ? 1.0 : 0.0)) / std::sqrt(number(degrees_[i]) * number(degrees_[j]));
  }

  const BitMatrix& edges_;
  const std::vector<std::int64_t>& degrees_;
  std::int64_t b_;
};

// The eigenvalues are those of (b A - I) / (b d_i - 1), and, b - 1 times for every block, -1 / (b d_i - 1).
void find_gaps(const BitMatrix& edges, const std::vector<std::int64_t>& degrees, std::int64_t b,
               TokenGraph& graph) {
  constexpr std::size_t most_dense = 512;
  const std::size_t n = edges.size();
  // A graph in pieces has the eigenvalue 1 once for each.
  if (graph.tokens < 2 || graph.unreachable_pairs > 0) return;
  std::vector<double> values;
  for (std::size_t i = 0; i < n && b > 1; ++i) values.push_back(-1 / number(degrees[i]));
  const WalkMatrix walk(edges, degrees, b);
  if (n > most_dense) {
    const SpectrumEnds ends = walk.ends();
    values.insert(values.end(), {ends.least, ends.greatest});
  } else {
    const std::vector<double> of_blocks = symmetric_eigenvalues(walk.dense(), n);
    values.insert(values.end(), of_blocks.begin(), of_blocks.end() - 1);  // without the 1 that all have
  }
  const auto [least, second] = std::minmax_element(values.begin(), values.end());
  graph.gap = 1 - *second;
  graph.two_sided_gap = 1 - std::max(std::abs(*second), std::abs(*least));
}

// What any head sees.
BlockRows union_of(const std::vector<BlockRows>& heads) {
  if (heads.size() == 1) return heads[0];
  BlockRows all(heads[0].size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::set<std::int32_t> keys;
    for (const BlockRows& head : heads) keys.insert(head[i].begin(), head[i].end());
    all[i].assign(keys.begin(), keys.end());
  }
  return all;
}

// Each layer one step along its rows; until the first `asked` have met each other, whatever the others did.
std::int64_t steps_to_connect(const std::vector<const BlockRows*>& steps, std::int64_t block_size,
                              std::size_t asked) {
  const std::size_t n = steps[0]->size();
  BitMatrix met(n), everything(n);
  const auto all_met = [&](const BitMatrix& pairs) {
    if (asked == n) return pairs == everything;
    for (std::size_t i = 0; i < asked; ++i) {
      for (std::size_t j = 0; j < asked; ++j) {
        if (!pairs.get(i, j)) return false;
      }
    }
    return true;
  };
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) everything.set(i, j);
    if (block_size == 1) met.set(i, i);  // a token is there itself; the others of its block are not
  }
  if (all_met(met)) return 0;
  std::size_t unchanged = 0;
  for (std::size_t layer = 0; unchanged < steps.size(); ++layer) {
    BitMatrix now = met;
    const BlockRows& rows = *steps[layer % steps.size()];
    for (std::size_t i = 0; i < n; ++i) {
      for (const std::int32_t key : rows[i]) {
        now.set(i, static_cast<std::size_t>(key));
        now.join(i, met, static_cast<std::size_t>(key));
      }
    }
    if (all_met(now)) return static_cast<std::int64_t>(layer) + 1;
    unchanged = now == met ? unchanged + 1 : 0;
    met = std::move(now);
  }
  return 0;
}

// Tokens whose keys and values the blocks of a group's queries read in a head, each once for a block. Queries
// of residue classes stand class after class.
double tokens_read(const KeyGroup& group, const TokenNumbers& tokens, std::int64_t block_size) {
  std::vector<std::int64_t> last_reader(static_cast<std::size_t>(tokens.all), -1);
  double read = 0;
  std::int64_t place = 0;
  for (std::int64_t residue = 0; residue < group.step; ++residue) {
    for (std::int64_t query = residue; query < tokens.all; query += group.step, ++place) {
      for (const std::int32_t key : keys_of(group, tokens, query)) {
        std::int64_t& reader = last_reader[static_cast<std::size_t>(key)];
        if (reader == place / block_size) continue;
        reader = place / block_size;
        ++read;
      }
    }
  }
  return read;
}

// The same of lists of nodes.
double rows_read(const BlockRows& rows, const TokenNumbers& tokens, std::int64_t block_size) {
  std::vector<std::int64_t> last_reader(static_cast<std::size_t>(tokens.all), -1);
  double read = 0;
  for (std::size_t query = 0; query < rows.size(); ++query) {
    for (const std::int32_t key : rows[query]) {
      std::int64_t& reader = last_reader[static_cast<std::size_t>(key)];
      const std::int64_t block = static_cast<std::int64_t>(query) / block_size;
      if (std::exchange(reader, block) != block) ++read;
    }
  }
  return read;
}

// Of a system that decides by tokens.
AttentionFacts token_facts(const ModelConfig& config, std::int64_t length) {
  AttentionFacts facts;
  facts.tokens = length;
  // Layers by what they are like: planned_layer().
  const bool differ = config.attention == AttentionPattern::longformer;
  const std::int64_t layers = differ ? config.num_hidden_layers : 2;
  std::map<std::int64_t, std::vector<TokenHeads>> kinds;
  std::map<std::int64_t, BlockRows> unions;
  const TokenNumbers tokens = token_numbers(config, length);
  const auto asking = static_cast<std::size_t>(tokens.all - tokens.spans);
  double pairs = 0, read = 0, seen = 0, queries = 0;  // over the heads of a layer
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::int64_t kind = planned_layer(config, layer);
    const auto [at, is_new] = kinds.try_emplace(kind);
    if (is_new) {
      at->second = token_heads(config, layer, length);
      std::vector<BlockRows> rows;
      for (const TokenHeads& alike : at->second) rows.push_back(alike.rows);
      unions[kind] = union_of(rows);
    }
    if (tokens.spans > 0) {
      read += number(config.num_attention_heads) / number(layers) *
              rows_read(at->second[0].rows, tokens, config.block_size);
    }
    for (const KeyGroup& group : tokens.spans > 0 ? std::vector<KeyGroup>{} : key_groups(config, layer)) {
      read += number(group.heads) / number(layers) * tokens_read(group, tokens, config.block_size);
    }
    for (const TokenHeads& alike : at->second) {
      const double share = number(alike.heads) / number(layers);
      for (std::size_t row = 0; row < alike.rows.size(); ++row) {
        const auto keys = static_cast<std::int64_t>(alike.rows[row].size());
        pairs += share * number(keys);
        if (row >= asking) continue;
        seen += share * number(keys);
        facts.most_keys = std::max(facts.most_keys, keys);
      }
      queries += share * number(static_cast<std::int64_t>(asking));
    }
  }
  const double heads = number(config.num_attention_heads), width = number(config.hidden_size);
  facts.visible_pairs = pairs;
  facts.mean_keys = seen / queries;
  facts.multiply_adds = 2 * width * pairs / heads;
  facts.bytes_read = 2 * sizeof(float) * width * read / heads;
  facts.bytes_of_scores = sizeof(float) * pairs;
  std::vector<const BlockRows*> steps;
  for (std::int64_t layer = 0; layer < layers; ++layer)
    steps.push_back(&unions.at(planned_layer(config, layer)));
  if (unions.size() == 1) steps.resize(1);
  facts.layers = steps_to_connect(steps, 1, asking);
  facts.head = token_graph(kinds.at(0)[0].rows, 1);
  std::vector<BlockRows> all;
  for (auto& [kind, rows] : unions) all.push_back(std::move(rows));
  facts.all_heads = kinds.size() == 1 && kinds.at(0).size() == 1 ? facts.head : token_graph(union_of(all), 1);
  return facts;
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
  std::vector<BlockRows> unions;
  for (const auto& heads : layers) unions.push_back(union_of(heads));
  std::vector<const BlockRows*> steps;
  for (const BlockRows& step : unions) steps.push_back(&step);
  return steps_to_connect(steps, block_size, steps[0]->size());
}

std::vector<std::vector<double>> block_shares(const ModelConfig& config, std::int64_t layer,
                                              std::int64_t blocks) {
  const std::int64_t heads = config.num_attention_heads, b = config.block_size;
  std::vector<std::vector<double>> shares;
  const auto take = [&](std::size_t row, std::int32_t key, double share) {
    shares[row][static_cast<std::size_t>(key)] += share;
  };
  if (decided_by_tokens(config.attention)) {
    const double pairs = number(heads * b * b);
    for (const TokenHeads& alike : token_heads(config, layer, blocks * b)) {
      const std::size_t n =
          (alike.rows.size() + static_cast<std::size_t>(b) - 1) / static_cast<std::size_t>(b);
      shares.resize(n, std::vector<double>(n, 0.0));
      for (std::size_t i = 0; i < alike.rows.size(); ++i) {
        for (const std::int32_t key : alike.rows[i])
          take(i / static_cast<std::size_t>(b), static_cast<std::int32_t>(key / b),
               number(alike.heads) / pairs);
      }
    }
    return shares;
  }
  const auto n = static_cast<std::size_t>(blocks);
  shares.resize(n, std::vector<double>(n, 0.0));
  for (const BlockRows& rows :
       plan_rows(config, layer, blocks, !full_attention_reason(config, blocks).empty())) {
    for (std::size_t row = 0; row < n; ++row) {
      for (const std::int32_t key : std::set<std::int32_t>(rows[row].begin(), rows[row].end()))
        take(row, key, 1 / number(heads));
    }
  }
  return shares;
}

namespace {

// Of tokens that their own values sort: the keys that a query meets over all rounds, of which some may be the
// same; from left to right half of them on average.
void take_chunk_facts(const ModelConfig& config, AttentionFacts& facts) {
  const std::int64_t keys = reformer_keys(config, facts.tokens);
  const std::int64_t rounds = keys == facts.tokens ? 1 : config.attention_options.reformer.hashes;
  const double heads = number(config.num_attention_heads), width = number(config.hidden_size);
  facts.most_keys = std::min(keys, facts.tokens);
  facts.mean_keys = number(facts.most_keys) / (config.causal ? 2 : 1);
  facts.visible_pairs = facts.mean_keys * heads * number(facts.tokens);
  facts.multiply_adds = number(reformer_multiply_adds(config, facts.tokens)) * number(facts.tokens);
  // A chunk is read by its own queries and by those of the next.
  facts.bytes_read = 2 * sizeof(float) * width * number(2 * rounds * facts.tokens);
  facts.bytes_of_scores = sizeof(float) * heads * number(facts.tokens * keys);
}

// Local heads by their windows; of routed ones what their clusters see, each of which reads its keys once.
void take_routed_facts(const ModelConfig& config, AttentionFacts& facts) {
  const RoutingOptions& options = config.attention_options.routing;
  const std::int64_t local = visible_pairs(config, 0, facts.tokens), routed = routed_heads(config);
  const double width = number(config.hidden_size), heads = number(config.num_attention_heads);
  // Clusters may share tokens, but no query sees more than there are.
  const std::int64_t all = facts.tokens * (config.causal ? facts.tokens + 1 : 2 * facts.tokens) / 2;
  const std::int64_t pairs = local + routed * std::min(routed_pairs(config, facts.tokens), all);
  const std::int64_t cluster = std::min(options.window, facts.tokens);
  const std::int64_t side = (config.causal ? 1 : 2) * options.local_window + 1;
  facts.visible_pairs = number(pairs);
  facts.mean_keys = number(pairs) / (heads * number(facts.tokens));
  facts.most_keys = std::min(std::max(options.clusters * cluster, local > 0 ? side : 0), facts.tokens);
  facts.multiply_adds = 2 * width / heads * number(local) +
                        number(routing_multiply_adds(config, facts.tokens)) * number(facts.tokens);
  const double of_windows = number(local) / number(config.block_size);
  facts.bytes_read =
      2 * sizeof(float) * width / heads * (of_windows + number(routed * options.clusters * cluster));
  facts.bytes_of_scores = sizeof(float) * number(pairs);
}

}  // namespace

AttentionFacts attention_facts(const ModelConfig& config, std::int64_t blocks) {
  if (decided_by_tokens(config.attention)) return token_facts(config, blocks * config.block_size);
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
  if (config.attention == AttentionPattern::performer) {
    // By sums: a key is read once, and there are features in place of scores.
    facts.multiply_adds = number(feature_multiply_adds(config)) * number(facts.tokens);
    facts.bytes_read = 2 * sizeof(float) * width * number(facts.tokens);
    facts.bytes_of_scores =
        2 * sizeof(float) * heads * number(features_of_a_row(config)) * number(facts.tokens);
  }
  if (config.attention == AttentionPattern::reformer) take_chunk_facts(config, facts);
  if (config.attention == AttentionPattern::routing) take_routed_facts(config, facts);
  facts.layers = layers_to_connect(layers, b);
  facts.head = token_graph(layers[0][0], b);
  const bool takes_turns = planned_layer(config, 1) == 1 && system_of(config.attention).by_own_length;
  std::vector<BlockRows> all = layers[0];
  if (takes_turns) all.insert(all.end(), layers[1].begin(), layers[1].end());
  facts.all_heads = token_graph(union_of(all), b);
  return facts;
}

}  // namespace bigbird
