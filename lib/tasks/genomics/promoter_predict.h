// Promoter scores of windows, streamed: one row a window, in input order, whatever the batch or the number of
// threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kernels/backend.h"
#include "lib/model/model.h"
#include "lib/tasks/genomics/windows.h"

namespace bigbird {

class PromoterPredictor {
 public:
  // A folder of `promoter finetune`. Error{bad_input} for a model without a classifier of two classes, or
  // whose tokenizer does not agree. micro_batch windows run at once.
  PromoterPredictor(const std::string& model_folder, std::int64_t micro_batch, kernels::Backend& backend);

  // Calls row(window, probability of class 1) for every window, in order. Returns how many there were.
  // Windows with more tokens than the model's input length are cut at their right end, and counted in one
  // warning.
  std::int64_t predict(WindowReader& windows, const std::function<void(const Window&, double)>& row);

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Model> model_;
  std::int64_t micro_batch_;
};

}  // namespace bigbird
