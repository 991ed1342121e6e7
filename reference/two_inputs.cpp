// See two_inputs.h.
#include "reference/two_inputs.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "reference/attention_pairs.h"
#include "reference/stack.h"

namespace bigbird::reference {
namespace {

bool linked(const TwoInputsSequence& sequence, std::size_t longs, std::size_t global, std::size_t columns) {
  for (std::size_t column = 0; column < columns; ++column) {
    const std::vector<std::int32_t>& links = sequence.links[column];
    if (!links.empty() && links[longs] == static_cast<std::int32_t>(global)) return true;
  }
  return false;
}

bool differ(const std::vector<std::int32_t>& numbers, std::size_t a, std::size_t b) {
  return !numbers.empty() && numbers[a] != numbers[b];
}

bool meets_by_chance(const TwoInputsConfig& config, const TwoInputsSequence& sequence, std::size_t layer,
                     std::size_t head, std::size_t query, std::size_t key) {
  if (config.random.empty() || differ(sequence.segments, query, key) || differ(sequence.examples, query, key))
    return false;
  const std::vector<std::size_t>& blocks = config.random[layer][head][query / config.block];
  return std::find(blocks.begin(), blocks.end(), key / config.block) != blocks.end();
}

Matrix one_below_the_other(const Matrix& above, const Matrix& below) {
  Matrix result(above.rows + below.rows, above.columns);
  add_rows(result, above, 0, 0);
  add_rows(result, below, above.rows, 0);
  return result;
}

// One of the two inputs of a layer: its rows, and the names of what it goes through.
struct Side {
  bool longs;
  std::size_t layer;
  std::string query, own, across, output, norm, relative, feed_forward;
};
// across: what projects the *other* input's rows for this side's queries.
Side side_of(const Network& network, std::size_t layer, bool longs) {
  const std::string prefix = "bert.encoder.layer." + std::to_string(layer) + ".",
                    attention = prefix + "attention.";
  const auto first_there = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (network.has(attention + name + ".weight")) return attention + name;
    }
    return std::string();
  };
  Side side;
  side.longs = longs;
  side.layer = layer;
  const std::string own_key = longs ? first_there({"l2l_key"}) : first_there({"g2g_key", "l2l_key"});
  // Keys by the side of the query where those across are not there; one set where that is missing too.
  const std::string across_key =
      longs ? first_there({"l2g_key", "l2l_key"}) : first_there({"g2l_key", "g2g_key", "l2l_key"});
  side.own = own_key.substr(0, own_key.size() - 3);
  side.across = across_key.substr(0, across_key.size() - 3);
  side.query = longs ? first_there({"long_query"}) : first_there({"global_query", "long_query"});
  side.output = longs ? first_there({"long_output"}) : first_there({"global_output", "long_output"});
  side.norm = attention + (longs ? "long_LayerNorm" : "global_LayerNorm");
  side.relative = attention + (longs ? "long_relative" : "global_relative");
  const bool own_part = !longs && network.has(prefix + "global_output.dense.weight");
  side.feed_forward = own_part ? prefix + "global_" : prefix;
  return side;
}

struct SideTrace {
  Matrix input, other, query, key, value, context, sum;  // key, value: own rows, then the other input's
  FeedForwardTrace feed_forward;
};

PairAttention pairs_of(const TwoInputsConfig& config, const TwoInputsSequence& sequence,
                       const Network& network, const Side& side, std::size_t own, std::size_t head) {
  const std::size_t size = config.encoder.hidden / config.encoder.heads;
  PairAttention pairs;
  pairs.scale = 1.0 / std::sqrt(static_cast<double>(size));
  const auto ask = [&config, &sequence, &side, own](const auto& question) {
    return [&config, &sequence, &side, own, question](std::size_t i, std::size_t j) {
      return j < own ? question(config, sequence, side.longs, true, i, j)
                     : question(config, sequence, side.longs, false, i, j - own);
    };
  };
  const auto meets = ask(pair_meets);
  pairs.visible = [&config, &sequence, &side, own, head, meets](std::size_t i, std::size_t j) {
    return meets(i, j) ||
           (side.longs && j < own && meets_by_chance(config, sequence, side.layer, head, i, j));
  };
  if (config.distance == 0) return pairs;
  pairs.label = ask(pair_label);
  const Vector& weight = network.values(side.relative + ".weight");
  const Vector& bias = network.values(side.relative + ".bias");
  const std::size_t labels = bias.size() / config.encoder.heads;
  const Matrix table(labels, config.encoder.hidden, weight);
  pairs.weight = rows_of(table, 0, labels, head * size, size);
  for (std::size_t label = 0; label < labels; ++label)
    pairs.bias.push_back(bias[label * config.encoder.heads + head]);
  return pairs;
}

SideTrace side_forward(const TwoInputsConfig& config, const TwoInputsSequence& sequence,
                       const Network& network, const Side& side, const Matrix& input, const Matrix& other) {
  const std::size_t size = config.encoder.hidden / config.encoder.heads;
  SideTrace trace;
  trace.input = input;
  trace.other = other;
  trace.query = network.linear(side.query, input);
  trace.key = one_below_the_other(network.linear(side.own + "key", input),
                                  network.linear(side.across + "key", other));
  trace.value = one_below_the_other(network.linear(side.own + "value", input),
                                    network.linear(side.across + "value", other));
  trace.context = Matrix(input.rows, input.columns);
  for (std::size_t head = 0; head < config.encoder.heads; ++head) {
    const auto of_head = [&](const Matrix& x) { return rows_of(x, 0, x.rows, head * size, size); };
    const PairAttentionOutput made =
        pair_attention_forward(pairs_of(config, sequence, network, side, input.rows, head),
                               of_head(trace.query), of_head(trace.key), of_head(trace.value));
    add_rows(trace.context, made.output, 0, head * size);
  }
  trace.sum = sum(input, network.linear(side.output, trace.context));
  trace.feed_forward =
      feed_forward_forward(network, side.feed_forward, network.layer_norm(side.norm, trace.sum));
  return trace;
}

// Adds the gradients of the inputs of the layer.
void side_backward(const TwoInputsConfig& config, const TwoInputsSequence& sequence, Network& network,
                   const Side& side, const SideTrace& trace, const Matrix& d_output, Matrix& d_input,
                   Matrix& d_other) {
  const std::size_t size = config.encoder.hidden / config.encoder.heads, own = trace.input.rows;
  const Matrix d_norm = feed_forward_backward(network, side.feed_forward, trace.feed_forward, d_output);
  const Matrix d_sum = network.layer_norm_gradient(side.norm, trace.sum, d_norm);
  d_input = sum(d_input, d_sum);
  const Matrix d_context = network.linear_gradient(side.output, trace.context, d_sum);
  Matrix d_query(trace.query.rows, trace.query.columns), d_key(trace.key.rows, trace.key.columns),
      d_value(trace.value.rows, trace.value.columns);
  for (std::size_t head = 0; head < config.encoder.heads; ++head) {
    const auto of_head = [&](const Matrix& x) { return rows_of(x, 0, x.rows, head * size, size); };
    const PairAttentionGradients made =
        pair_attention_backward(pairs_of(config, sequence, network, side, own, head), of_head(trace.query),
                                of_head(trace.key), of_head(trace.value), of_head(d_context));
    add_rows(d_query, made.query, 0, head * size);
    add_rows(d_key, made.key, 0, head * size);
    add_rows(d_value, made.value, 0, head * size);
    if (config.distance == 0) continue;
    Matrix d_weight(made.bias.size(), config.encoder.hidden), d_bias(made.bias.size(), config.encoder.heads);
    add_rows(d_weight, made.weight, 0, head * size);
    for (std::size_t label = 0; label < made.bias.size(); ++label) d_bias(label, head) = made.bias[label];
    network.add_gradient(side.relative + ".weight", d_weight.values);
    network.add_gradient(side.relative + ".bias", d_bias.values);
  }
  const auto keys = [&](const Matrix& d, const std::string& name) {
    d_input =
        sum(d_input, network.linear_gradient(side.own + name, trace.input, rows_of(d, 0, own, 0, d.columns)));
    d_other = sum(d_other, network.linear_gradient(side.across + name, trace.other,
                                                   rows_of(d, own, d.rows - own, 0, d.columns)));
  };
  d_input = sum(d_input, network.linear_gradient(side.query, trace.input, d_query));
  keys(d_key, "key");
  keys(d_value, "value");
}

// The sum of the embeddings of one input, before its LayerNorm.
struct Embedded {
  std::vector<std::size_t> ids, types, positions;
  std::string position_table, norm;
  Matrix sum;
};
Embedded embed(const Network& network, const TwoInputsSequence& sequence, bool longs) {
  Embedded made{longs ? sequence.ids : sequence.global_ids,
                longs ? sequence.types : sequence.global_types,
                {},
                longs ? "bert.embeddings.position_embeddings.weight"
                      : "bert.embeddings.global_position_embeddings.weight",
                longs ? "bert.embeddings.LayerNorm" : "bert.embeddings.global_LayerNorm",
                {}};
  for (std::size_t i = 0; i < made.ids.size(); ++i)
    made.positions.push_back(network.has(made.position_table) ? i : 0);
  const Matrix positions = network.has(made.position_table) ? network.table(made.position_table)
                                                            : Matrix(1, network.config().hidden);
  made.sum = embedding_forward(network.table(word_table),
                               network.table("bert.embeddings.token_type_embeddings.weight"), positions, 1.0,
                               made.ids, made.types, made.positions);
  return made;
}
void embed_backward(Network& network, const Embedded& made, const Matrix& d_output) {
  const Matrix d_sum = network.layer_norm_gradient(made.norm, made.sum, d_output);
  const bool positions = network.has(made.position_table);
  const EmbeddingGradients gradients = embedding_backward(
      network.table(word_table), network.table("bert.embeddings.token_type_embeddings.weight"),
      positions ? network.table(made.position_table) : Matrix(1, network.config().hidden), 1.0, made.ids,
      made.types, made.positions, d_sum);
  network.add_gradient(word_table, gradients.word.values);
  network.add_gradient("bert.embeddings.token_type_embeddings.weight", gradients.type.values);
  if (positions) network.add_gradient(made.position_table, gradients.position.values);
}

struct Trace {
  Embedded longs, globals;
  std::vector<std::array<SideTrace, 2>> layers;
};
Trace forward(const TwoInputsConfig& config, const Network& network, const TwoInputsSequence& sequence,
              TwoInputsStates& states) {
  Trace trace{embed(network, sequence, true), embed(network, sequence, false), {}};
  states.longs.push_back(network.layer_norm(trace.longs.norm, trace.longs.sum));
  states.globals.push_back(network.layer_norm(trace.globals.norm, trace.globals.sum));
  for (std::size_t layer = 0; layer < config.encoder.layers; ++layer) {
    const Matrix longs = states.longs.back(), globals = states.globals.back();
    trace.layers.push_back(
        {side_forward(config, sequence, network, side_of(network, layer, true), longs, globals),
         side_forward(config, sequence, network, side_of(network, layer, false), globals, longs)});
    states.longs.push_back(trace.layers.back()[0].feed_forward.output);
    states.globals.push_back(trace.layers.back()[1].feed_forward.output);
  }
  return trace;
}

}  // namespace

bool pair_meets(const TwoInputsConfig& config, const TwoInputsSequence& sequence, bool long_query, bool own,
                std::size_t query, std::size_t key) {
  if (own && long_query) {
    const std::size_t apart = query > key ? query - key : key - query;
    return apart <= config.radius && !differ(sequence.segments, query, key) &&
           !differ(sequence.examples, query, key);
  }
  if (own) return !differ(sequence.global_examples, query, key);
  const std::size_t of_long = long_query ? query : key, global = long_query ? key : query;
  if (!sequence.examples.empty() && sequence.examples[of_long] != sequence.global_examples[global])
    return false;
  if (!(long_query ? config.hard_l2g : config.hard_g2l)) return true;
  const std::vector<std::uint8_t>& free = long_query ? sequence.free : sequence.global_free;
  if (!free.empty() && free[query] != 0) return true;
  return linked(sequence, of_long, global, 2);
}

std::size_t pair_label(const TwoInputsConfig& config, const TwoInputsSequence& sequence, bool long_query,
                       bool own, std::size_t query, std::size_t key) {
  if (!own) {
    const bool link = linked(sequence, long_query ? query : key, long_query ? key : query, 3);
    return 2 * config.distance + (link ? 2 : 1);
  }
  if (!long_query && differ(sequence.parts, query, key)) return 2 * config.distance + 3;
  return relative_label(static_cast<std::ptrdiff_t>(key) - static_cast<std::ptrdiff_t>(query),
                        config.distance);
}

TwoInputsStates two_inputs_forward(const TwoInputsConfig& config, const Parameters& parameters,
                                   const TwoInputsSequence& sequence) {
  const Network network(config.encoder, parameters);
  TwoInputsStates states;
  forward(config, network, sequence, states);
  return states;
}

Parameters two_inputs_backward(const TwoInputsConfig& config, const Parameters& parameters,
                               const TwoInputsSequence& sequence, const Matrix& d_longs,
                               const Matrix& d_globals) {
  Network network(config.encoder, parameters);
  TwoInputsStates states;
  const Trace trace = forward(config, network, sequence, states);
  Matrix longs = d_longs, globals = d_globals;
  for (std::size_t layer = config.encoder.layers; layer-- > 0;) {
    Matrix below_longs(longs.rows, longs.columns), below_globals(globals.rows, globals.columns);
    side_backward(config, sequence, network, side_of(network, layer, true), trace.layers[layer][0], longs,
                  below_longs, below_globals);
    side_backward(config, sequence, network, side_of(network, layer, false), trace.layers[layer][1], globals,
                  below_globals, below_longs);
    longs = below_longs;
    globals = below_globals;
  }
  embed_backward(network, trace.longs, longs);
  embed_backward(network, trace.globals, globals);
  return network.gradients();
}

}  // namespace bigbird::reference
