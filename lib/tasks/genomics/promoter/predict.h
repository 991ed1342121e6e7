// Class probabilities of windows, streamed: one row a window, in input order, whatever the batch or the
// number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kernels/backend.h"
#include "lib/model/network/model.h"
#include "lib/tasks/windows.h"

namespace bigbird {

class PromoterPredictor {
 public:
  // A folder of `promoter finetune`. Error{bad_input} for a model without a classifier of one label, or whose
  // tokenizer does not agree. micro_batch windows run at once.
  PromoterPredictor(const std::string& model_folder, std::int64_t micro_batch, kernels::Backend& backend);

  // Classes of the model: 2 for promoters and their negatives.
  std::size_t classes() const { return classes_; }

  // Calls row(window, probability of each class) for every window, in order. Returns how many there were.
  // Windows with a larger share of N than max_n are not scored: their row has no probabilities.
  // Windows with more tokens than the model's input length are cut at their right end, and counted in one
  // warning.
  std::int64_t predict(WindowReader& windows, double max_n,
                       const std::function<void(const Window&, std::span<const double>)>& row);

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Model> model_;
  std::int64_t micro_batch_;
  std::size_t classes_ = 2;
};

}  // namespace bigbird
