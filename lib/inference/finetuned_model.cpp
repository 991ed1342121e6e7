// Opening fine-tuned models; see finetuned_model.h.
#include "lib/inference/finetuned_model.h"

#include <fmt/format.h>

#include "lib/core/error.h"
#include "lib/inference/probabilities.h"

namespace bigbird {

FinetunedModel::FinetunedModel(const std::string& path, Alphabet alphabet) : folder_(path) {
  folder_.require_classifier();
  folder_.require(alphabet);
  std::vector<std::string> names = config().label_names;
  const std::size_t outputs = outputs_of(config());
  if (outputs == 1 && names.size() == 2) names.erase(names.begin());
  profiles_ = read_model_profiles(path, outputs, names);
  window_ = read_model_window(path);
}

void FinetunedModel::require_task(const std::string& task) const {
  if (!window_ || window_->task == task) return;
  throw_bad_input(fmt::format("{}: a model of the task {}, not {}", path(), window_->task, task),
                  fmt::format("make one with `bigbird {} finetune`, or use the verbs of bigbird {}", task,
                              window_->task));
}

void FinetunedModel::require_like(const FinetunedModel& first) const {
  const auto refuse = [&](const char* what) {
    throw_bad_input(fmt::format("{}: its {} not the ones of {}", path(), what, first.path()),
                    "models that are averaged must have been fine-tuned on the same data set");
  };
  if (profiles_ != first.profiles_) refuse("profiles are");
  if (window_ != first.window_) refuse("window and target are");
  if (gives_probabilities() != first.gives_probabilities()) refuse("outputs are");
}

ModelWindow FinetunedModel::window_of(std::int64_t length) const {
  if (window_) {
    if (length != 0 && length != window_->length) {
      throw_usage(message("`window` {}: {} was trained on windows of {} bp", length, path(), window_->length),
                  "leave the window away");
    }
    return *window_;
  }
  if (length < 1) {
    throw_usage(path() + ": has no window",
                message("give the bases of the `window` that it was trained with"));
  }
  return centred_window(length);
}

Strands FinetunedModel::strands_of(Strands strands) const {
  if (strands != Strands::automatic) return strands;
  return made_for("promoter") ? Strands::forward : Strands::both;
}

}  // namespace bigbird
