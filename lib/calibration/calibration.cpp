// Fits and applies calibrations; see calibration.h.
#include "lib/calibration/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "lib/core/names.h"
#include "lib/inference/probabilities.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<CalibrationMethod, const char*>, 4> calibration_names{
    {{CalibrationMethod::none, "none"},
     {CalibrationMethod::prior, "prior"},
     {CalibrationMethod::platt, "platt"},
     {CalibrationMethod::isotonic, "isotonic"}}};

// Windows of one score.
struct Tie {
  double score = 0;
  std::int64_t positives = 0;
  std::int64_t negatives = 0;
  std::int64_t count() const { return positives + negatives; }
};

// By score, ascending.
std::vector<Tie> pool_ties(std::span<const double> scores, std::span<const std::uint8_t> labels) {
  std::vector<std::pair<double, std::uint8_t>> windows;
  windows.reserve(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) windows.emplace_back(scores[i], labels[i]);
  std::sort(windows.begin(), windows.end());
  std::vector<Tie> ties;
  for (const auto& [score, label] : windows) {
    if (ties.empty() || ties.back().score != score) ties.push_back({score, 0, 0});
    ++(label != 0 ? ties.back().positives : ties.back().negatives);
  }
  return ties;
}

// Cross entropy of sigmoid(f) with a target, without overflow.
double cross_entropy(double target, double f) {
  if (f >= 0) return (1 - target) * f + std::log1p(std::exp(-f));
  return std::log1p(std::exp(f)) - target * f;
}

// Newton's method with halved steps, as Lin, Lin and Weng give it; their A and B with the other sign.
class PlattFit {
 public:
  PlattFit(const std::vector<Tie>& ties, std::int64_t positives, std::int64_t negatives) {
    const auto of_positives = static_cast<double>(positives), of_negatives = static_cast<double>(negatives);
    high_ = (of_positives + 1) / (of_positives + 2);
    low_ = 1 / (of_negatives + 2);
    for (const Tie& tie : ties)
      points_.push_back(
          {logit(tie.score), static_cast<double>(tie.positives), static_cast<double>(tie.negatives)});
    curve_ = {0, std::log((of_positives + 1) / (of_negatives + 1))};
    tolerance_ = 1e-12 * (of_positives + of_negatives);
  }

  PlattCurve run() {
    constexpr int most_steps = 100;
    double loss = loss_of(curve_);
    for (int step = 0; step < most_steps; ++step) {
      const Derivatives at = derivatives();
      if (std::abs(at.slope) < tolerance_ && std::abs(at.offset) < tolerance_) break;
      const double determinant = at.slope_slope * at.offset_offset - at.slope_offset * at.slope_offset;
      const PlattCurve direction = {
          -(at.offset_offset * at.slope - at.slope_offset * at.offset) / determinant,
          -(at.slope_slope * at.offset - at.slope_offset * at.slope) / determinant};
      if (!take_step(direction, at.slope * direction.slope + at.offset * direction.offset, loss)) break;
    }
    return curve_;
  }

 private:
  struct Point {
    double z, positives, negatives;
  };
  struct Derivatives {
    double slope = 0, offset = 0, slope_slope = 0, slope_offset = 0, offset_offset = 0;
  };

  double loss_of(const PlattCurve& curve) const {
    double sum = 0;
    for (const Point& point : points_) {
      const double f = curve.slope * point.z + curve.offset;
      if (point.positives > 0) sum += point.positives * cross_entropy(high_, f);
      if (point.negatives > 0) sum += point.negatives * cross_entropy(low_, f);
    }
    return sum;
  }

  Derivatives derivatives() const {
    // Keeps the Hessian regular where all scores are one.
    constexpr double ridge = 1e-12;
    Derivatives sums;
    sums.slope_slope = sums.offset_offset = ridge;
    for (const Point& point : points_) {
      const double p = sigmoid(curve_.slope * point.z + curve_.offset);
      const double count = point.positives + point.negatives;
      const double error = count * p - point.positives * high_ - point.negatives * low_;
      const double curvature = count * p * (1 - p);
      sums.slope += point.z * error;
      sums.offset += error;
      sums.slope_slope += point.z * point.z * curvature;
      sums.slope_offset += point.z * curvature;
      sums.offset_offset += curvature;
    }
    return sums;
  }

  // False where no step makes the loss smaller: it is as small as doubles tell.
  bool take_step(const PlattCurve& direction, double descent, double& loss) {
    constexpr double shortest = 1e-10, sufficient = 1e-4;
    for (double length = 1; length >= shortest; length /= 2) {
      const PlattCurve next = {curve_.slope + length * direction.slope,
                               curve_.offset + length * direction.offset};
      const double loss_there = loss_of(next);
      if (!(loss_there < loss + sufficient * length * descent)) continue;
      curve_ = next;
      loss = loss_there;
      return true;
    }
    return false;
  }

  std::vector<Point> points_;
  double high_ = 1;
  double low_ = 0;
  double tolerance_ = 0;
  PlattCurve curve_;
};

// Pool adjacent violators. Shares of blocks are compared as fractions of whole numbers, which is exact.
IsotonicCurve fit_isotonic(const std::vector<Tie>& ties, double refit) {
  struct Block {
    double lowest, highest;
    std::int64_t positives, count;
  };
  std::vector<Block> blocks;
  for (const Tie& tie : ties) {
    blocks.push_back({tie.score, tie.score, tie.positives, tie.count()});
    while (blocks.size() > 1) {
      const Block& last = blocks.back();
      Block& before = blocks[blocks.size() - 2];
      if (before.positives * last.count < last.positives * before.count) break;
      before.highest = last.highest;
      before.positives += last.positives;
      before.count += last.count;
      blocks.pop_back();
    }
  }
  IsotonicCurve curve;
  for (const Block& block : blocks) {
    const double share = static_cast<double>(block.positives) / static_cast<double>(block.count);
    curve.scores.push_back(block.lowest);
    curve.values.push_back(shifted(share, refit));
    if (block.highest == block.lowest) continue;
    curve.scores.push_back(block.highest);
    curve.values.push_back(curve.values.back());
  }
  return curve;
}

}  // namespace

CalibrationMethod parse_calibration_method(const std::string& name) {
  return parse_name(calibration_names, name, "method of calibration");
}

const char* name_of(CalibrationMethod method) {
  return find_name(calibration_names, method);
}

double logit(double probability) {
  constexpr double least = 0x1p-53;
  const double bounded = std::clamp(probability, least, 1 - least);
  return std::log(bounded) - std::log1p(-bounded);
}

double shifted(double probability, double shift) {
  const double odds = std::exp(shift);
  return odds * probability / (odds * probability + (1 - probability));
}

double IsotonicCurve::operator()(double score) const {
  if (score <= scores.front()) return values.front();
  if (score >= scores.back()) return values.back();
  const auto above =
      static_cast<std::size_t>(std::upper_bound(scores.begin(), scores.end(), score) - scores.begin());
  const std::size_t below = above - 1;
  const double part = (score - scores[below]) / (scores[above] - scores[below]);
  return values[below] + part * (values[above] - values[below]);
}

double OutputCalibration::calibrated(CalibrationMethod method, double score) const {
  if (method == CalibrationMethod::none) return score;
  if (method == CalibrationMethod::platt && platt) {
    return sigmoid(platt->slope * logit(score) + platt->offset);
  }
  if (method == CalibrationMethod::isotonic && isotonic) return (*isotonic)(score);
  return sigmoid(logit(score) + shift);
}

OutputCalibration fit_calibration(std::span<const double> scores, std::span<const std::uint8_t> labels,
                                  const PriorCorrection& prior) {
  OutputCalibration output;
  output.shift = prior.shift;
  const std::vector<Tie> ties = pool_ties(scores, labels);
  for (const Tie& tie : ties) {
    output.positives += tie.positives;
    output.negatives += tie.negatives;
  }
  if (output.positives == 0 || output.negatives == 0) return output;
  output.platt = PlattFit(ties, output.positives, output.negatives).run();
  output.platt->offset += prior.refit;
  output.isotonic = fit_isotonic(ties, prior.refit);
  return output;
}

}  // namespace bigbird
