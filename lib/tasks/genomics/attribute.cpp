// Gradient x input at the token embeddings, spread over bases; see attribute.h.
#include "lib/tasks/genomics/attribute.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "lib/core/progress.h"

namespace bigbird {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
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

SequenceRunnerOptions runner_options(const FinetunedModel& model, const std::vector<std::size_t>& outputs,
                                     const BatchSize& batch) {
  SequenceRunnerOptions options;
  options.batch = batch;
  options.derive = logit_weights(model, outputs);
  return options;
}

// Moved as little as it takes for [begin, end) to lie inside, then into the contig.
std::int64_t place_window(std::int64_t window_begin, std::int64_t length, std::int64_t begin,
                          std::int64_t end, std::int64_t contig_length) {
  const std::int64_t holding = std::clamp(window_begin, end - length, begin);
  return std::clamp<std::int64_t>(holding, 0, contig_length - length);
}

}  // namespace

BaseAttributor::BaseAttributor(const FinetunedModel& model, const std::vector<std::size_t>& outputs,
                               const BatchSize& batch, kernels::Backend& backend)
    : outputs_(outputs.size()),
      runner_(model.folder(), runner_options(model, outputs, batch), backend),
      words_(scaled_words(runner_)) {}

void BaseAttributor::add(const std::string& sequence, std::function<void(const BaseAttributions&)> done) {
  const ModelConfig& config = runner_.config();
  const Tokenizer& tokenizer = runner_.tokenizer();
  std::vector<std::uint32_t> tokens, starts;
  tokenizer.encode(sequence, tokens, &starts);
  starts.push_back(static_cast<std::uint32_t>(sequence.size()));
  const auto room = static_cast<std::size_t>(most_tokens(config) - 2);
  const bool cut = tokens.size() > room;
  if (cut) tokens.resize(room);
  std::vector<std::int32_t> ids = with_cls_and_sep(tokens, tokenizer, config, "sequence");
  runner_.add({std::move(ids)},
              [this, sequence, tokens, starts, cut, done = std::move(done)](const SequenceResult& result) {
                BaseAttributions attributions;
                attributions.cut = cut;
                for (const std::span<const float> gradient : result.input_gradients)
                  attributions.values.push_back(spread(sequence, tokens, starts, gradient));
                done(attributions);
              });
}

std::vector<double> BaseAttributor::spread(const std::string& sequence,
                                           const std::vector<std::uint32_t>& tokens,
                                           const std::vector<std::uint32_t>& starts,
                                           std::span<const float> gradients) const {
  const Tokenizer& tokenizer = runner_.tokenizer();
  const auto width = static_cast<std::size_t>(runner_.config().hidden_size);
  std::vector<double> values(sequence.size(), none);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokenizer.is_special(tokens[i])) continue;
    const auto begin = sequence.begin() + starts[i], end = sequence.begin() + starts[i + 1];
    const auto bases = (end - begin) - std::count(begin, end, 'N');
    const float* gradient = gradients.data() + (i + 1) * width;  // [CLS] stands first
    const float* word = words_.data() + tokens[i] * width;
    double sum = 0;
    for (std::size_t c = 0; c < width; ++c)
      sum += static_cast<double>(gradient[c]) * static_cast<double>(word[c]);
    for (std::size_t base = starts[i]; base < starts[i + 1]; ++base) {
      if (sequence[base] != 'N') values[base] = sum / static_cast<double>(bases);
    }
  }
  return values;
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
    const std::int64_t target = (tile.begin + tile.end) / 2 - window.target_length / 2;
    const auto place = [&](std::int64_t first) {
      return place_window(first, length, tile.begin, tile.end, contig_length);
    };
    tile.plus_begin = place(target - window.target_offset);
    tile.plus_end = tile.plus_begin + length;
    // Read from its right end: the target lies as far from there.
    tile.minus_begin = place(target + window.target_length + window.target_offset - length);
    tile.minus_end = tile.minus_begin + length;
    tiles.push_back(tile);
  }
  return tiles;
}

Attribution attribute_region(BaseAttributor& model, Fasta& fasta, const Region& region,
                             const ModelWindow& window, Strands strands) {
  const auto bases = static_cast<std::size_t>(region.end - region.begin);
  const std::string letters = fasta.fetch(region.contig, region.begin, region.end);
  Attribution result;
  result.values.assign(model.outputs(), std::vector<double>(bases, 0.0));
  result.n_bases = std::count(letters.begin(), letters.end(), 'N');
  const std::vector<AttributionTile> tiles =
      attribution_tiles(region, fasta.contigs()[region.contig].length, window);
  result.tiles = tiles.size();
  const bool both = strands == Strands::both;
  Progress progress("attribute", tiles.size() * (both ? 2 : 1), "windows");
  for (const AttributionTile& tile : tiles) {
    // Adds one strand's share to the bases of the tile.
    const auto add = [&](std::int64_t begin, std::int64_t end, bool minus) {
      const std::string forward = fasta.fetch(region.contig, begin, end);
      const auto unknown = static_cast<double>(std::count(forward.begin(), forward.end(), 'N'));
      result.n_share = std::max(result.n_share, unknown / static_cast<double>(forward.size()));
      const auto length = static_cast<std::size_t>(end - begin);
      const auto first = static_cast<std::size_t>(tile.begin - begin);
      model.add(
          minus ? reverse_complement(forward) : forward,
          [&result, &progress, &region, tile, first, length, minus, both](const BaseAttributions& read) {
            const auto start = static_cast<std::size_t>(tile.begin - region.begin);
            const auto count = static_cast<std::size_t>(tile.end - tile.begin);
            for (std::size_t k = 0; k < read.values.size(); ++k) {
              for (std::size_t i = 0; i < count; ++i) {
                const std::size_t base = minus ? length - 1 - first - i : first + i;
                result.values[k][start + i] += read.values[k][base] / (both ? 2 : 1);
              }
            }
            progress.advance(1);
          });
    };
    if (strands != Strands::reverse) add(tile.plus_begin, tile.plus_end, false);
    if (strands != Strands::forward) add(tile.minus_begin, tile.minus_end, true);
  }
  model.finish();
  if (model.outputs() > 0) {
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
