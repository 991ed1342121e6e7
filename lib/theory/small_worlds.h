// Section 2 of the paper: random graphs have short paths and a wide spectral gap, windows have clustering;
// what a plan has of both. Undirected graphs; token_graph() (lib/model/plans/plan_graph.h) measures them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/plans/plan_graph.h"
#include "lib/theory/contextual_mapping.h"  // GraphRows

namespace bigbird {

// n nodes on a ring, each with its `degree` nearest, half of them on each side.
GraphRows ring_graph(std::int64_t nodes, std::int64_t degree);
// Watts and Strogatz 1998: of the ring each edge keeps one end, and with probability beta gets another end
// among the nodes that are no neighbours yet. A function of seed and draw.
GraphRows watts_strogatz_graph(std::int64_t nodes, std::int64_t degree, double beta, std::uint64_t seed,
                               std::uint64_t draw);
// Every pair is an edge with this probability. A function of seed and draw.
GraphRows erdos_renyi_graph(std::int64_t nodes, double probability, std::uint64_t seed, std::uint64_t draw);

// What the ring has by formula (degree < 2 n / 3): clustering 3 (w - 2) / (4 (w - 1)), and the walk's second
// eigenvalue (2 / w) sum over t <= w / 2 of cos(2 pi t / n).
double ring_clustering(std::int64_t degree);
double ring_gap(std::int64_t nodes, std::int64_t degree);

// A plan of the program at one length: who sees whom, of the first head, by tokens and by blocks.
struct PlanAsGraph {
  std::string name;
  std::string full_reason;  // why attention is full at this length; empty where it is not
  GraphRows rows;           // of blocks of block_size tokens, or of tokens, where tokens decide
  std::int64_t block_size = 1;
  GraphRows blocks;  // an edge where any tokens of the two meet
};
// Every system with these blocks, the others of its options at their defaults. What cannot be computed at
// this length is left out.
std::vector<PlanAsGraph> all_plans(std::int64_t blocks, std::int64_t block_size);

// attention_facts() of a system alone, its options at their defaults. Error{usage} or Error{bad_input} where
// it cannot be computed with such blocks.
AttentionFacts facts_of_plan(AttentionPattern pattern, std::int64_t blocks, std::int64_t block_size);

// The same measures as token_graph(), from the whole matrix of tokens and by the definitions alone: for small
// graphs.
TokenGraph measured_plainly(const GraphRows& rows, std::int64_t block_size);
// The largest difference of two measurements over all fields.
double largest_difference(const TokenGraph& one, const TokenGraph& other);

}  // namespace bigbird
