// See contrast.h.
#include "lib/model/network/contrast.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/parallel.h"

namespace bigbird {
namespace {

std::size_t pairs_of(const PassContext& pass) {
  return pass.batch.sentence_pairs.contexts.size();
}

bool has_two_texts(const std::vector<std::int32_t>& texts) {
  return std::any_of(texts.begin(), texts.end(), [&](std::int32_t text) { return text != texts.front(); });
}

}  // namespace

Contrast contrast(const std::vector<float>& contexts, const std::vector<float>& targets,
                  const std::vector<std::int32_t>& texts, std::int64_t width) {
  const std::size_t count = texts.size(), columns = static_cast<std::size_t>(width);
  Contrast result;
  result.dcontexts.assign(count * columns, 0.0f);
  result.dtargets.assign(count * columns, 0.0f);
  if (!has_two_texts(texts)) return result;
  const double scale = 1.0 / std::sqrt(static_cast<double>(width));
  // [N, N] the gradient of every score: its probability, less 1 where it is the right one.
  std::vector<double> gradients(count * count, 0.0), losses(count);
  std::vector<std::uint8_t> right(count);
  std::vector<std::int64_t> candidates(count, 0);
  kernels::parallel_for(count, [&](std::size_t i) {
    double* const row = gradients.data() + i * count;
    const auto listed = [&](std::size_t j) { return j == i || texts[j] != texts[i]; };
    double most = -HUGE_VAL;
    for (std::size_t j = 0; j < count; ++j) {
      if (!listed(j)) continue;
      double product = 0;
      for (std::size_t k = 0; k < columns; ++k)
        product +=
            static_cast<double>(contexts[i * columns + k]) * static_cast<double>(targets[j * columns + k]);
      row[j] = product * scale;
      most = std::max(most, row[j]);
      ++candidates[i];
    }
    double sum = 0;
    for (std::size_t j = 0; j < count; ++j) sum += listed(j) ? std::exp(row[j] - most) : 0.0;
    const double log_sum = most + std::log(sum);
    losses[i] = log_sum - row[i];
    right[i] = row[i] == most ? 1 : 0;
    for (std::size_t j = 0; j < count; ++j) row[j] = listed(j) ? std::exp(row[j] - log_sum) : 0.0;
    row[i] -= 1.0;
  });
  result.loss.count = static_cast<std::int64_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    result.loss.sum += losses[i];
    result.loss.correct += right[i];
    result.candidates += static_cast<double>(candidates[i]);
  }
  kernels::parallel_for(count, [&](std::size_t i) {
    for (std::size_t k = 0; k < columns; ++k) {
      double of_context = 0, of_target = 0;
      for (std::size_t j = 0; j < count; ++j) {
        of_context += gradients[i * count + j] * static_cast<double>(targets[j * columns + k]);
        of_target += gradients[j * count + i] * static_cast<double>(contexts[j * columns + k]);
      }
      result.dcontexts[i * columns + k] = static_cast<float>(of_context * scale);
      result.dtargets[i * columns + k] = static_cast<float>(of_target * scale);
    }
  });
  return result;
}

void contrast_stage(const PassContext& pass, const ContrastActivations& kept) {
  const SentencePairs& pairs = pass.batch.sentence_pairs;
  std::vector<std::int32_t> rows;
  for (const auto* side : {&pairs.contexts, &pairs.targets}) {
    for (const std::int32_t global : *side)
      rows.push_back(global + static_cast<std::int32_t>(pass.batch.tokens()));
  }
  if (!rows.empty()) pass.backend.upload(kept.rows, rows.data(), rows.size() * sizeof rows[0]);
}

void contrast_forward(const PassContext& pass, const ContrastTensors& tensors,
                      const ContrastActivations& kept, kernels::ConstValues hidden) {
  const auto pairs = static_cast<kernels::Index>(pairs_of(pass));
  if (pairs == 0) return;
  kernels::Backend& backend = pass.backend;
  const kernels::Index values = pairs * pass.width();
  backend.gather_rows(hidden, kept.rows, kept.gathered, 2 * pairs, pass.width());
  backend.linear_forward(kept.gathered, tensors.context, kept.projected, pairs);
  backend.linear_forward(kept.gathered + values, tensors.target, kept.projected + values, pairs);
}

void count_contrast_labels(const Batch& batch, const ModelConfig& config, LabelCounts& labels) {
  const std::vector<std::int32_t>& texts = batch.sentence_pairs.texts;
  if (config.has_contrast() && has_two_texts(texts))
    labels[Loss::contrast] = static_cast<std::int64_t>(texts.size());
}

void contrast_result(const PassContext& pass, const ContrastActivations& kept, ForwardResult& result,
                     std::vector<float>& gradients) {
  gradients.clear();
  const std::size_t values = pairs_of(pass) * static_cast<std::size_t>(pass.width());
  if (values == 0) return;
  std::vector<float> projected(2 * values);
  pass.backend.download_values(projected.data(), kept.projected, static_cast<kernels::Index>(2 * values));
  const auto middle = projected.begin() + static_cast<std::ptrdiff_t>(values);
  Contrast made = contrast({projected.begin(), middle}, {middle, projected.end()},
                           pass.batch.sentence_pairs.texts, pass.width());
  result[Loss::contrast] = made.loss;
  gradients = std::move(made.dcontexts);
  gradients.insert(gradients.end(), made.dtargets.begin(), made.dtargets.end());
}

void contrast_stage_backward(const PassContext& pass, const ContrastActivations& kept,
                             const std::vector<float>& gradients, float scale) {
  if (gradients.empty()) return;
  std::vector<float> scaled = gradients;
  for (float& value : scaled) value *= scale;
  pass.backend.upload_values(kept.gradient, scaled.data(), static_cast<kernels::Index>(scaled.size()));
}

void contrast_backward(const PassContext& pass, const ContrastTensors& tensors,
                       const ContrastTensors& gradients, const ContrastActivations& kept,
                       const BackwardWorkspace& work) {
  const auto pairs = static_cast<kernels::Index>(pairs_of(pass));
  if (pairs == 0) return;
  kernels::Backend& backend = pass.backend;
  const kernels::Index values = pairs * pass.width();
  // Contexts and targets are different rows, and each stands once.
  const kernels::Values drows = work.wide_of_stream();
  backend.linear_backward_weight(kept.gradient, kept.gathered, tensors.context, gradients.context, pairs);
  backend.linear_backward_weight(kept.gradient + values, kept.gathered + values, tensors.target,
                                 gradients.target, pairs);
  backend.linear_backward_input(kept.gradient, tensors.context, drows, pairs, false);
  backend.linear_backward_input(kept.gradient + values, tensors.target, drows + values, pairs, false);
  backend.scatter_add_rows(drows, kept.rows, work.gradient, 2 * pairs, pass.width());
}

}  // namespace bigbird
