// Tensors for a test of LAMB, one behind the other with gaps between, of which every second decays; one is of
// zeros, one has no gradient. The tests of both backends share them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/types.h"
#include "reference/optimizer.h"

namespace bigbird::kernels::testing {

class LambCase {
 public:
  explicit LambCase(const std::vector<Index>& counts) : states_(counts.size()) {
    for (const Index count : counts) {
      pieces_.push_back({count_, count, pieces_.size() % 2 == 0});
      count_ += count + (pieces_.size() % 3 == 0 ? 5 : 0);
    }
  }

  const std::vector<LambPiece>& pieces() const { return pieces_; }
  Index count() const { return count_; }

  // Zeros for the first tensor that decays: its ratio is 1.
  void empty_first(std::vector<float>& parameters) const {
    std::fill_n(parameters.begin(), pieces_.front().count, 0.0f);
  }
  // None for the last tensor.
  void thin(std::vector<float>& gradients) const {
    std::fill(gradients.begin() + static_cast<std::ptrdiff_t>(pieces_.back().offset), gradients.end(), 0.0f);
  }

  static LambStep step() {
    LambStep step;
    step.weight_decay = 0.1f;
    step.gradient_scale = 0.5f;
    return step;
  }

  // What the squares of whole tensors make of a learning rate.
  std::vector<float> rates(double learning_rate, const std::vector<LambSquares>& squares) const {
    std::vector<float> rates;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const bool adapts = pieces_[i].decay && squares[i].parameter > 0 && squares[i].update > 0;
      const double ratio = adapts ? std::sqrt(squares[i].parameter / squares[i].update) : 1.0;
      rates.push_back(static_cast<float>(learning_rate * ratio));
    }
    return rates;
  }

  // The reference's update of all, numbers between tensors staying as they are.
  void update(double learning_rate, const std::vector<float>& gradients, reference::Vector& parameters) {
    reference::LambOptions options;
    options.weight_decay = 0.1;
    for (std::size_t t = 0; t < pieces_.size(); ++t) {
      const auto first = static_cast<std::ptrdiff_t>(pieces_[t].offset);
      const auto last = first + static_cast<std::ptrdiff_t>(pieces_[t].count);
      reference::Vector gradient(gradients.begin() + first, gradients.begin() + last);
      for (double& g : gradient) g *= 0.5;
      reference::Vector values(parameters.begin() + first, parameters.begin() + last);
      options.excluded = !pieces_[t].decay;
      reference::lamb_update(options, learning_rate, gradient, values, states_[t]);
      std::copy(values.begin(), values.end(), parameters.begin() + first);
    }
  }

  // Of the reference, as the backends lay them out.
  reference::Vector first_moments() const { return laid_out(&reference::AdamWState::first_moment); }
  reference::Vector second_moments() const { return laid_out(&reference::AdamWState::second_moment); }

 private:
  reference::Vector laid_out(reference::Vector reference::AdamWState::*part) const {
    reference::Vector all(static_cast<std::size_t>(count_));
    for (std::size_t t = 0; t < pieces_.size(); ++t) {
      const reference::Vector& values = states_[t].*part;
      std::copy(values.begin(), values.end(), all.begin() + static_cast<std::ptrdiff_t>(pieces_[t].offset));
    }
    return all;
  }

  std::vector<LambPiece> pieces_;
  std::vector<reference::AdamWState> states_;
  Index count_ = 0;
};

}  // namespace bigbird::kernels::testing
