// Promoter scores; see predict.h.
#include "lib/tasks/genomics/promoter/predict.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/model/folder/checkpoint.h"
#include "lib/model/folder/config_json.h"
#include "lib/tasks/finetuning.h"
#include "lib/tasks/window_classifier.h"

namespace bigbird {

PromoterPredictor::PromoterPredictor(const std::string& model_folder, std::int64_t micro_batch,
                                     kernels::Backend& backend)
    : micro_batch_(micro_batch) {
  const ModelConfig stored = read_config(model_folder + "/config.json");
  if (stored.head != HeadType::classification || stored.num_labels < 2 ||
      stored.problem_type != ProblemType::single_label) {
    throw_bad_input(model_folder + ": not a promoter classifier",
                    "make one with `bigbird promoter finetune`");
  }
  LoadedModel loaded = load_model(model_folder, HeadType::classification, 0, stored.num_labels);
  classes_ = static_cast<std::size_t>(stored.num_labels);
  if (loaded.config.input_length == 0) loaded.config.input_length = loaded.config.max_position_embeddings;
  tokenizer_ = load_tokenizer(model_folder);
  check_tokenizer_agrees(loaded.config, static_cast<std::int64_t>(tokenizer_->vocab_size()),
                         tokenizer_->digest(), model_folder, model_folder);
  model_ = std::make_unique<Model>(backend, loaded.config, padded_limits(loaded.config, micro_batch),
                                   ModelOptions{});
  model_->set_parameters(loaded.parameters);
}

std::int64_t PromoterPredictor::predict(
    WindowReader& windows, double max_n,
    const std::function<void(const Window&, std::span<const double>)>& row) {
  const std::int64_t length = model_->config().input_length;
  std::vector<Window> pending;
  std::vector<ClassifiedSequence> sequences;  // of those that are scored
  std::int64_t count = 0, shortened = 0, left_out = 0;
  Progress progress("promoter predict", 0, "windows");
  const auto flush = [&] {
    const std::vector<double> probabilities = classify(*model_, sequences, micro_batch_);
    std::span<const double> rest = probabilities;
    for (const Window& one : pending) {
      const bool scored = share_of_n(one.sequence) <= max_n;
      row(one, rest.first(scored ? classes_ : 0));
      rest = rest.subspan(scored ? classes_ : 0);
      left_out += scored ? 0 : 1;
    }
    progress.advance(pending.size());
    count += static_cast<std::int64_t>(pending.size());
    pending.clear();
    sequences.clear();
  };
  Window window;
  while (windows.next(window)) {
    if (share_of_n(window.sequence) <= max_n) {
      ClassifiedSequence& sequence = sequences.emplace_back();
      shortened += encode_window(*tokenizer_, window.sequence, length, sequence.ids) ? 1 : 0;
    }
    pending.push_back(std::move(window));
    if (static_cast<std::int64_t>(pending.size()) == micro_batch_) flush();
  }
  if (!pending.empty()) flush();
  if (left_out > 0) {
    log_warning(fmt::format("{} of {} windows have a larger share of N than {} and were not scored", left_out,
                            count, max_n));
  }
  if (shortened > 0) {
    log_warning(fmt::format("{} of {} windows have more than {} tokens and were cut at their right end",
                            shortened, count, length));
  }
  return count;
}

}  // namespace bigbird
