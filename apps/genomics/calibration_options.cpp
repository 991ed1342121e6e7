// Options of the verbs calibrate; see calibration_options.h.
#include "apps/genomics/calibration_options.h"

#include <fmt/format.h>

#include "lib/calibration/calibration_run.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/report/curves.h"

namespace bigbird::apps {

void CalibrationOptions::add(Verb& verb, const std::string& model_of) {
  verb.add_required("-m,--model MODEL", model_,
                    "Model folder of " + model_of + ", which gets a calibration.json");
  verb.add_option("-o,--output FILE", output_, "Table of the methods and their errors; - is stdout");
  verb.add_option("--bins COUNT", bins_, "Bins of the calibration error and of the curves",
                  CLI::Range(1, 10'000));
  verb.add_option("--curve FILE", curve_,
                  "Reliability curves: mean probability and observed fraction of each bin");
  verb.add_option("--svg FILE", svg_, "Picture of the reliability curves");
  for (const char* place : {"--curve", "--svg"}) verb.leave_out_of_provenance(place);
  verb.add_force("Replace a calibration that the model has");
}

void CalibrationOptions::check(const Verb& verb) const {
  const std::string path = calibration_path(model_);
  if (verb.force() || !file_exists(path)) return;
  throw_bad_input(path + ": is there already", "--force replaces it");
}

OutputSet CalibrationOptions::outputs() const {
  return OutputSet(
      {{"--output", output_}, {"--curve", curve_}, {"--svg", svg_}, {"", calibration_path(model_)}});
}

void CalibrationOptions::write_measured(const Verb& verb, const std::vector<MeasuredMethod>& measured,
                                        const std::string& measured_on,
                                        const std::vector<std::string>& comments) const {
  if (!curve_.empty()) write_reliability_curves(curve_, measured, verb.head_of(curve_, comments));
  if (!svg_.empty()) {
    write_text_atomic(svg_,
                      reliability_svg(fmt::format("Calibration, measured on {}", measured_on), measured));
  }
  write_calibration_table(output_, measured, measured_on, verb.head_of(output_, comments));
}

void CalibrationOptions::fit(const Verb& verb, SequenceScorer& scorer, const LabelledScores& side,
                             const CalibrationChoices& choices, const MeasuredSide& other,
                             Calibration calibration, const Provenance& provenance,
                             const std::string& profiles_tsv) const {
  calibration.weights = scorer.digests().front();
  calibration.strands = scorer.strands_read();
  calibration.windows = static_cast<std::int64_t>(side.windows());
  calibration.outputs = fit_calibrations(side, choices);
  const std::vector<MeasuredMethod> measured =
      other.scores ? measure_calibrations(*other.scores, calibration.outputs, choices)
                   : cross_measure_calibrations(side, choices);
  std::vector<std::string> comments;
  if (verb.provenance()) {
    comments = provenance_lines(provenance);
    calibration.provenance = provenance_json(provenance);
  }
  for (const std::string& line : describe_calibration(calibration.outputs, scorer.profiles()))
    log_warning(line);
  if (!profiles_tsv.empty()) {
    write_calibration_of_profiles(profiles_tsv, measured, scorer.profiles(), calibration.outputs,
                                  verb.head_of(profiles_tsv, comments));
  }
  write_measured(verb, measured, other.name, comments);
  write_calibration(model_, calibration);
  log_info(fmt::format("{}: fitted on {} windows of {}", calibration_path(model_), calibration.windows,
                       calibration.fitted_on));
}

CalibrationChoices CalibrationOptions::choices(const Verb& verb, CalibrationChoices choices) const {
  choices.bins = bins_;
  choices.seed = verb.seed();
  return choices;
}

}  // namespace bigbird::apps
