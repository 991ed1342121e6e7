// Means over models and strands, window by window; see attribute.h.
#include "lib/genomics/attribute.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/core/progress.h"
#include "lib/model/network/embeddings.h"
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

// What stands for each piece in a sequence without masks.
std::vector<float> scaled_words(const SequenceRunner& runner) {
  std::vector<float> words = runner.parameter(word_table);
  const ModelConfig& config = runner.config();
  double scale = config.rescale_embeddings ? std::sqrt(static_cast<double>(config.hidden_size)) : 1.0;
  if (config.token_dropout) scale *= kept_by_token_dropout;
  for (float& value : words) value *= static_cast<float>(scale);
  if (config.token_dropout)
    std::fill_n(words.begin() + config.mask_token_id * config.hidden_size, config.hidden_size, 0.0F);
  return words;
}

// Gradients are taken at the vectors that stand for tokens.
const FinetunedModel& with_token_vectors(const FinetunedModel& model) {
  if (!model.config().has_stem()) return model;
  throw_bad_input(model.folder().path() + ": its stem reads single bases, none of which has a vector",
                  "bigbird ism shows what each base does");
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

// Moved as little as it takes for [begin, end) to lie inside, then into the contig.
std::int64_t place_window(std::int64_t window_begin, std::int64_t length, std::int64_t begin,
                          std::int64_t end, std::int64_t contig_length) {
  const std::int64_t holding = std::clamp(window_begin, end - length, begin);
  return std::clamp<std::int64_t>(holding, 0, contig_length - length);
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
    : logits_(logit_weights(with_token_vectors(model), outputs)),
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
  const auto room = static_cast<std::size_t>(most_tokens(runner_.config())) - tokenizer.special().around();
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

// A sequence that not all models have answered for.
struct BaseAttributor::Entry {
  std::vector<BaseAttributions> read;  // [models]
  std::size_t missing = 0;
  std::function<void(const BaseAttributions&)> done;
  BaseAttributions mean() const;
};

BaseAttributions BaseAttributor::Entry::mean() const {
  BaseAttributions mean = read.front();
  for (std::size_t model = 1; model < read.size(); ++model) {
    const BaseAttributions& one = read[model];
    mean.cut |= one.cut;
    for (std::size_t k = 0; k < mean.values.size(); ++k) {
      for (std::size_t base = 0; base < mean.values[k].size(); ++base)
        mean.values[k][base] += one.values[k][base];
    }
    for (std::size_t k = 0; k < mean.completeness.size(); ++k) mean.completeness[k].add(one.completeness[k]);
  }
  for (std::vector<double>& values : mean.values) {
    for (double& value : values) value /= static_cast<double>(read.size());
  }
  return mean;
}

BaseAttributor::BaseAttributor(const std::vector<FinetunedModel>& models,
                               const std::vector<std::size_t>& outputs, const AttributionOptions& options,
                               const BatchSize& batch, kernels::Backend& backend)
    : outputs_(outputs.size()) {
  for (const FinetunedModel& model : models) model.require_like(models.front());
  for (const FinetunedModel& model : models)
    models_.push_back(std::make_unique<ModelAttributor>(model, outputs, options, batch, backend));
}

BaseAttributor::~BaseAttributor() = default;

std::size_t BaseAttributor::passes() const {
  return models_.size() * models_.front()->passes();
}

void BaseAttributor::add(const std::string& sequence, std::function<void(const BaseAttributions&)> done) {
  const auto entry = std::make_shared<Entry>();
  entry->read.resize(models_.size());
  entry->missing = models_.size();
  entry->done = std::move(done);
  queue_.push_back(entry);
  for (std::size_t model = 0; model < models_.size(); ++model) {
    models_[model]->add(sequence, on_pass_, [entry, model](BaseAttributions read) {
      entry->read[model] = std::move(read);
      --entry->missing;
    });
  }
  deliver();
}

void BaseAttributor::finish() {
  for (const auto& model : models_) model->finish();
  deliver();
}

void BaseAttributor::deliver() {
  while (!queue_.empty() && queue_.front()->missing == 0) {
    const std::shared_ptr<Entry> entry = std::move(queue_.front());
    queue_.pop_front();
    entry->done(entry->mean());
  }
}

std::vector<AttributionTile> attribution_tiles(const Region& region, std::int64_t contig_length,
                                               const ModelWindow& window) {
  const std::int64_t length = std::min(window.length, contig_length);
  const bool fits = region.end - region.begin <= length;
  const std::int64_t step = fits ? region.end - region.begin : std::max<std::int64_t>(length / 2, 1);
  std::vector<AttributionTile> tiles;
  for (std::int64_t begin = region.begin; begin < region.end; begin += step) {
    AttributionTile tile;
    tile.begin = begin;
    tile.end = std::min(begin + step, region.end);
    tile.window_begin = place_window(middle_base(tile.begin, tile.end) - scored_place(window), length,
                                     tile.begin, tile.end, contig_length);
    tile.window_end = tile.window_begin + length;
    tiles.push_back(tile);
  }
  return tiles;
}

Attribution attribute_region(BaseAttributor& models, Fasta& fasta, const Region& region,
                             const ModelWindow& window, Strands strands) {
  const auto bases = static_cast<std::size_t>(region.end - region.begin);
  const std::string letters = fasta.fetch(region.contig, region.begin, region.end);
  Attribution result;
  result.values.assign(models.outputs(), std::vector<double>(bases, 0.0));
  result.n_bases = std::count(letters.begin(), letters.end(), 'N');
  const std::vector<AttributionTile> tiles =
      attribution_tiles(region, fasta.contigs()[region.contig].length, window);
  result.tiles = tiles.size();
  const bool both = strands == Strands::both;
  Progress progress("attribute", tiles.size() * (both ? 2 : 1) * models.passes(), "passes");
  models.on_pass([&progress] { progress.advance(1); });
  for (const AttributionTile& tile : tiles) {
    const std::string forward = fasta.fetch(region.contig, tile.window_begin, tile.window_end);
    const auto unknown = static_cast<double>(std::count(forward.begin(), forward.end(), 'N'));
    result.n_share = std::max(result.n_share, unknown / static_cast<double>(forward.size()));
    const auto length = static_cast<std::size_t>(tile.window_end - tile.window_begin);
    const auto first = static_cast<std::size_t>(tile.begin - tile.window_begin);
    // Adds one strand's share to the bases of the tile.
    const auto add = [&](bool minus) {
      models.add(minus ? reverse_complement(forward) : forward,
                 [&result, &region, tile, first, length, minus, both](const BaseAttributions& read) {
                   const auto start = static_cast<std::size_t>(tile.begin - region.begin);
                   const auto count = static_cast<std::size_t>(tile.end - tile.begin);
                   for (std::size_t k = 0; k < read.values.size(); ++k) {
                     for (std::size_t i = 0; i < count; ++i) {
                       const std::size_t base = minus ? length - 1 - first - i : first + i;
                       result.values[k][start + i] += read.values[k][base] / (both ? 2 : 1);
                     }
                   }
                   result.completeness.resize(read.completeness.size());
                   for (std::size_t k = 0; k < read.completeness.size(); ++k)
                     result.completeness[k].add(read.completeness[k]);
                 });
    };
    if (strands != Strands::reverse) add(false);
    if (strands != Strands::forward) add(true);
  }
  models.finish();
  models.on_pass({});
  if (models.outputs() > 0) {
    for (std::size_t base = 0; base < bases; ++base) {
      if (letters[base] != 'N' && std::isnan(result.values[0][base])) ++result.cut_bases;
    }
  }
  return result;
}

void write_attribution(TrackWriter& track, const Region& region, const std::vector<double>& values) {
  for (std::size_t begin = 0; begin < values.size();) {
    std::size_t end = begin + 1;
    const float value = static_cast<float>(values[begin]);
    while (end < values.size() && static_cast<float>(values[end]) == value) ++end;
    if (!std::isnan(value)) {
      track.add(region.contig, region.begin + static_cast<std::int64_t>(begin),
                region.begin + static_cast<std::int64_t>(end), value);
    }
    begin = end;
  }
}

}  // namespace bigbird
