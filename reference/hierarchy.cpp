// Three stacks of post-LN layers on one another; see hierarchy.h.
#include "reference/hierarchy.h"

#include <cmath>
#include <string>
#include <utility>

#include "reference/attention.h"
#include "reference/losses.h"
#include "reference/stack.h"

namespace bigbird::reference {
namespace {

Matrix piece(const Matrix& x, std::size_t row, std::size_t rows, std::size_t column, std::size_t columns) {
  Matrix result(rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result(i, j) = x(row + i, column + j);
  }
  return result;
}

void add_piece(Matrix& x, std::size_t row, std::size_t column, const Matrix& from) {
  for (std::size_t i = 0; i < from.rows; ++i) {
    for (std::size_t j = 0; j < from.columns; ++j) x(row + i, column + j) += from(i, j);
  }
}

// Runs of rows that see each other, and nothing else.
struct SeenRows {
  std::vector<std::size_t> lengths;
  bool causal = false;
};

template <typename Work>
void for_each_head(const SeenRows& rows, std::size_t heads, std::size_t width, const Work& work) {
  const std::size_t size = width / heads;
  std::size_t row = 0;
  for (const std::size_t length : rows.lengths) {
    for (std::size_t column = 0; column < width; column += size)
      work(CrossAttentionShape{length, rows.causal}, row, length, column, size);
    row += length;
  }
}

struct SelfTrace {
  Matrix input, query, key, value, context, total, output;
};

SelfTrace self_forward(const Network& network, const std::string& prefix, const SeenRows& rows,
                       const Matrix& x) {
  SelfTrace trace;
  trace.input = x;
  trace.query = network.linear(prefix + "self.query", x);
  trace.key = network.linear(prefix + "self.key", x);
  trace.value = network.linear(prefix + "self.value", x);
  trace.context = Matrix(x.rows, x.columns);
  for_each_head(rows, network.config().heads, x.columns,
                [&](const CrossAttentionShape& shape, std::size_t row, std::size_t length, std::size_t column,
                    std::size_t size) {
                  add_piece(trace.context, row, column,
                            cross_attention_forward(shape, piece(trace.query, row, length, column, size),
                                                    piece(trace.key, row, length, column, size),
                                                    piece(trace.value, row, length, column, size)));
                });
  trace.total = sum(x, network.linear(prefix + "output.dense", trace.context));
  trace.output = network.layer_norm(prefix + "output.LayerNorm", trace.total);
  return trace;
}

Matrix self_backward(Network& network, const std::string& prefix, const SeenRows& rows,
                     const SelfTrace& trace, const Matrix& d_output) {
  const Matrix d_total = network.layer_norm_gradient(prefix + "output.LayerNorm", trace.total, d_output);
  const Matrix d_context = network.linear_gradient(prefix + "output.dense", trace.context, d_total);
  Matrix d_query(trace.query.rows, trace.query.columns), d_key = d_query, d_value = d_query;
  for_each_head(
      rows, network.config().heads, trace.query.columns,
      [&](const CrossAttentionShape& shape, std::size_t row, std::size_t length, std::size_t column,
          std::size_t size) {
        const CrossAttentionGradients of = cross_attention_backward(
            shape, piece(trace.query, row, length, column, size), piece(trace.key, row, length, column, size),
            piece(trace.value, row, length, column, size), piece(d_context, row, length, column, size));
        add_piece(d_query, row, column, of.query);
        add_piece(d_key, row, column, of.key);
        add_piece(d_value, row, column, of.value);
      });
  Matrix d_input = sum(d_total, network.linear_gradient(prefix + "self.query", trace.input, d_query));
  d_input = sum(d_input, network.linear_gradient(prefix + "self.key", trace.input, d_key));
  return sum(d_input, network.linear_gradient(prefix + "self.value", trace.input, d_value));
}

// A layer; of the decoder with the rows that are added.
struct HierarchyLayerTrace {
  SelfTrace self;
  Matrix added_total;
  FeedForwardTrace feed_forward;
};

struct HierarchyStack {
  std::string name;
  std::size_t layers = 0;
  SeenRows rows;
  const Matrix* added = nullptr;
  std::vector<HierarchyLayerTrace> traces = {};

  std::string prefix(std::size_t layer) const { return name + std::to_string(layer) + "."; }

  Matrix forward(const Network& network, Matrix x) {
    for (std::size_t layer = 0; layer < layers; ++layer) {
      HierarchyLayerTrace trace;
      trace.self = self_forward(network, prefix(layer) + "attention.", rows, x);
      x = trace.self.output;
      if (added != nullptr) {
        trace.added_total = sum(x, *added);
        x = network.layer_norm(prefix(layer) + "sentence.LayerNorm", trace.added_total);
      }
      trace.feed_forward = feed_forward_forward(network, prefix(layer), x);
      x = trace.feed_forward.output;
      traces.push_back(std::move(trace));
    }
    return x;
  }

  // The gradient of the input; that of the added rows is summed in d_added.
  Matrix backward(Network& network, Matrix d_x, Matrix* d_added) const {
    for (std::size_t layer = layers; layer-- > 0;) {
      const HierarchyLayerTrace& trace = traces[layer];
      d_x = feed_forward_backward(network, prefix(layer), trace.feed_forward, d_x);
      if (added != nullptr) {
        d_x = network.layer_norm_gradient(prefix(layer) + "sentence.LayerNorm", trace.added_total, d_x);
        *d_added = sum(*d_added, d_x);
      }
      d_x = self_backward(network, prefix(layer) + "attention.", rows, trace.self, d_x);
    }
    return d_x;
  }
};

// Sequences end to end, as the tables of embeddings take them.
struct EmbeddedTokens {
  std::vector<std::size_t> ids, types, positions, lengths;
  explicit EmbeddedTokens(const std::vector<std::vector<std::size_t>>& sequences) {
    for (const std::vector<std::size_t>& sequence : sequences) {
      lengths.push_back(sequence.size());
      for (std::size_t i = 0; i < sequence.size(); ++i) {
        ids.push_back(sequence[i]);
        positions.push_back(i);
      }
    }
    types.assign(ids.size(), 0);
  }
  Matrix forward(const Network& network, const Matrix& places) const {
    return embedding_forward(network.table(word_table), Matrix(1, places.columns), places,
                             word_scale(network.config()), ids, types, positions);
  }
  void backward(Network& network, const Matrix& places, const Matrix& d_x) const {
    const EmbeddingGradients gradients =
        embedding_backward(network.table(word_table), Matrix(1, places.columns), places,
                           word_scale(network.config()), ids, types, positions, d_x);
    network.add_gradient(word_table, gradients.word.values);
  }
};

}  // namespace

Matrix sinusoid_table(std::size_t positions, std::size_t width) {
  Matrix table(positions, width);
  for (std::size_t p = 0; p < positions; ++p) {
    for (std::size_t i = 0; i < width; ++i) {
      const double angle = static_cast<double>(p) /
                           std::pow(10000.0, static_cast<double>(i - i % 2) / static_cast<double>(width));
      table(p, i) = i % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return table;
}

HierarchyResult hierarchy(const HierarchyConfig& config, const Parameters& parameters,
                          const HierarchyInput& input, bool with_gradients) {
  Network network(config.encoder, parameters);
  const std::size_t width = config.encoder.hidden, sentences = input.sentences.size();
  const Matrix places = sinusoid_table(config.encoder.positions, width);
  const EmbeddedTokens tokens(input.sentences);
  HierarchyStack first{"bert.encoder.layer.", config.encoder.layers, {tokens.lengths, false}};
  HierarchyResult result;
  result.token_states = first.forward(network, tokens.forward(network, places));

  std::vector<std::size_t> ends;
  for (std::size_t s = 0, end = 0; s < sentences; ++s) ends.push_back((end += tokens.lengths[s]) - 1);
  Matrix placed(sentences, width);
  for (std::size_t document = 0, s = 0; document < input.sentence_counts.size(); ++document) {
    for (std::size_t place = 0; place < input.sentence_counts[document]; ++place, ++s) {
      for (std::size_t i = 0; i < width; ++i)
        placed(s, i) = result.token_states(ends[s], i) + places(place, i);
    }
  }
  HierarchyStack second{"documents.layer.", config.document_layers, {input.sentence_counts, false}};
  result.sentence_states = second.forward(network, placed);

  Matrix d_states(sentences, width);
  if (!input.labels.empty()) {
    result.logits = network.linear("sentence_labels", result.sentence_states);
    const LossAndGradient loss = softmax_cross_entropy(result.logits, input.labels);
    result.loss = loss.loss;
    d_states = network.linear_gradient("sentence_labels", result.sentence_states, loss.gradient);
  } else {
    const EmbeddedTokens read(input.read);
    std::vector<std::int64_t> next;
    Matrix added(read.ids.size(), width);
    std::vector<std::size_t> sentence_of;
    for (std::size_t s = 0; s < input.written.size(); ++s) {
      next.insert(next.end(), input.next[s].begin(), input.next[s].end());
      sentence_of.insert(sentence_of.end(), input.read[s].size(), input.written[s]);
    }
    for (std::size_t t = 0; t < sentence_of.size(); ++t)
      add_piece(added, t, 0, piece(result.sentence_states, sentence_of[t], 1, 0, width));
    HierarchyStack decoder{"decoder.layer.", config.decoder_layers, {read.lengths, true}, &added};
    const Matrix state = decoder.forward(network, read.forward(network, places));
    const std::string output = network.has("lm_head.weight") ? "lm_head.weight" : word_table;
    result.logits = linear_forward(state, network.values(output), {});
    const LossAndGradient loss = softmax_cross_entropy(result.logits, next);
    result.loss = loss.loss;
    const LinearGradients of_output = linear_backward(state, network.values(output), loss.gradient);
    network.add_gradient(output, of_output.weight);
    Matrix d_added(added.rows, width);
    read.backward(network, places, decoder.backward(network, of_output.x, &d_added));
    for (std::size_t t = 0; t < sentence_of.size(); ++t)
      add_piece(d_states, sentence_of[t], 0, piece(d_added, t, 1, 0, width));
  }
  if (!with_gradients) return result;
  const Matrix d_placed = second.backward(network, d_states, nullptr);
  Matrix d_tokens(tokens.ids.size(), width);
  for (std::size_t s = 0; s < sentences; ++s)
    add_piece(d_tokens, ends[s], 0, piece(d_placed, s, 1, 0, width));
  tokens.backward(network, places, first.backward(network, d_tokens, nullptr));
  result.gradients = network.gradients();
  return result;
}

}  // namespace bigbird::reference
