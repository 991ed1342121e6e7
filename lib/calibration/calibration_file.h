// calibration.json of a model folder: how the model's scores become probabilities (calibration.h).
//
//   {
//     "format": "bigbird calibration 1",
//     "task": "chromatin",              the verb that wrote it: `bigbird TASK calibrate`
//     "weights": "...",                 sha256 of the weights that it belongs to
//     "strands": "both",                whose mean was calibrated: both, + or -
//     "fitted_on": "data, split valid", as given
//     "windows": 4000,                  of the fit
//     "prior": 0.01,                    fraction of positives that is aimed at; null: that of the fit
//     "train_prior": 0.5,               prior correction of fractions ...
//     "positive_weight": null,          ... or of weighted positives
//     "provenance": {...},              null with --no-provenance
//     "outputs": [                      one line each, in the order of the model's outputs
//       {"name": "promoter", "positives": 500, "negatives": 500, "shift": -4.6,
//        "platt": {"slope": 0.9, "offset": -4.5}, "isotonic": {"scores": [...], "values": [...]}}
//     ]
//   }
//
// platt and isotonic are null where an output had windows of one class only. Numbers are written so that they
// are read back exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/calibration/calibration.h"
#include "lib/inference/model_task.h"

namespace bigbird {

struct Calibration {
  std::string task;
  std::string weights;
  Strands strands = Strands::both;
  std::string fitted_on;
  std::int64_t windows = 0;
  std::optional<double> prior;
  std::optional<double> train_prior;
  std::optional<double> positive_weight;
  std::string provenance;  // JSON; empty: none
  std::vector<std::string> names;
  std::vector<OutputCalibration> outputs;  // as many as names

  std::size_t fitted() const;  // outputs with both classes
};

inline constexpr const char* calibration_file_name = "calibration.json";
std::string calibration_path(const std::string& model_folder);

// Whole or not at all, over what is there.
void write_calibration(const std::string& model_folder, const Calibration& calibration);
// Nothing where the folder has none. Error{bad_input} naming file and field: damaged, of another format,
// numbers that are no calibration, another number of outputs than the model has.
std::optional<Calibration> read_calibration(const std::string& model_folder, std::size_t outputs);
// The strands that it was fitted on, before the model is opened. Nothing where the folder has none, or none
// that can be read, which read_calibration tells.
std::optional<Strands> strands_of_calibration(const std::string& model_folder);

}  // namespace bigbird
