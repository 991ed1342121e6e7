// See smoothing_options.h.
#include "apps/smoothing_options.h"

namespace bigbird::apps {

void SmoothingOptions::add(CLI::App& app, LabelSmoothing& smoothing) {
  form_ = name_of(smoothing.form);
  app.add_option(
         "--label-smoothing", smoothing.epsilon,
         "Fraction of each label of a decoder that is spread over the whole vocabulary; 0.1 as published, 0 "
         "for none")
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str();
  app.add_option("--smoothing", form_,
                 "How it is spread: over all tokens (huggingface), or over all others and less its entropy "
                 "(google)")
      ->capture_default_str();
}

void SmoothingOptions::apply(LabelSmoothing& smoothing) const {
  smoothing.form = parse_smoothing_form(form_);
}

}  // namespace bigbird::apps
