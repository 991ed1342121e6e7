// The encoder stack without a head, for the heads of heads.cpp: each step's input is kept so that the
// backward pass reads as the forward in reverse.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "reference/encoder.h"
#include "reference/layers.h"

namespace bigbird::reference {

inline const std::string word_table = "bert.embeddings.word_embeddings.weight";

// The model's parameters and their gradients so far; gradients are added, since the word table is used twice.
class Network {
 public:
  Network(const EncoderConfig& config, const Parameters& parameters)
      : config_(config), parameters_(parameters) {
    for (const auto& [name, values] : parameters) gradients_[name].assign(values.size(), 0.0);
  }

  const EncoderConfig& config() const { return config_; }
  const Parameters& gradients() const { return gradients_; }

  bool has(const std::string& name) const { return parameters_.count(name) != 0; }
  const Vector& values(const std::string& name) const {
    const auto found = parameters_.find(name);
    if (found == parameters_.end()) throw std::invalid_argument("the encoder misses the parameter " + name);
    return found->second;
  }
  Matrix table(const std::string& name) const {
    const Vector& all = values(name);
    return Matrix(all.size() / config_.hidden, config_.hidden, all);
  }
  void add_gradient(const std::string& name, const Vector& gradient) {
    gradients_.at(name) = sum(gradients_.at(name), gradient);
  }

  Matrix linear(const std::string& name, const Matrix& x) const {
    return linear_forward(x, values(name + ".weight"),
                          has(name + ".bias") ? values(name + ".bias") : Vector());
  }
  Matrix linear_gradient(const std::string& name, const Matrix& x, const Matrix& d_y) {
    const LinearGradients gradients = linear_backward(x, values(name + ".weight"), d_y);
    add_gradient(name + ".weight", gradients.weight);
    if (has(name + ".bias")) add_gradient(name + ".bias", gradients.bias);
    return gradients.x;
  }

  Matrix layer_norm(const std::string& name, const Matrix& x) const {
    return layer_norm_forward(x, values(name + ".weight"), values(name + ".bias"),
                              config_.layer_norm_epsilon);
  }
  Matrix layer_norm_gradient(const std::string& name, const Matrix& x, const Matrix& d_y) {
    const LayerNormGradients gradients =
        layer_norm_backward(x, values(name + ".weight"), config_.layer_norm_epsilon, d_y);
    add_gradient(name + ".weight", gradients.gamma);
    add_gradient(name + ".bias", gradients.beta);
    return gradients.x;
  }

 private:
  EncoderConfig config_;
  const Parameters& parameters_;
  Parameters gradients_;
};

struct Projections {
  Matrix query;
  Matrix key;
  Matrix value;
};

// What the forward pass of a layer leaves for the backward pass: the input of every step.
struct FeedForwardTrace {
  Matrix input;
  Matrix normalised;    // input, or its LayerNorm for pre-LN
  Matrix intermediate;  // before gelu
  Matrix activated;     // after gelu
  Matrix sum;           // input + what the dense layers give, before LayerNorm
  Matrix output;        // LayerNorm(sum), or sum itself for pre-LN
};
struct LayerTrace {
  Matrix input;             // of the layer
  Matrix attention_input;   // input, or its LayerNorm for pre-LN
  Projections projections;  // query and key after their turn
  Matrix context;
  Matrix attention_sum;           // input + attention output, before LayerNorm
  FeedForwardTrace feed_forward;  // of LayerNorm(attention_sum), or attention_sum itself for pre-LN
};

// The feed-forward half of a layer of either stack, whose parameters begin with `prefix`.
FeedForwardTrace feed_forward_forward(const Network& network, const std::string& prefix, const Matrix& x);
Matrix feed_forward_backward(Network& network, const std::string& prefix, const FeedForwardTrace& trace,
                             const Matrix& d_output);

// What the word table's rows are multiplied by as inputs.
double word_scale(const EncoderConfig& config);

struct StackTrace {
  Matrix letters, letters_activated;  // of a stem: (letters, channels)
  Matrix embedded;                    // the sum of the three embeddings, before LayerNorm
  Matrix stack_input;
  std::vector<LayerTrace> layers;
  Matrix joined;  // of two streams: both side by side
  Matrix output;  // after the final LayerNorm where there is one
};

// trace.output is what the heads read; d_output is its gradient, and all gradients go into the network.
StackTrace stack_forward(const Network& network, const Sequences& sequences);
void stack_backward(Network& network, const Sequences& sequences, const StackTrace& trace,
                    const Matrix& d_output);

// The states of single letters, (letters, hidden), that a stem's rows are spread over.
struct SpreadTrace {
  Matrix pre;
  Matrix output;
};
SpreadTrace spread_forward(const Network& network, const Matrix& rows);
// The gradient of the rows.
Matrix spread_backward(Network& network, const Matrix& rows, const SpreadTrace& trace,
                       const Matrix& d_output);

}  // namespace bigbird::reference
