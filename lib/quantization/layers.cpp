// See layers.h.
#include "lib/quantization/layers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/progress.h"
#include "lib/metrics/metrics.h"
#include "lib/model/network/linear_layers.h"
#include "lib/model/network/model.h"

namespace bigbird {
namespace {

// [rows, columns] of what the head gives.
std::vector<float> head_logits(Model& model, const Batch& batch) {
  model.forward(batch, {});
  return model.config().head == HeadType::classification ? model.sequence_logits() : model.masked_logits();
}

std::size_t columns_of(const ModelConfig& config) {
  return static_cast<std::size_t>(config.head == HeadType::classification ? config.num_labels
                                                                          : config.vocab_size);
}

double squares_between(const std::vector<float>& one, const std::vector<float>& other) {
  double sum = 0.0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double difference = static_cast<double>(one[i]) - static_cast<double>(other[i]);
    sum += difference * difference;
  }
  return sum;
}

// log(sum exp) of a row.
double log_sum_exp(const float* row, std::size_t count) {
  const double most = static_cast<double>(*std::max_element(row, row + count));
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(row[i]) - most);
  return most + std::log(sum);
}

double divergence_of_row(const float* full, const float* quantized, std::size_t count) {
  const double of_full = log_sum_exp(full, count), of_quantized = log_sum_exp(quantized, count);
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const double log_p = static_cast<double>(full[i]) - of_full;
    sum += std::exp(log_p) * (log_p - (static_cast<double>(quantized[i]) - of_quantized));
  }
  return sum;
}

void require_int8(bool possible, Model& model) {
  if (possible) return;
  throw Error(ErrorKind::environment, "this device has no int8: " + model.backend().description(),
              "quantize on the processor");
}

}  // namespace

std::vector<LayerError> layer_errors(Model& model, std::size_t batches,
                                     const std::function<Batch(std::size_t)>& batch) {
  const std::vector<LinearLayer> layers = linear_layers(model.config());
  const std::size_t columns = columns_of(model.config());
  std::vector<double> squares(layers.size()), sums(columns), sums_of_squares(columns);
  double rows = 0.0;
  Progress progress("layers", batches * layers.size(), "passes");
  for (std::size_t i = 0; i < batches; ++i) {
    const Batch one = batch(i);
    model.compute_in_int8({});
    const std::vector<float> full = head_logits(model, one);
    for (std::size_t at = 0; at < full.size(); ++at) {
      const auto value = static_cast<double>(full[at]);
      sums[at % columns] += value;
      sums_of_squares[at % columns] += value * value;
    }
    const std::size_t here = full.size() / columns;
    rows += static_cast<double>(here);
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      throw_if_cancelled();
      require_int8(model.compute_in_int8({layers[layer].name}), model);
      squares[layer] += squares_between(full, head_logits(model, one));
      progress.advance(1);
    }
  }
  model.compute_in_int8({});
  double spread = 0.0;
  for (std::size_t column = 0; column < columns; ++column)
    spread += sums_of_squares[column] - sums[column] * sums[column] / rows;
  std::vector<LayerError> errors;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const double error = squares[layer] == 0.0 ? 0.0 : std::sqrt(squares[layer] / spread);
    if (!std::isfinite(error)) {
      throw_bad_input(
          "the model gives the same for the whole sample: there is nothing to hold errors against",
          "take a trained model, and a larger sample");
    }
    errors.push_back({layers[layer].name, error});
  }
  return errors;
}

LayerChoice choose_layers(const std::vector<LayerError>& errors, std::size_t keep) {
  std::vector<std::size_t> order(errors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return errors[a].error > errors[b].error; });
  std::vector<bool> stays(errors.size(), false);
  for (std::size_t i = 0; i < std::min(keep, order.size()); ++i) stays[order[i]] = true;
  LayerChoice choice;
  for (std::size_t i = 0; i < errors.size(); ++i) (stays[i] ? choice.kept : choice.int8).push_back(errors[i]);
  return choice;
}

std::size_t outlying_layers(const std::vector<LayerError>& errors) {
  std::vector<double> sorted;
  for (const LayerError& layer : errors) sorted.push_back(layer.error);
  std::sort(sorted.begin(), sorted.end());
  if (sorted.empty()) return 0;
  const double limit = 4.0 * percentile(sorted, 0.5);
  return static_cast<std::size_t>(sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), limit));
}

double mean_auroc(const LabelledScores& scores) {
  double sum = 0.0;
  std::int64_t outputs = 0;
  for (std::size_t output = 0; output < scores.outputs; ++output) {
    std::vector<double> positives, negatives;
    for (std::size_t i = output; i < scores.labels.size(); i += scores.outputs)
      (scores.labels[i] != 0 ? positives : negatives).push_back(scores.scores[i]);
    if (positives.empty() || negatives.empty()) continue;
    sum += rank_metrics(positives, negatives).auroc;
    ++outputs;
  }
  if (outputs == 0)
    throw_bad_input("no output has windows of both classes: there is no AUROC", "take more windows");
  return sum / static_cast<double>(outputs);
}

double effect_correlation(Model& model, std::size_t batches, const std::function<Batch(std::size_t)>& batch,
                          const std::vector<std::string>& layers) {
  const std::size_t outputs = columns_of(model.config());
  std::vector<std::vector<double>> full(outputs), quantized(outputs);
  Progress progress("effects", batches, "windows");
  for (std::size_t i = 0; i < batches; ++i) {
    throw_if_cancelled();
    const Batch one = batch(i);
    for (const bool int8 : {false, true}) {
      require_int8(model.compute_in_int8(int8 ? layers : std::vector<std::string>()), model);
      const std::vector<float> logits = head_logits(model, one);
      for (std::size_t k = 0; k < outputs; ++k) {
        (int8 ? quantized : full)[k].push_back(static_cast<double>(logits[outputs + k]) -
                                               static_cast<double>(logits[k]));
      }
    }
    progress.advance(1);
  }
  double sum = 0.0;
  std::size_t counted = 0;
  for (std::size_t k = 0; k < outputs; ++k) {
    const double correlation = spearman(full[k], quantized[k]);
    if (!std::isfinite(correlation)) continue;  // the same effect everywhere
    sum += correlation;
    ++counted;
  }
  if (counted == 0)
    throw_bad_input("no substitution changes any output", "take a trained model, and a larger sample");
  return sum / static_cast<double>(counted);
}

MaskedDivergence masked_divergence(Model& model, const PretrainingBatches& batches,
                                   const std::vector<std::uint64_t>& pieces, std::size_t together,
                                   const std::vector<std::string>& layers) {
  const auto columns = static_cast<std::size_t>(model.config().vocab_size);
  MaskedDivergence result;
  Progress progress("divergence", pieces.size(), "samples");
  for (std::size_t begin = 0; begin < pieces.size(); begin += together) {
    throw_if_cancelled();
    const std::size_t end = std::min(pieces.size(), begin + together);
    const Batch batch = batches.piece_batch(std::span(pieces).subspan(begin, end - begin));
    model.compute_in_int8({});
    const ForwardResult of_full = model.forward(batch, {});
    const std::vector<float> full = model.masked_logits();
    require_int8(model.compute_in_int8(layers), model);
    const ForwardResult of_quantized = model.forward(batch, {});
    const std::vector<float> quantized = model.masked_logits();
    std::vector<double> rows(full.size() / columns);
    kernels::parallel_for(rows.size(), [&](std::size_t row) {
      rows[row] = divergence_of_row(full.data() + row * columns, quantized.data() + row * columns, columns);
    });
    result.divergence = std::accumulate(rows.begin(), rows.end(), result.divergence);
    result.full += of_full[Loss::mlm].sum;
    result.quantized += of_quantized[Loss::mlm].sum;
    result.tokens += of_full[Loss::mlm].count;
    progress.advance(end - begin);
  }
  if (result.tokens == 0) throw_bad_input("no token of the data was masked", "take more samples");
  const auto tokens = static_cast<double>(result.tokens);
  return {result.full / tokens, result.quantized / tokens, result.divergence / tokens, result.tokens};
}

}  // namespace bigbird
