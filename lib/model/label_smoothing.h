// Label smoothing of what a decoder predicts (Szegedy et al. 2016, section 7), in the two forms that
// summaries were trained with.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace bigbird {

enum class SmoothingForm {
  // transformers' Trainer, label_smoothing_factor: (1 - e) (-log p(label)) + e (the mean over all columns of
  // -log p).
  huggingface,
  // google-research/bigbird and Pegasus: 1 - e at the label, e / (V - 1) at each other column, less the
  // entropy of that distribution (with their 1e-20 in the logarithm), so that the best loss is 0.
  google,
};
inline constexpr std::array<std::pair<SmoothingForm, const char*>, 2> smoothing_names{
    {{SmoothingForm::huggingface, "huggingface"}, {SmoothingForm::google, "google"}}};

std::string name_of(SmoothingForm form);
// Error{usage} listing the names.
SmoothingForm parse_smoothing_form(const std::string& name);

struct LabelSmoothing {
  double epsilon = 0.0;  // 0: none. Below 1
  SmoothingForm form = SmoothingForm::huggingface;

  // Of the distribution over `classes`: at the label, and at each other class. Together they are 1.
  double own_share(std::int64_t classes) const {
    return 1.0 - static_cast<double>(classes - 1) * other_share(classes);
  }
  double other_share(std::int64_t classes) const;
  // What is taken off the loss of every label.
  double entropy(std::int64_t classes) const;
};

}  // namespace bigbird
