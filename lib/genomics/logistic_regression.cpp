// See logistic_regression.h.
#include "lib/genomics/logistic_regression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/progress.h"

namespace bigbird {
namespace {

constexpr std::size_t lanes = 8;        // tasks that share a pass over the rows
constexpr std::size_t row_blocks = 16;  // whose sums are taken apart, whatever the number of threads
constexpr std::size_t remembered = 10;  // steps of L-BFGS

using Lanes = std::array<double, lanes>;

double dot_product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// ln(1 + e^z) without overflow.
double softplus(double z) {
  return z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
}

// One minimisation, asked for points and told their values. The penalised loss is strictly convex, so that
// every step that lowers it leaves s.y > 0, and the Armijo condition alone is enough.
class Minimisation {
 public:
  Minimisation(std::size_t size, double tolerance, int most_steps)
      : tolerance_(tolerance), most_steps_(most_steps), here_(size), trial_(size) {}

  bool done() const { return done_; }
  bool converged() const { return converged_; }
  int steps() const { return steps_; }
  const std::vector<double>& here() const { return here_; }  // the best so far
  const std::vector<double>& ask() const { return trial_; }  // what value and gradient are wanted of

  void tell(double value, std::vector<double> gradient) {
    constexpr double enough = 1e-4, shortest = 1e-10;
    if (begun_ && !(value <= value_ + enough * length_ * slope_)) {
      length_ *= 0.5;
      // What rounding lets be seen is reached.
      if (length_ < shortest) {
        converged_ = done_ = true;
        return;
      }
      return aim();
    }
    if (begun_) {
      remember(gradient);
      ++steps_;
    }
    begun_ = true;
    here_ = trial_;
    value_ = value;
    gradient_ = std::move(gradient);
    double largest = 0;
    for (const double component : gradient_) largest = std::max(largest, std::abs(component));
    converged_ = largest <= tolerance_;
    done_ = converged_ || steps_ >= most_steps_;
    if (done_) return;
    choose_direction();
    length_ = steps_ == 0 ? std::min(1.0, 1.0 / std::sqrt(dot_product(gradient_, gradient_))) : 1.0;
    aim();
  }

 private:
  struct Step {
    std::vector<double> moved, changed;  // of the point, of the gradient
    double inverse = 0;                  // of their product
  };

  void remember(const std::vector<double>& gradient) {
    Step step{trial_, gradient, 0};
    for (std::size_t i = 0; i < trial_.size(); ++i) {
      step.moved[i] -= here_[i];
      step.changed[i] -= gradient_[i];
    }
    const double product = dot_product(step.moved, step.changed);
    if (!(product > 0)) return;
    step.inverse = 1 / product;
    past_.push_back(std::move(step));
    if (past_.size() > remembered) past_.pop_front();
  }

  // The two loops of algorithm 7.4.
  void choose_direction() {
    direction_ = gradient_;
    std::vector<double> weights(past_.size());
    const auto add = [&](const std::vector<double>& vector, double times) {
      for (std::size_t i = 0; i < vector.size(); ++i) direction_[i] += times * vector[i];
    };
    for (std::size_t i = past_.size(); i-- > 0;) {
      weights[i] = past_[i].inverse * dot_product(past_[i].moved, direction_);
      add(past_[i].changed, -weights[i]);
    }
    if (!past_.empty()) {
      const Step& last = past_.back();
      const double scale = 1 / (last.inverse * dot_product(last.changed, last.changed));
      for (double& component : direction_) component *= scale;
    }
    for (std::size_t i = 0; i < past_.size(); ++i) {
      add(past_[i].moved, weights[i] - past_[i].inverse * dot_product(past_[i].changed, direction_));
    }
    for (double& component : direction_) component = -component;
    slope_ = dot_product(gradient_, direction_);
  }

  void aim() {
    for (std::size_t i = 0; i < trial_.size(); ++i) trial_[i] = here_[i] + length_ * direction_[i];
  }

  double tolerance_;
  int most_steps_;
  std::vector<double> here_, trial_, gradient_, direction_;
  std::deque<Step> past_;
  double value_ = 0, slope_ = 0, length_ = 1;
  int steps_ = 0;
  bool begun_ = false, done_ = false, converged_ = false;
};

std::vector<double> means_of(const SparseRows& rows) {
  std::vector<double> means(rows.features);
  for (const KmerValue& each : rows.values) means[each.feature] += static_cast<double>(each.value);
  for (double& mean : means) mean /= static_cast<double>(rows.rows());
  return means;
}

// Up to 8 tasks, a lane each: one pass over the rows gives value and gradient of all. What is minimised is in
// centred features, f - mean(f): the weights are the same, the intercept is that of a row of means, and 85
// steps became 13.
class LaneGroup {
 public:
  LaneGroup(const SparseRows& rows, std::span<const double> means, std::span<const LogisticTask> tasks,
            const LogisticOptions& options)
      : rows_(rows),
        means_(means),
        tasks_(tasks),
        points_(rows.features + 1),
        sums_(std::min(row_blocks, rows.rows())) {
    for (std::size_t lane = 0; lane < tasks.size(); ++lane)
      lanes_.emplace_back(rows.features + 1, options.tolerance, options.most_steps);
    for (Sums& sums : sums_) sums.gradient.resize(rows.features + 1);
  }

  std::vector<LogisticModel> fit() {
    while (std::any_of(lanes_.begin(), lanes_.end(), [](const Minimisation& one) { return !one.done(); })) {
      throw_if_cancelled();
      pass();
    }
    std::vector<LogisticModel> models;
    for (const Minimisation& lane : lanes_) {
      LogisticModel model;
      model.weights.assign(lane.here().begin(), lane.here().end() - 1);
      model.intercept = intercept_of(lane.here());
      model.steps = lane.steps();
      model.converged = lane.converged();
      models.push_back(std::move(model));
    }
    return models;
  }

 private:
  struct Sums {
    Lanes loss{};
    std::vector<Lanes> gradient;  // [features + 1], the intercept last
  };

  // Of features that are not centred.
  double intercept_of(const std::vector<double>& point) const {
    return std::inner_product(means_.begin(), means_.end(), point.begin(), -point.back()) * -1;
  }

  void pass() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const std::vector<double>& point = lanes_[lane].ask();
      for (std::size_t i = 0; i + 1 < point.size(); ++i) points_[i][lane] = point[i];
      points_.back()[lane] = intercept_of(point);
    }
    kernels::parallel_for(sums_.size(), [&](std::size_t block) { add_block(block); });
    const double share = 1.0 / static_cast<double>(rows_.rows());
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (lanes_[lane].done()) continue;
      const std::vector<double>& point = lanes_[lane].ask();
      const double l2 = tasks_[lane].l2;
      double loss = 0, squares = 0;
      std::vector<double> gradient(point.size());
      for (const Sums& sums : sums_) {
        loss += sums.loss[lane];
        for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += sums.gradient[i][lane];
      }
      for (std::size_t i = 0; i + 1 < point.size(); ++i) {
        squares += point[i] * point[i];
        gradient[i] += l2 * point[i] - means_[i] * gradient.back();
      }
      for (double& component : gradient) component *= share;
      lanes_[lane].tell((loss + l2 / 2 * squares) * share, std::move(gradient));
    }
  }

  void add_block(std::size_t block) {
    Sums& sums = sums_[block];
    sums.loss = {};
    std::fill(sums.gradient.begin(), sums.gradient.end(), Lanes{});
    const std::size_t first = rows_.rows() * block / sums_.size();
    const std::size_t last = rows_.rows() * (block + 1) / sums_.size();
    for (std::size_t row = first; row < last; ++row) {
      const KmerValue* const begin = rows_.values.data() + rows_.starts[row];
      const KmerValue* const end = rows_.values.data() + rows_.starts[row + 1];
      Lanes z = points_.back();
      for (const KmerValue* at = begin; at != end; ++at) {
        const double value = static_cast<double>(at->value);
        const Lanes& weights = points_[at->feature];
        for (std::size_t lane = 0; lane < lanes; ++lane) z[lane] += value * weights[lane];
      }
      Lanes residual{};
      for (std::size_t lane = 0; lane < tasks_.size(); ++lane) {
        const double label = tasks_[lane].labels[row];
        sums.loss[lane] += softplus(z[lane]) - label * z[lane];
        residual[lane] = 1 / (1 + std::exp(-z[lane])) - label;
        sums.gradient.back()[lane] += residual[lane];
      }
      for (const KmerValue* at = begin; at != end; ++at) {
        const double value = static_cast<double>(at->value);
        Lanes& gradient = sums.gradient[at->feature];
        for (std::size_t lane = 0; lane < lanes; ++lane) gradient[lane] += value * residual[lane];
      }
    }
  }

  const SparseRows& rows_;
  std::span<const double> means_;
  std::span<const LogisticTask> tasks_;
  std::vector<Lanes> points_;  // [features + 1], the intercept last
  std::vector<Sums> sums_;
  std::vector<Minimisation> lanes_;
};

}  // namespace

double LogisticModel::logit(std::span<const KmerValue> row) const {
  double sum = intercept;
  for (const KmerValue& each : row) sum += static_cast<double>(each.value) * weights[each.feature];
  return sum;
}

std::vector<double> LogisticModel::logits(const SparseRows& rows) const {
  std::vector<double> result(rows.rows());
  for (std::size_t row = 0; row < result.size(); ++row) {
    result[row] =
        logit(std::span(rows.values).subspan(rows.starts[row], rows.starts[row + 1] - rows.starts[row]));
  }
  return result;
}

std::vector<LogisticModel> fit_logistic(const SparseRows& rows, std::span<const LogisticTask> tasks,
                                        const LogisticOptions& options) {
  std::optional<Progress> progress;
  if (!options.progress.empty()) progress.emplace(options.progress, tasks.size(), "fits");
  const std::vector<double> means = means_of(rows);
  std::vector<LogisticModel> models;
  for (std::size_t first = 0; first < tasks.size(); first += lanes) {
    const std::size_t count = std::min(lanes, tasks.size() - first);
    for (LogisticModel& model : LaneGroup(rows, means, tasks.subspan(first, count), options).fit())
      models.push_back(std::move(model));
    if (progress) progress->advance(count);
  }
  return models;
}

double log_loss(const LogisticModel& model, const SparseRows& rows, std::span<const std::uint8_t> labels) {
  const std::vector<double> logits = model.logits(rows);
  double sum = 0;
  for (std::size_t row = 0; row < logits.size(); ++row)
    sum += softplus(logits[row]) - static_cast<double>(labels[row]) * logits[row];
  return sum / static_cast<double>(logits.size());
}

}  // namespace bigbird
