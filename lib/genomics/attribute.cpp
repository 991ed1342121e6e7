// Means over models and strands, window by window; see attribute.h.
#include "lib/genomics/attribute.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/core/progress.h"

namespace bigbird {
namespace {

// Moved as little as it takes for [begin, end) to lie inside, then into the contig.
std::int64_t place_window(std::int64_t window_begin, std::int64_t length, std::int64_t begin,
                          std::int64_t end, std::int64_t contig_length) {
  const std::int64_t holding = std::clamp(window_begin, end - length, begin);
  return std::clamp<std::int64_t>(holding, 0, contig_length - length);
}

}  // namespace

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
