// What the verbs calibrate ask in the same words, and what they leave beside the model's calibration.json: a
// table of the methods, reliability curves as table and picture.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "lib/calibration/calibration_file.h"
#include "lib/calibration/calibration_run.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"

namespace bigbird::apps {

// What a calibration is measured on.
struct MeasuredSide {
  std::string name;                      // as the tables say it
  std::optional<LabelledScores> scores;  // nothing: folds of the side that it was fitted on
};

// Bound to the options by add(); read after parsing.
class CalibrationOptions {
 public:
  // -m, --bins, -o, --curve, --svg and --force.
  void add(Verb& verb, const std::string& model_of);

  const std::string& model() const { return model_; }
  // Error{bad_input} where the model has a calibration, unless it is to be replaced: before anything is
  // computed.
  void check(const Verb& verb) const;
  // All files of the verb, which appear together.
  OutputSet outputs() const;
  // With what was typed of it.
  CalibrationChoices choices(const Verb& verb, CalibrationChoices choices) const;
  // Fits the outputs on `side`, measures the fit, and writes the model's calibration.json, which
  // `calibration` begins, with all tables; `profiles_tsv` where it is named.
  void fit(const Verb& verb, SequenceScorer& scorer, const LabelledScores& side,
           const CalibrationChoices& choices, const MeasuredSide& other, Calibration calibration,
           const Provenance& provenance, const std::string& profiles_tsv = "") const;

 private:
  void write_measured(const Verb& verb, const std::vector<MeasuredMethod>& measured,
                      const std::string& measured_on, const std::vector<std::string>& comments) const;

  std::string model_;
  std::size_t bins_ = 15;
  std::string output_ = "-";
  std::string curve_, svg_;
};

}  // namespace bigbird::apps
