// Tensors for a test of Adafactor, one behind the other with gaps between: odd shapes, rows, columns and
// whole tensors without a gradient. The tests of both backends share them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/types.h"
#include "reference/optimizer.h"

namespace bigbird::kernels::testing {

class AdafactorCase {
 public:
  // Shapes of one or two dimensions.
  explicit AdafactorCase(std::vector<std::vector<std::size_t>> shapes) : shapes_(std::move(shapes)) {
    for (const std::vector<std::size_t>& shape : shapes_) {
      AdafactorTensor& tensor = tensors_.emplace_back();
      tensor.columns = static_cast<Index>(shape.back());
      tensor.rows = shape.size() > 1 ? static_cast<Index>(shape.front()) : 1;
      tensor.offset = count_;
      tensor.rate = 1.0 / static_cast<double>(tensors_.size());
      if (shape.size() > 1) {
        tensor.row_means = state_count_;
        state_count_ += tensor.rows;
      }
      tensor.column_means = state_count_;
      state_count_ += tensor.columns;
      count_ += tensor.rows * tensor.columns + (tensors_.size() % 3 == 0 ? 5 : 0);
    }
    states_.resize(tensors_.size());
  }

  const std::vector<AdafactorTensor>& tensors() const { return tensors_; }
  Index count() const { return count_; }  // of parameters and gradients
  Index state_count() const { return state_count_; }

  // Takes gradients away: of each third tensor the first row, of each second one a column, all of the last.
  void thin(std::vector<float>& gradients) const {
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const AdafactorTensor& tensor = tensors_[t];
      for (Index i = 0; i < tensor.rows * tensor.columns; ++i) {
        const Index row = i / tensor.columns, column = i % tensor.columns;
        const bool none = t + 1 == tensors_.size() || (t % 3 == 0 && row == 0 && tensor.rows > 1) ||
                          (t % 2 == 0 && column == tensor.columns / 2 && tensor.columns > 1);
        if (none) gradients[static_cast<std::size_t>(tensor.offset + i)] = 0.0f;
      }
    }
  }

  static AdafactorStep step(double learning_rate, int update, float gradient_scale) {
    return {learning_rate, 1.0 - std::pow(static_cast<double>(update), -0.8), gradient_scale};
  }

  // The reference's update of all, numbers between tensors staying as they are.
  void update(const AdafactorStep& step, const std::vector<float>& gradients, reference::Vector& parameters) {
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const AdafactorTensor& tensor = tensors_[t];
      const auto first = static_cast<std::ptrdiff_t>(tensor.offset);
      const auto last = static_cast<std::ptrdiff_t>(tensor.offset + tensor.rows * tensor.columns);
      reference::Vector gradient(gradients.begin() + first, gradients.begin() + last);
      for (double& g : gradient) g *= static_cast<double>(step.gradient_scale);
      reference::Vector values(parameters.begin() + first, parameters.begin() + last);
      reference::adafactor_update(step.learning_rate * tensor.rate, shapes_[t], gradient, values, states_[t]);
      std::copy(values.begin(), values.end(), parameters.begin() + first);
    }
  }

  // Of the reference, as the backends lay it out.
  reference::Vector state() const {
    reference::Vector all(static_cast<std::size_t>(state_count_));
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      const auto put = [&](const reference::Vector& values, Index at) {
        std::copy(values.begin(), values.end(), all.begin() + static_cast<std::ptrdiff_t>(at));
      };
      put(states_[t].rows, std::max<Index>(0, tensors_[t].row_means));
      put(states_[t].columns, tensors_[t].column_means);
      put(states_[t].squares, tensors_[t].column_means);
    }
    return all;
  }

 private:
  std::vector<std::vector<std::size_t>> shapes_;
  std::vector<AdafactorTensor> tensors_;
  std::vector<reference::AdafactorState> states_;
  Index count_ = 0;
  Index state_count_ = 0;
};

}  // namespace bigbird::kernels::testing
