// Calibration of a classifier's probabilities: from the score p that a model gives for one output, and the
// labels of windows that it was not trained on, to a probability that means what it says. With the logit
// z = ln(p / (1 - p)):
//
//   prior     z + shift, in closed form. A model trained with positives weighted by w learns odds w times too
//             high: shift = -ln w. One trained where a fraction q was positive, to be used where a fraction
//             r is: shift = ln(r / (1 - r)) - ln(q / (1 - q)).
//   platt     sigmoid(slope z + offset) of maximum likelihood, with the targets (n+ + 1) / (n+ + 2) of
//             positives and 1 / (n- + 2) of negatives (Platt 1999; Newton's method as Lin, Lin and Weng
//             2007).
//   isotonic  the non-decreasing steps of least squares over p (pool adjacent violators; equal scores are
//             pooled first), linear between the ends of two steps and constant outside.
//
// All in double; results depend neither on the order of the windows nor on threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bigbird {

enum class CalibrationMethod { none, prior, platt, isotonic };
inline constexpr std::array<CalibrationMethod, 4> calibration_methods{
    CalibrationMethod::none, CalibrationMethod::prior, CalibrationMethod::platt, CalibrationMethod::isotonic};
// "none", "prior", "platt", "isotonic". Error{usage} that lists them.
CalibrationMethod parse_calibration_method(const std::string& name);
const char* name_of(CalibrationMethod method);

// ln(p / (1 - p)). Probabilities beyond [2^-53, 1 - 2^-53], 0 and 1 among them, count as the nearer end: a
// double cannot tell those above from 1.
double logit(double probability);
// The probability whose logit is higher by so much; 0 and 1 stay.
double shifted(double probability, double shift);

struct PlattCurve {
  double slope = 1;
  double offset = 0;
};

// The ends of the steps: a step of several scores has two, its lowest and its highest.
struct IsotonicCurve {
  std::vector<double> scores;  // ascending, no two alike; at least one
  std::vector<double> values;  // of each score; never falling, 0 to 1
  double operator()(double score) const;
};

// Of one output of a model.
struct OutputCalibration {
  std::int64_t positives = 0;  // windows that it was fitted on
  std::int64_t negatives = 0;
  double shift = 0;  // of prior correction
  // Without both kinds of windows there is nothing to fit: then prior correction stands for both.
  std::optional<PlattCurve> platt;
  std::optional<IsotonicCurve> isotonic;

  bool fitted() const { return platt.has_value(); }
  double calibrated(CalibrationMethod method, double score) const;
};

// What is known without looking at scores.
struct PriorCorrection {
  double shift = 0;  // of the model's own scores
  // Added to the logits of what is fitted: from the fraction of positives among the windows of the fit to the
  // share that is wanted. For isotonic regression that is the fit with classes weighted so.
  double refit = 0;
};

// scores: 0 to 1; labels: 0 or 1, one each.
OutputCalibration fit_calibration(std::span<const double> scores, std::span<const std::uint8_t> labels,
                                  const PriorCorrection& prior);

}  // namespace bigbird
