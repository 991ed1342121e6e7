// A fine-tuned model as its task sees it: the model folder, what each of its outputs stands for, and the
// window that it was made for. A verb that runs such a model opens it here, and a new kind of task adds its
// questions here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/inference/model_task.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird {

class FinetunedModel {
 public:
  // Error{bad_input}: a folder without a classification head, a tokenizer that does not agree or is for
  // another alphabet, window.json or profiles.tsv that do not fit.
  explicit FinetunedModel(const std::string& path, Alphabet alphabet = Alphabet::dna);

  const ModelFolder& folder() const { return folder_; }
  const std::string& path() const { return folder_.path(); }
  const ModelConfig& config() const { return folder_.config(); }

  // A row for each output. Multi-label heads: each label, its sigmoid. Two classes: one, the probability of
  // class 1. More classes: each, their softmax. Regression: the value itself.
  const std::vector<Profile>& profiles() const { return profiles_; }
  bool gives_probabilities() const { return config().problem_type != ProblemType::regression; }
  // The window that the model was trained with, where its folder tells.
  const std::optional<ModelWindow>& window() const { return window_; }
  // Whether the folder tells that the model was made for this task ("promoter", "chromatin").
  bool made_for(const std::string& task) const { return window_ && window_->task == task; }

  // Error{bad_input} when the folder tells of another task.
  void require_task(const std::string& task) const;
  // Error{bad_input} when its profiles, window or kind of output are not those of `first`: their mean says
  // nothing.
  void require_like(const FinetunedModel& first) const;

  // The model's own window. For a model that does not tell: `length` bases with the target in the middle.
  // Error{usage}: `length` is 0 and the model does not tell, or it tells another length.
  ModelWindow window_of(std::int64_t length) const;
  // Strands::automatic resolved, the others as they are.
  Strands strands_of(Strands strands) const;

 private:
  ModelFolder folder_;
  std::vector<Profile> profiles_;
  std::optional<ModelWindow> window_;
};

}  // namespace bigbird
