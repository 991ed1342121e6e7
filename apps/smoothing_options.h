// Label smoothing on the command line, alike in every verb that takes the loss of a decoder.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "lib/model/label_smoothing.h"

namespace bigbird::apps {

class SmoothingOptions {
 public:
  // `smoothing` is referred to and has the default.
  void add(CLI::App& app, LabelSmoothing& smoothing);
  // After parsing. Error{usage} for a form that does not exist.
  void apply(LabelSmoothing& smoothing) const;

 private:
  std::string form_;
};

}  // namespace bigbird::apps
