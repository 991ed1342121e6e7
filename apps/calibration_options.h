// What the verbs calibrate ask in the same words, and what they leave beside the model's calibration.json: a
// table of the methods, reliability curves as table and picture.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "lib/io/files/output_set.h"
#include "lib/tasks/calibration_file.h"
#include "lib/tasks/calibration_run.h"

namespace bigbird::apps {

// Bound to the options by add(); read after parsing.
class CalibrationOptions {
 public:
  // -m, --bins, -o, --curve, --svg and --force.
  void add(Verb& verb, const std::string& model_of);

  const std::string& model() const { return model_; }
  std::size_t bins() const { return bins_; }
  // Error{bad_input} where the model has a calibration, unless it is to be replaced: before anything is
  // computed.
  void check(const Verb& verb) const;
  // All files of the verb, which appear together.
  OutputSet outputs() const;
  // `comments`: "##" lines of the tables.
  void write_measured(const std::vector<MeasuredMethod>& measured, const std::string& measured_on,
                      const std::vector<std::string>& comments) const;
  // The model's calibration.json.
  void write(const Calibration& calibration) const;

 private:
  std::string model_;
  std::size_t bins_ = 15;
  std::string output_ = "-";
  std::string curve_, svg_;
};

}  // namespace bigbird::apps
