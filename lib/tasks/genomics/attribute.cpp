// Gradient x input at the token embeddings, spread over bases; see attribute.h.
#include "lib/tasks/genomics/attribute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/progress.h"
#include "lib/model/folder/checkpoint.h"
#include "lib/model/network/layout.h"
#include "lib/tasks/sequence_runner.h"
#include "lib/tasks/sequence_scorer.h"

namespace bigbird {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr const char* word_table = "bert.embeddings.word_embeddings.weight";

std::vector<float> scaled_words(const LoadedModel& loaded) {
  const ParameterLayout layout(loaded.config);
  const auto first = loaded.parameters.begin() + static_cast<std::ptrdiff_t>(layout.offset(word_table));
  const auto count = static_cast<std::ptrdiff_t>(loaded.config.vocab_size * loaded.config.hidden_size);
  std::vector<float> words(first, first + count);
  if (loaded.config.rescale_embeddings) {
    const float scale = std::sqrt(static_cast<float>(loaded.config.hidden_size));
    for (float& value : words) value *= scale;
  }
  return words;
}

// Moved as little as it takes for [begin, end) to lie inside, then into the contig.
std::int64_t place_window(std::int64_t window_begin, std::int64_t length, std::int64_t begin,
                          std::int64_t end, std::int64_t contig_length) {
  const std::int64_t holding = std::clamp(window_begin, end - length, begin);
  return std::clamp<std::int64_t>(holding, 0, contig_length - length);
}

}  // namespace

BaseAttributor::BaseAttributor(const std::string& model_folder, kernels::Backend& backend) {
  LoadedModel loaded = load_model(model_folder, LoadOptions{});
  const ModelConfig& config = loaded.config;
  if (config.head != HeadType::classification) {
    throw_bad_input(
        fmt::format("{}: the model's head is {}, no classifier", model_folder, name_of(config.head)),
        "take a model of `bigbird promoter finetune` or `bigbird chromatin finetune`");
  }
  tokenizer_ = load_tokenizer(model_folder);
  check_tokenizer_agrees(config, static_cast<std::int64_t>(tokenizer_->vocab_size()), tokenizer_->digest(),
                         model_folder, model_folder);
  if (!tokenizer_->is_dna()) {
    throw_bad_input(model_folder + ": its tokenizer is for text, not for DNA", "take a model that reads DNA");
  }
  profiles_ = classifier_profiles(model_folder, config);
  window_ = read_model_window(model_folder);
  words_ = scaled_words(loaded);
  const std::int64_t most = most_tokens(config), block = config.block_size;
  const std::int64_t longest = std::max((most + block - 1) / block * block, config.input_length);
  ModelOptions training;
  training.training = true;
  model_ = std::make_unique<Model>(backend, config, BatchLimits{longest, 1, 0, longest}, training);
  model_->set_parameters(loaded.parameters);
}

std::vector<double> BaseAttributor::attribute(const std::string& sequence, std::size_t output, bool& cut) {
  const ModelConfig& config = model_->config();
  std::vector<std::uint32_t> tokens, starts;
  tokenizer_->encode(sequence, tokens, &starts);
  starts.push_back(static_cast<std::uint32_t>(sequence.size()));
  const auto room = static_cast<std::size_t>(most_tokens(config) - 2);
  cut = tokens.size() > room;
  if (cut) tokens.resize(room);

  batch_.clear();
  batch_.append(with_cls_and_sep(tokens, *tokenizer_, config, "sequence"), {}, config.block_size,
                static_cast<std::int32_t>(config.pad_token_id), config.input_length);
  model_->forward(batch_, {});
  std::vector<float> weights(static_cast<std::size_t>(config.num_labels), 0.0F);
  if (profiles_.size() == 1 && config.num_labels == 2) {
    weights = {-1.0F, 1.0F};
  } else {
    weights[output] = 1.0F;
  }
  const std::vector<float> gradients = model_->input_gradients(weights);

  const auto width = static_cast<std::size_t>(config.hidden_size);
  std::vector<double> values(sequence.size(), none);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokenizer_->is_special(tokens[i])) continue;
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

AttributionStrand parse_attribution_strand(const std::string& name) {
  if (name == "both") return AttributionStrand::both;
  if (name == "+") return AttributionStrand::plus;
  if (name == "-") return AttributionStrand::minus;
  throw_usage(fmt::format("there is no strand {}", name), "the strands are both, + and -");
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
                             const ModelWindow& window, const std::vector<std::size_t>& outputs,
                             AttributionStrand strand) {
  const auto bases = static_cast<std::size_t>(region.end - region.begin);
  const std::string letters = fasta.fetch(region.contig, region.begin, region.end);
  Attribution result;
  result.values.assign(outputs.size(), std::vector<double>(bases, 0.0));
  result.n_bases = std::count(letters.begin(), letters.end(), 'N');
  const std::vector<AttributionTile> tiles =
      attribution_tiles(region, fasta.contigs()[region.contig].length, window);
  result.tiles = tiles.size();
  const bool both = strand == AttributionStrand::both;
  Progress progress("attribute", tiles.size() * outputs.size(), "windows");
  for (const AttributionTile& tile : tiles) {
    // Adds one strand's share to the bases of the tile.
    const auto add = [&](std::int64_t begin, std::int64_t end, bool minus) {
      const std::string forward = fasta.fetch(region.contig, begin, end);
      const auto unknown = static_cast<double>(std::count(forward.begin(), forward.end(), 'N'));
      result.n_share = std::max(result.n_share, unknown / static_cast<double>(forward.size()));
      const std::string sequence = minus ? reverse_complement(forward) : forward;
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        throw_if_cancelled();
        bool cut = false;
        std::vector<double> values = model.attribute(sequence, outputs[k], cut);
        if (minus) std::reverse(values.begin(), values.end());
        for (std::int64_t base = tile.begin; base < tile.end; ++base) {
          result.values[k][static_cast<std::size_t>(base - region.begin)] +=
              values[static_cast<std::size_t>(base - begin)] / (both ? 2 : 1);
        }
      }
    };
    if (strand != AttributionStrand::minus) add(tile.plus_begin, tile.plus_end, false);
    if (strand != AttributionStrand::plus) add(tile.minus_begin, tile.minus_end, true);
    progress.advance(outputs.size());
  }
  if (!outputs.empty()) {
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
