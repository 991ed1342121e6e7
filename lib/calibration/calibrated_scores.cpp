// See calibrated_scores.h.
#include "lib/calibration/calibrated_scores.h"

#include <fmt/format.h>

#include <optional>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/sha256.h"

namespace bigbird {
namespace {

// The verb that makes one for such a model.
std::string calibrate_verb(const FinetunedModel& model) {
  return fmt::format("`bigbird {} calibrate`", model.window() ? model.window()->task : "promoter");
}

}  // namespace

CalibratedScores::CalibratedScores(CalibrationMethod method, SequenceScorer& scorer) : method_(method) {
  if (method == CalibrationMethod::none) return;
  for (std::size_t i = 0; i < scorer.models(); ++i) {
    const FinetunedModel& model = scorer.all_models()[i];
    const std::string path = calibration_path(model.path());
    std::optional<Calibration> read = read_calibration(model.path(), scorer.outputs());
    if (!read) {
      throw_bad_input(
          fmt::format("{}: has no calibration, there is no {}", model.path(), calibration_file_name),
          "make one with " + calibrate_verb(model) + message(", or leave `calibrated` away"));
    }
    if (read->weights != scorer.digests()[i]) {
      throw_bad_input(path + ": weights differs from the sha256 of the model's weights",
                      "calibrate these weights with " + calibrate_verb(model));
    }
    if (read->strands != scorer.strands_read()) {
      log_warning(fmt::format("{}: was fitted on scores of the strands {}, and {} are read here", path,
                              name_of(read->strands), name_of(scorer.strands_read())));
    }
    if (const std::size_t left = read->outputs.size() - read->fitted();
        left > 0 && method != CalibrationMethod::prior) {
      log_warning(fmt::format(
          "{}: {} of {} outputs were not fitted, for lack of positives or negatives: theirs is prior correction",
          path, left, read->outputs.size()));
    }
    files_.push_back({"calibration", path, sha256_file(path)});
    models_.push_back(std::move(*read));
  }
}

double CalibratedScores::mean(const SequenceScores& scores, std::size_t models, std::size_t strands,
                              std::size_t output) const {
  // In this order, which the bytes of outputs hang on.
  if (method_ == CalibrationMethod::none) {
    double sum = 0;
    for (std::size_t strand = 0; strand < strands; ++strand) {
      for (std::size_t model = 0; model < models; ++model) sum += scores.at(model, strand, output);
    }
    return sum / static_cast<double>(models * strands);
  }
  double sum = 0;
  for (std::size_t model = 0; model < models; ++model) {
    double score = 0;
    for (std::size_t strand = 0; strand < strands; ++strand) score += scores.at(model, strand, output);
    sum += models_[model].outputs[output].calibrated(method_, score / static_cast<double>(strands));
  }
  return sum / static_cast<double>(models);
}

double CalibratedScores::mean(const SequenceScores& scores, std::size_t output) const {
  if (method_ == CalibrationMethod::none) return scores.mean(output);
  return mean(scores, scores.models(), scores.strands, output);
}

std::string CalibratedScores::identity() const {
  std::string text = name_of(method_);
  for (const ProvenanceInput& file : files_) text += " " + file.sha256;
  return text;
}

void CalibratedScores::add_to(Provenance& provenance) const {
  provenance.inputs.insert(provenance.inputs.end(), files_.begin(), files_.end());
}

void CalibratedScores::add_to(std::vector<std::string>& comments) const {
  if (method_ != CalibrationMethod::none) comments.push_back(fmt::format("calibrated={}", name_of(method_)));
}

}  // namespace bigbird
