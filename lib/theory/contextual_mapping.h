// lib/theory holds the proofs of the BigBird paper (Zaheer et al. 2020, appendices A to C) as programs that
// run, in whole numbers wherever a proof is exact.
//
// Appendix A: a sparse encoder with a star in its graph gives every column of every input an id of its own,
// by selective shifts. Node 0 is the centre, nodes 1..n are the tokens. Of a node x only f = u.x matters: all
// shifts are along the first coordinate, where u is 1. Values are whole numbers in units of the grid's step
// delta = 1 / grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bigbird {

// Ids have up to some hundred bits. Products and sums of this file throw Error{usage} beyond 120.
using Natural = unsigned __int128;
// In decimals; of a number of steps of size 1 / grid the value: "2329.5", "17 1/3".
std::string natural_text(Natural number);
std::string steps_text(Natural steps, std::int64_t grid);
int bits_of(Natural number);

// rows[i] = the nodes that node i sees.
using GraphRows = std::vector<std::vector<std::int32_t>>;

// Definition 1: the centre sees all tokens, a token sees the centre and itself.
GraphRows star_graph(std::int64_t tokens);
// What is left of the star without its centre: every node sees itself.
GraphRows graph_without_centre(std::int64_t tokens);
// Every pair of tokens that does not meet yet gets an edge with this probability: a function of seed and
// draw.
GraphRows with_random_edges(GraphRows graph, double probability, std::uint64_t seed, std::uint64_t draw);
// Whether the centre sees all tokens, and every token the centre and itself.
bool contains_star(const GraphRows& graph);

struct MappingSize {
  std::int64_t tokens = 3;      // n
  std::int64_t width = 1;       // d
  std::int64_t grid = 2;        // values of a coordinate: 0, delta .. 1 - delta
  std::int64_t inputs() const;  // grid^(n d). Error{usage} beyond most_mapping_inputs
};
inline constexpr std::int64_t most_mapping_inputs = 1 << 16;

// One layer: a node whose f lies within [low, high], given in half steps, moves by factor (max - min of f
// over the nodes that it sees). In attention these are two heads of hardmax with the scores (f_i - low) f_j
// and (f_i - high) f_j: within the range the first takes the greatest f_j and the second the least, outside
// both take the same.
struct SelectiveShift {
  Natural low = 0, high = 0;
  Natural factor = 1;
  std::int64_t column = 0;  // the node that is meant; -1: all tokens
};

// What all inputs become, layer by layer.
struct ContextualMapping {
  MappingSize size;
  GraphRows graph;
  std::vector<SelectiveShift> layers;         // 2 n + 1
  std::vector<std::vector<Natural>> inputs;   // [input][node]: f before the first layer
  std::vector<std::vector<Natural>> columns;  // [input][token]: the ids
  std::int64_t strays = 0;                    // columns that a layer moved and was not meant for
  std::int64_t ids() const { return size.inputs() * size.tokens; }
  // Ids that an earlier column of the same or of another input has already.
  std::int64_t collisions() const;
  Natural greatest() const;
};

// f of every node of the input of this number, written in base grid with the first token in front.
std::vector<Natural> mapping_input(const MappingSize& size, std::int64_t number);
// The digits themselves, [token][coordinate], each within 0 .. grid - 1.
std::vector<std::vector<std::int64_t>> mapping_digits(const MappingSize& size, std::int64_t number);

// Runs every input through 2 n + 1 layers: for k = 1..n one that moves column k alone and one that moves the
// centre, and a last one that moves all tokens. The range of the first kind is that of column k's inputs, of
// the others that of the values there are. Without the last layer ids collide.
// Error{usage}: more than most_mapping_inputs inputs, or numbers of more than 120 bits.
ContextualMapping contextual_mapping(const MappingSize& size, const GraphRows& graph, bool last_layer = true);

// Lemma 4: layers of a feed-forward network, one for each id, that turn the id into the value wanted of it.
// How many of all tables of outputs 0 and 1 come out right, of 2^ids tables.
struct TableCheck {
  std::int64_t tables = 0, right = 0;
};
TableCheck check_tables(const ContextualMapping& mapping);

// Lemma 5: the same layers with softmax in place of hardmax, its scores multiplied by t, in double precision:
// the largest error of an id, as a fraction of it. Values are in steps, so that scores of two that differ are
// at least t / 2 apart. Doubles hold ids of up to double_bits.
inline constexpr int double_bits = 53;
double softmax_error(const ContextualMapping& mapping, double t);

}  // namespace bigbird
