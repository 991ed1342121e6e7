// `bigbird theory graphs`: paths, clustering and spectral gaps of random graphs and of every plan.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/theory/checks.h"
#include "lib/core/log.h"
#include "lib/theory/small_worlds.h"

namespace bigbird::apps {
namespace {

struct GraphsRequest {
  std::int64_t nodes = 256, degree = 8, draws = 20;
  std::int64_t length = 1024, block_size = 16;
};

constexpr std::int64_t most_nodes = 1024;
// What is measured a second time, from the whole matrix of tokens.
constexpr std::int64_t most_measured_plainly = 256;
constexpr std::int64_t most_plan_tokens = 4096;
constexpr std::int64_t checked_blocks = 14, checked_block_size = 3;
constexpr double same = 1e-9;

void check(const GraphsRequest& request) {
  if (request.degree < 4 || request.degree % 2 != 0 || 3 * request.degree >= 2 * request.nodes)
    throw_usage("--degree must be even, at least 4, and below two thirds of --nodes");
  if (request.nodes > most_nodes) throw_usage(fmt::format("--nodes must be at most {}", most_nodes));
  if (request.draws < 1) throw_usage("--draws must be at least 1");
  if (request.block_size < 1 || request.length < request.block_size || request.length > most_plan_tokens)
    throw_usage(fmt::format("--length must be from --block-size to {}", most_plan_tokens));
}

// "0.0000" also of what rounding left below 0.
std::string gap_text(double gap) {
  return fmt::format("{:.4f}", std::abs(gap) < same ? 0 : gap);
}

void print_row(const std::string& name, const std::string& level, const TokenGraph& graph, bool clustering) {
  const bool whole = graph.unreachable_pairs == 0;
  fmt::print("{}\t{}\t{}\t{:.2f}\t{:.3f}\t{}\t{}\t{}\t{}\t{}\n", name, level, graph.tokens, graph.mean_degree,
             graph.mean_path, graph.longest_path, graph.unreachable_pairs,
             clustering ? fmt::format("{:.3f}", graph.clustering) : "NA", whole ? gap_text(graph.gap) : "NA",
             whole ? gap_text(graph.two_sided_gap) : "NA");
}

// Measures graphs, some of them twice.
class Measured {
 public:
  TokenGraph operator()(const GraphRows& rows, std::int64_t block_size) {
    const TokenGraph graph = token_graph(rows, block_size);
    if (graph.tokens <= most_measured_plainly) {
      ++twice_;
      difference_ = std::max(difference_, largest_difference(graph, measured_plainly(rows, block_size)));
    }
    return graph;
  }
  void report(Checks& checks) const {
    checks.add(
        difference_ < same,
        fmt::format("{} graphs of at most {} tokens, measured by brute force too: the same within {:.0g}",
                    twice_, most_measured_plainly, same));
  }

 private:
  int twice_ = 0;
  double difference_ = 0;
};

// The mean over draws; a graph in pieces counts its own paths, and has no gap.
TokenGraph mean_of(const std::vector<TokenGraph>& graphs) {
  TokenGraph mean = graphs[0];
  const auto average = [&](double TokenGraph::*field) {
    mean.*field = 0;
    for (const TokenGraph& graph : graphs) mean.*field += graph.*field / static_cast<double>(graphs.size());
  };
  for (double TokenGraph::*const field :
       {&TokenGraph::mean_degree, &TokenGraph::clustering, &TokenGraph::mean_path, &TokenGraph::gap,
        &TokenGraph::two_sided_gap})
    average(field);
  for (const TokenGraph& graph : graphs) {
    mean.longest_path = std::max(mean.longest_path, graph.longest_path);
    mean.unreachable_pairs = std::max(mean.unreachable_pairs, graph.unreachable_pairs);
  }
  return mean;
}

// Prints their rows; the ring's measures.
TokenGraph random_graphs(const GraphsRequest& request, std::uint64_t seed, Measured& measured) {
  const TokenGraph ring = measured(ring_graph(request.nodes, request.degree), 1);
  print_row("ring", "node", ring, true);
  const auto draws = static_cast<std::uint64_t>(request.draws);
  for (const double beta : {0.01, 0.1, 0.3, 1.0}) {
    std::vector<TokenGraph> graphs;
    for (std::uint64_t draw = 0; draw < draws; ++draw)
      graphs.push_back(measured(watts_strogatz_graph(request.nodes, request.degree, beta, seed, draw), 1));
    print_row(fmt::format("watts-strogatz {}", beta), "node", mean_of(graphs), true);
  }
  const double p = static_cast<double>(request.degree) / static_cast<double>(request.nodes - 1);
  std::vector<TokenGraph> graphs;
  for (std::uint64_t draw = 0; draw < draws; ++draw)
    graphs.push_back(measured(erdos_renyi_graph(request.nodes, p, seed, draw), 1));
  print_row("erdos-renyi", "node", mean_of(graphs), true);
  return ring;
}

void plans(const GraphsRequest& request, Measured& measured) {
  const std::int64_t blocks = (request.length + request.block_size - 1) / request.block_size;
  for (const PlanAsGraph& plan : all_plans(blocks, request.block_size)) {
    if (!plan.full_reason.empty() && plan.name != "full")
      log_info(fmt::format("{}: full attention for {}", plan.name, plan.full_reason));
    print_row(plan.name, "token", measured(plan.rows, plan.block_size), true);
    print_row(plan.name, "block", measured(plan.blocks, 1), false);
  }
  for (const PlanAsGraph& plan : all_plans(checked_blocks, checked_block_size)) {
    measured(plan.rows, plan.block_size);
    measured(plan.blocks, 1);
  }
}

}  // namespace

int cmd_theory_graphs(int argc, char** argv) {
  Verb verb("theory graphs", "Measure random graphs and attention plans.",
            {"bigbird theory graphs", "bigbird theory graphs --nodes 64 --degree 6 --draws 5 --length 512"});
  GraphsRequest request;
  verb.add_option("--nodes N", request.nodes, "Nodes of the ring and of the random graphs");
  verb.add_option("--degree N", request.degree, "Neighbours of a node, the mean where they are random");
  verb.add_option("--draws N", request.draws, "Graphs of each random kind, of which means are printed");
  verb.add_count("--length TOKENS", request.length, "Tokens of the plans");
  verb.add_option("--block-size N", request.block_size, "Tokens of a block of the plans");
  verb.add_seed();
  if (!verb.parse(argc, argv)) return 0;
  check(request);

  Checks checks;
  Measured measured;
  fmt::print(
      "#graph\tlevel\tnodes\tmean_degree\tmean_path\tlongest_path\tunreachable_pairs\tclustering\tgap\t"
      "two_sided_gap\n");
  const TokenGraph ring = random_graphs(request, verb.seed(), measured);
  plans(request, measured);
  fmt::print("\n");
  checks.add(std::abs(ring.clustering - ring_clustering(request.degree)) < same &&
                 std::abs(ring.gap - ring_gap(request.nodes, request.degree)) < same,
             "the ring's clustering and gap agree with their formulas");
  measured.report(checks);
  checks.finish();
  return 0;
}

}  // namespace bigbird::apps
