// lib/calibration holds from scores to probabilities: Platt, isotonic and temperature fits, the file beside a
// model, its use, and the report of a fit. The errors that it is judged by are in lib/metrics.
//
// Scores of models as their folders' calibration makes them probabilities: what a verb with `calibrated`
// writes. Calibrated is the mean over the strands that are read of one model; of several models then the mean
// of what each of them says.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/calibration/calibration_file.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/io/files/provenance.h"

namespace bigbird {

class CalibratedScores {
 public:
  // With CalibrationMethod::none nothing is read, and means are those of the models' own scores.
  // Error{bad_input} naming the folder of a model without a calibration, or with one of other weights. Of one
  // that was fitted on other strands than are read, or not fitted for some outputs, a warning says so.
  CalibratedScores(CalibrationMethod method, SequenceScorer& scorer);

  CalibrationMethod method() const { return method_; }
  // Over the first models and strands.
  double mean(const SequenceScores& scores, std::size_t models, std::size_t strands,
              std::size_t output) const;
  // Over all of them.
  double mean(const SequenceScores& scores, std::size_t output) const;

  // For the identity of a run (`calibrated`): "none", or the method and the digests of the files.
  std::string identity() const;
  // The files, as inputs of the run, and the line "calibrated=METHOD" for outputs that are calibrated.
  void add_to(Provenance& provenance) const;
  void add_to(std::vector<std::string>& comments) const;

 private:
  CalibrationMethod method_;
  std::vector<Calibration> models_;
  std::vector<ProvenanceInput> files_;
};

}  // namespace bigbird
