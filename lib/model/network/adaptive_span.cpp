// See adaptive_span.h.
#include "lib/model/network/adaptive_span.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "lib/core/error.h"
#include "lib/model/network/attention_recurrent.h"

namespace bigbird {
namespace {

constexpr float least_weight = 0x1p-40f;

bool on_ramp(float ramp) {
  return ramp >= 0.0f && ramp <= 1.0f;
}

double span_part(float logit) {
  return 1.0 / (1.0 + std::exp(-static_cast<double>(logit)));
}

// body(number of a logit [T, H]) for every head of the pass's real tokens.
template <typename Body>
void for_each_real_logit(const PassContext& pass, const Body& body) {
  const std::int64_t heads = pass.config.num_attention_heads;
  for (const RecurrentSegment& of : pass.recurrent->segments) {
    for (std::int64_t i = of.first * heads; i < (of.first + of.length) * heads; ++i)
      body(static_cast<std::size_t>(i));
  }
}

std::vector<float> downloaded(kernels::Backend& backend, const float* from, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  backend.download_values(values.data(), kernels::ConstValues(from), count);
  return values;
}

}  // namespace

float span_ramp(const SpanOptions& options, float z, std::int64_t distance) {
  const float span = z * static_cast<float>(options.max_span);
  return (static_cast<float>(1 - distance) + span) / static_cast<float>(options.ramp) + 1.0f;
}

std::int64_t span_reach(const SpanOptions& options, float z, bool with_gradients) {
  const std::int64_t beyond = span_tokens(options, z) + options.ramp + 2;
  for (std::int64_t distance = std::min(options.max_span, beyond); distance > 0; --distance) {
    const float ramp = span_ramp(options, z, distance);
    if (ramp > 0.0f || (with_gradients && ramp == 0.0f)) return distance;
  }
  return 0;
}

std::int64_t span_tokens(const SpanOptions& options, float z) {
  return static_cast<std::int64_t>(std::ceil(z * static_cast<float>(options.max_span)));
}

void Spans::read(kernels::Backend& backend, const float* z) {
  if (!has_spans(config_) || !z_.empty()) return;
  if (has_dynamic_spans(config_)) {
    const auto heads = static_cast<std::size_t>(config_.num_attention_heads);
    reaches_.assign(static_cast<std::size_t>(config_.num_hidden_layers),
                    std::vector<std::int64_t>(heads, config_.attention_options.spans.max_span));
    return;
  }
  std::vector<float> host = downloaded(backend, z, static_cast<std::int64_t>(count()));
  const auto bad = std::find_if(host.begin(), host.end(), [](float x) { return !(x >= 0.0f && x <= 1.0f); });
  if (bad != host.end())
    throw_bad_input(fmt::format("bert.encoder.spans: {} is not within 0..1", *bad),
                    "each is a fraction of max_span: the weights are of another model, or damaged");
  set(std::move(host));
}

void Spans::limit(kernels::Backend& backend, float* z) {
  if (!has_spans(config_) || has_dynamic_spans(config_)) return;
  const std::vector<float> host = downloaded(backend, z, static_cast<std::int64_t>(count()));
  std::vector<float> limited;
  for (const float x : host) limited.push_back(std::clamp(x, 0.0f, 1.0f));
  if (limited != host) backend.upload(z, limited.data(), count() * sizeof(float));
  set(std::move(limited));
}

void Spans::set(std::vector<float> z) {
  brought_ = false;
  z_ = std::move(z);
  const auto heads = static_cast<std::size_t>(config_.num_attention_heads);
  reaches_.assign(static_cast<std::size_t>(config_.num_hidden_layers), {});
  for (std::size_t i = 0; i < z_.size(); ++i)
    reaches_[i / heads].push_back(span_reach(config_.attention_options.spans, z_[i], with_gradients_));
}

double Spans::loss_of_one() const {
  const SpanOptions& options = config_.attention_options.spans;
  return options.span_loss * static_cast<double>(options.max_span) /
         static_cast<double>(config_.num_attention_heads);
}

LossTerm Spans::loss_of_tokens(const PassContext& pass, const RecurrentActivations& kept) const {
  const std::int64_t heads = config_.num_attention_heads;
  LossTerm term;
  for (std::int64_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
    const std::vector<float> logits =
        downloaded(pass.backend, kept.span_logits + layer * kept.span_rows * heads, pass.tokens() * heads);
    for_each_real_logit(pass, [&](std::size_t i) { term.sum += span_part(logits[i]); });
  }
  term.sum *= loss_of_one();
  for (const RecurrentSegment& of : pass.recurrent->segments) term.count += of.length;
  return term;
}

LossTerm Spans::loss(const PassContext& pass, const RecurrentActivations& kept) const {
  if (!pass.training) return {};
  if (has_dynamic_spans(config_)) return loss_of_tokens(pass, kept);
  return {loss_of_one() * std::accumulate(z_.begin(), z_.end(), 0.0), 1, 0};
}

void Spans::bring_loss(kernels::Backend& backend, float scale, const RecurrentActivations& kept) const {
  if (kept.span_loss_gradient == nullptr) return;
  const std::vector<float> all(has_dynamic_spans(config_) ? 1 : count(),
                               static_cast<float>(scale * loss_of_one()));
  backend.upload(kept.span_loss_gradient, all.data(), all.size() * sizeof(float));
}

void Spans::bring(kernels::Backend& backend, const RecurrentActivations& kept) {
  if (has_dynamic_spans(config_) || std::exchange(brought_, true)) return;
  const std::int64_t labels = kept.labels;
  const SpanOptions& options = config_.attention_options.spans;
  const auto heads = static_cast<std::size_t>(config_.num_attention_heads),
             of_layer = static_cast<std::size_t>(labels) * heads;
  const float scale = attention_call(config_).scale;
  const float slope = static_cast<float>(options.max_span) / (static_cast<float>(options.ramp) * scale);
  std::vector<float> biases(reaches_.size() * of_layer, -std::numeric_limits<float>::infinity());
  std::vector<float> slopes(biases.size(), 0.0f);
  for (std::size_t i = 0; i < z_.size(); ++i) {
    const std::size_t layer = i / heads, head = i % heads;
    const std::int64_t reach = reaches_[layer][head];
    for (std::int64_t distance = 1; distance <= std::min(reach, labels - 1); ++distance) {
      const std::size_t at = layer * of_layer + static_cast<std::size_t>(distance) * heads + head;
      const float ramp = span_ramp(options, z_[i], distance), weight = std::clamp(ramp, least_weight, 1.0f);
      biases[at] = std::log(weight) / scale;
      if (on_ramp(ramp)) slopes[at] = slope / weight;
    }
  }
  backend.upload(kept.span_biases, biases.data(), biases.size() * sizeof(float));
  if (kept.span_slopes != nullptr)
    backend.upload(kept.span_slopes, slopes.data(), slopes.size() * sizeof(float));
}

void make_rows_of_distances(kernels::Backend& backend, const ModelConfig& config, const ModelTensors& tensors,
                            kernels::Index labels, const RecurrentActivations& kept) {
  const kernels::Index width = config.hidden_size, size = config.head_size();
  const kernels::ConstValues table(tensors.layers.front().attention.position.weight);
  const kernels::Values rows(kept.by_distance);
  backend.zero(kept.by_distance, static_cast<std::size_t>(labels * width) * sizeof(float));
  for (kernels::Index head = 0; labels > 1 && head < config.num_attention_heads; ++head) {
    backend.add_rows({table, size}, {rows + (width + head * size), width}, labels - 1, size);
  }
}

void backward_of_spans(const PassContext& pass, std::int64_t layer, const AttentionTensors& gradients,
                       const RecurrentActivations& kept) {
  kernels::Backend& backend = pass.backend;
  const kernels::Index width = pass.width(), size = pass.config.head_size(),
                       heads = pass.config.num_attention_heads, labels = pass.recurrent->of(layer).labels,
                       of_layer = kept.labels * heads;
  const kernels::ConstValues dweight(kept.dweight), dbias(kept.dbias);
  for (kernels::Index head = 0; labels > 1 && head < heads; ++head) {
    backend.add_rows({dweight + (width + head * size), width},
                     {kernels::Values(gradients.position.weight), size}, labels - 1, size);
  }
  if (has_dynamic_spans(pass.config)) return;
  // Sums over labels are the products of two matrices [labels, H]: of each head with its own, the diagonal.
  LinearTensors products{kept.dby_head, nullptr, heads, heads, true};
  products.fresh = true;
  backend.linear_backward_weight(dbias, kernels::ConstValues(kept.span_slopes + layer * of_layer), products,
                                 products, labels);
  backend.add_rows({kernels::ConstValues(kept.dby_head), heads + 1}, {kernels::Values(gradients.spans), 1},
                   heads, 1);
}

void check_span_device(const kernels::Backend& backend, const ModelConfig& config) {
  if (!has_dynamic_spans(config) || backend.in_host_memory()) return;
  throw_usage("attention adaptive-span with dynamic_span on is not computed on " + backend.name(),
              "take the CPU, or dynamic_span off");
}

void own_spans_forward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                       kernels::ConstValues input, const RecurrentActivations& kept) {
  float* const logits = kept.span_logits + layer * kept.span_rows * pass.config.num_attention_heads;
  pass.backend.linear_forward(input, tensors.span, kernels::Values(logits), pass.tokens());
}

void own_spans_backward(const PassContext& pass, std::int64_t layer, const AttentionTensors& tensors,
                        const AttentionTensors& gradients, kernels::ConstValues input,
                        const RecurrentActivations& kept, kernels::Values dinput) {
  kernels::Backend& backend = pass.backend;
  const std::int64_t heads = pass.config.num_attention_heads, numbers = pass.tokens() * heads;
  const double of_one = static_cast<double>(downloaded(backend, kept.span_loss_gradient, 1).front());
  const std::vector<float> logits =
      downloaded(backend, kept.span_logits + layer * kept.span_rows * heads, numbers);
  std::vector<float> changed = downloaded(backend, kept.dspan_logits, numbers);
  for_each_real_logit(pass, [&](std::size_t i) {
    const double part = span_part(logits[i]);
    changed[i] = static_cast<float>(static_cast<double>(changed[i]) + of_one * part * (1.0 - part));
  });
  backend.upload(kept.dspan_logits, changed.data(), changed.size() * sizeof(float));
  const kernels::ConstValues dlogits(kept.dspan_logits);
  backend.linear_backward_weight(dlogits, input, tensors.span, gradients.span, pass.tokens());
  backend.linear_backward_input(dlogits, tensors.span, dinput, pass.tokens(), true);
}

void backward_of_span_loss(const PassContext& pass, float* gradients, const RecurrentActivations& kept) {
  if (gradients == nullptr) return;
  pass.backend.add(kernels::ConstValues(kept.span_loss_gradient), kernels::Values(gradients),
                   pass.config.num_hidden_layers * pass.config.num_attention_heads);
}

}  // namespace bigbird
