// One model along the path, pass by pass; see model_attributor.h.
#include "lib/genomics/model_attributor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

// The first name of each is the one that is written.
constexpr std::array<std::pair<AttributionMethod, const char*>, 4> attribution_names{
    {{AttributionMethod::gradient_x_input, "gradient-x-input"},
     {AttributionMethod::gradient_x_input, "gxi"},
     {AttributionMethod::integrated_gradients, "integrated-gradients"},
     {AttributionMethod::integrated_gradients, "ig"}}};
constexpr std::array<std::pair<AttributionBaseline, const char*>, 6> baseline_names{
    {{AttributionBaseline::zero, "zero"},
     {AttributionBaseline::mean, "mean"},
     {AttributionBaseline::n, "n"},
     {AttributionBaseline::n, "N"},
     {AttributionBaseline::pad, "pad"},
     {AttributionBaseline::mask, "mask"}}};

// The Legendre polynomial of this degree at x, by its recurrence, and its derivative.
std::pair<double, double> legendre(std::size_t degree, double x) {
  double before = 1, value = x;
  for (std::size_t k = 2; k <= degree; ++k) {
    const auto n = static_cast<double>(k);
    before = std::exchange(value, ((2 * n - 1) * x * value - (n - 1) * before) / n);
  }
  return {value, static_cast<double>(degree) * (x * value - before) / (x * x - 1)};
}

std::uint32_t piece_of_n(const Tokenizer& tokenizer) {
  std::vector<std::uint32_t> ids;
  tokenizer.encode("N", ids);
  if (ids.size() == 1 && ids.front() != tokenizer.special().unknown) return ids.front();
  throw_bad_input("the vocabulary has no piece for N", message("take another `baseline`, such as zero"));
}

constexpr double no_attribution = std::numeric_limits<double>::quiet_NaN();
constexpr const char* word_table = "bert.embeddings.word_embeddings.weight";

std::vector<float> scaled_words(const SequenceRunner& runner) {
  std::vector<float> words = runner.parameter(word_table);
  if (runner.config().rescale_embeddings) {
    const float scale = std::sqrt(static_cast<float>(runner.config().hidden_size));
    for (float& value : words) value *= scale;
  }
  return words;
}

// The sums of logits that the outputs are.
std::vector<std::vector<float>> logit_weights(const FinetunedModel& model,
                                              const std::vector<std::size_t>& outputs) {
  const auto labels = static_cast<std::size_t>(model.config().num_labels);
  std::vector<std::vector<float>> weights;
  for (const std::size_t output : outputs) {
    std::vector<float>& one = weights.emplace_back(labels, 0.0F);
    if (model.profiles().size() == 1 && labels == 2) {
      one = {-1.0F, 1.0F};
    } else {
      one[output] = 1.0F;
    }
  }
  return weights;
}

SequenceRunnerOptions runner_options(const std::vector<std::vector<float>>& logits, bool integrated,
                                     const BatchSize& batch) {
  SequenceRunnerOptions options;
  options.batch = batch;
  options.derive = logits;
  options.sequence_logits = integrated;
  options.offsets = integrated;
  return options;
}

}  // namespace

AttributionMethod parse_attribution_method(const std::string& word) {
  return parse_name(attribution_names, word, message("choice of `method`"));
}

std::string name_of(AttributionMethod method) {
  return find_name(attribution_names, method);
}

AttributionBaseline parse_attribution_baseline(const std::string& word) {
  return parse_name(baseline_names, word, message("choice of `baseline`"));
}

std::string name_of(AttributionBaseline baseline) {
  return find_name(baseline_names, baseline);
}

std::vector<PathPoint> gauss_legendre_points(std::size_t count) {
  std::vector<PathPoint> points(count);
  for (std::size_t i = 0; i < count; ++i) {
    // Newton's method from Tricomi's estimate of root i, which lies near enough for any degree.
    const auto n = static_cast<double>(count);
    double x = std::cos(std::numbers::pi * (static_cast<double>(count - i) - 0.25) / (n + 0.5));
    double slope = 1;
    for (int round = 0; round < 100; ++round) {
      const auto [value, derivative] = legendre(count, x);
      slope = derivative;
      const double step = value / derivative;
      x -= step;
      if (std::abs(step) < 1e-15) break;
    }
    points[i] = {(1 + x) / 2, 1 / ((1 - x * x) * slope * slope)};
  }
  return points;
}

std::vector<PathPoint> attribution_points(const AttributionOptions& options) {
  if (options.method == AttributionMethod::gradient_x_input) return {PathPoint{}};
  if (options.steps < 1)
    throw_usage(message("no `steps` to integrate gradients over"), "give 1 or more, such as 32");
  return gauss_legendre_points(static_cast<std::size_t>(options.steps));
}

std::vector<float> baseline_vector(AttributionBaseline baseline, std::span<const float> words,
                                   std::size_t width, const Tokenizer& tokenizer) {
  const auto row = [&](std::uint32_t id) {
    const std::span<const float> values = words.subspan(id * width, width);
    return std::vector<float>(values.begin(), values.end());
  };
  switch (baseline) {
    case AttributionBaseline::mask:
      return row(tokenizer.special().mask);
    case AttributionBaseline::pad:
      return row(tokenizer.special().pad);
    case AttributionBaseline::n:
      return row(piece_of_n(tokenizer));
    case AttributionBaseline::zero:
      return std::vector<float>(width, 0.0F);
    case AttributionBaseline::mean:
      break;
  }
  std::vector<double> sums(width, 0.0);
  std::size_t pieces = 0;
  for (std::uint32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.is_special(id)) continue;
    ++pieces;
    for (std::size_t c = 0; c < width; ++c) sums[c] += static_cast<double>(words[id * width + c]);
  }
  std::vector<float> mean;
  for (const double sum : sums)
    mean.push_back(static_cast<float>(sum / static_cast<double>(std::max<std::size_t>(pieces, 1))));
  return mean;
}

void Completeness::add(const Completeness& other) {
  missed += other.missed;
  difference += other.difference;
  baseline += other.baseline;
  sequences += other.sequences;
}

double Completeness::gap() const {
  return missed > 0 ? missed / difference : 0;
}

ModelAttributor::ModelAttributor(const FinetunedModel& model, const std::vector<std::size_t>& outputs,
                                 const AttributionOptions& options, const BatchSize& batch,
                                 kernels::Backend& backend)
    : logits_(logit_weights(model, outputs)),
      integrated_(options.method == AttributionMethod::integrated_gradients),
      path_(attribution_points(options)),
      runner_(model.folder(), runner_options(logits_, integrated_, batch), backend),
      words_(scaled_words(runner_)) {
  const auto width = static_cast<std::size_t>(runner_.config().hidden_size);
  const AttributionBaseline from = integrated_ ? options.baseline : AttributionBaseline::zero;
  baseline_ = baseline_vector(from, words_, width, runner_.tokenizer());
}

std::shared_ptr<ModelAttributor::Walk> ModelAttributor::begin(const std::string& sequence) const {
  const Tokenizer& tokenizer = runner_.tokenizer();
  auto walk = std::make_shared<Walk>();
  walk->sequence = sequence;
  tokenizer.encode(sequence, walk->tokens, &walk->starts);
  walk->starts.push_back(static_cast<std::uint32_t>(sequence.size()));
  const auto room = static_cast<std::size_t>(most_tokens(runner_.config()) - 2);
  walk->cut = walk->tokens.size() > room;
  if (walk->cut) walk->tokens.resize(room);
  for (std::size_t i = 0; i < walk->tokens.size(); ++i) {
    const auto first = sequence.begin() + walk->starts[i], last = sequence.begin() + walk->starts[i + 1];
    const bool special = tokenizer.is_special(walk->tokens[i]);
    walk->bases.push_back(special ? 0 : (last - first) - std::count(first, last, 'N'));
  }
  walk->sums.assign(logits_.size(), std::vector<double>(walk->tokens.size(), 0.0));
  return walk;
}

SequenceInput ModelAttributor::input_at(const Walk& walk, double position) const {
  SequenceInput input;
  input.ids = with_cls_and_sep(walk.tokens, runner_.tokenizer(), runner_.config(), "sequence");
  if (!integrated_ || position == 1) return input;
  const std::size_t width = baseline_.size();
  input.offsets.assign(input.ids.size() * width, 0.0F);
  for (std::size_t i = 0; i < walk.tokens.size(); ++i) {
    if (walk.bases[i] == 0) continue;
    float* offset = input.offsets.data() + (i + 1) * width;  // [CLS] stands first
    const float* word = words_.data() + walk.tokens[i] * width;
    for (std::size_t c = 0; c < width; ++c)
      offset[c] = static_cast<float>((position - 1) *
                                     (static_cast<double>(word[c]) - static_cast<double>(baseline_[c])));
  }
  return input;
}

std::vector<double> ModelAttributor::logits_of(const SequenceResult& result) const {
  std::vector<double> logits;
  for (const std::vector<float>& weights : logits_) {
    double sum = 0;
    for (std::size_t label = 0; label < weights.size(); ++label)
      sum += static_cast<double>(weights[label]) * static_cast<double>(result.sequence_logits[label]);
    logits.push_back(sum);
  }
  return logits;
}

void ModelAttributor::add_gradients(Walk& walk, const SequenceResult& result, double weight) const {
  const std::size_t width = baseline_.size();
  for (std::size_t output = 0; output < logits_.size(); ++output) {
    for (std::size_t i = 0; i < walk.tokens.size(); ++i) {
      if (walk.bases[i] == 0) continue;
      const float* gradient = result.input_gradients[output].data() + (i + 1) * width;
      const float* word = words_.data() + walk.tokens[i] * width;
      double sum = 0;
      for (std::size_t c = 0; c < width; ++c)
        sum += static_cast<double>(gradient[c]) *
               (static_cast<double>(word[c]) - static_cast<double>(baseline_[c]));
      walk.sums[output][i] += weight * sum;
    }
  }
}

BaseAttributions ModelAttributor::spread(const Walk& walk) const {
  BaseAttributions result;
  result.cut = walk.cut;
  for (std::size_t output = 0; output < logits_.size(); ++output) {
    std::vector<double>& values = result.values.emplace_back(walk.sequence.size(), no_attribution);
    double total = 0;
    for (std::size_t i = 0; i < walk.tokens.size(); ++i) {
      const double sum = walk.sums[output][i];
      total += sum;
      for (std::size_t base = walk.starts[i]; walk.bases[i] > 0 && base < walk.starts[i + 1]; ++base) {
        if (walk.sequence[base] != 'N') values[base] = sum / static_cast<double>(walk.bases[i]);
      }
    }
    if (!integrated_) continue;
    const double difference = walk.at_tokens[output] - walk.at_baseline[output];
    result.completeness.push_back(
        {std::abs(total - difference), std::abs(difference), walk.at_baseline[output], 1});
  }
  return result;
}

void ModelAttributor::add(const std::string& sequence, const std::function<void()>& told,
                          std::function<void(BaseAttributions)> done) {
  const std::shared_ptr<Walk> walk = begin(sequence);
  const auto pass = [&](double position, std::function<void(const SequenceResult&)> use) {
    runner_.add(input_at(*walk, position), [told, use = std::move(use)](const SequenceResult& result) {
      use(result);
      if (told) told();
    });
  };
  if (integrated_) {
    pass(1, [this, walk](const SequenceResult& result) { walk->at_tokens = logits_of(result); });
    pass(0, [this, walk](const SequenceResult& result) { walk->at_baseline = logits_of(result); });
  }
  for (std::size_t k = 0; k < path_.size(); ++k) {
    const bool last = k + 1 == path_.size();
    pass(path_[k].position, [this, walk, k, last, done](const SequenceResult& result) {
      add_gradients(*walk, result, path_[k].weight);
      if (last) done(spread(*walk));
    });
  }
}

}  // namespace bigbird
