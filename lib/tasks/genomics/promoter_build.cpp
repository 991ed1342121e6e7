// Promoter windows, negatives, split and manifest; see promoter_build.h.
#include "lib/tasks/genomics/promoter_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/hash.h"
#include "lib/core/progress.h"
#include "lib/io/fasta.h"
#include "lib/io/file.h"
#include "lib/io/tsv.h"
#include "lib/tasks/genomics/promoter_examples.h"
#include "lib/tasks/genomics/promoter_tss.h"

namespace bigbird {
namespace {

constexpr std::size_t windows_per_batch = 512;
constexpr int genomic_attempts = 1000;

struct Window {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// A promoter that is used, with its negative's place (its own window, except for genomic negatives).
struct Promoter {
  TssSite site;
  Window window;
  Window negative;
};

class Builder {
 public:
  explicit Builder(const PromoterBuildOptions& options)
      : options_(options), fasta_(options.fasta), names_(fasta_.contigs()) {
    for (int i = 0; i < kernels::thread_count(); ++i) handles_.push_back(fasta_.clone());
  }

  PromoterBuildSummary build() {
    // First of all, so that a folder that is in the way is found before the work.
    AtomicFolder folder(options_.output, options_.replace);
    catalogue_ = read_tss(options_.tss, options_.chain, names_);
    summary_.rows = catalogue_.rows;
    all_tss_.resize(names_.size());
    for (const TssSite& site : catalogue_.sites) all_tss_[site.contig].push_back(site.tss);
    for (auto& list : all_tss_) std::sort(list.begin(), list.end());
    choose_windows();
    const auto splits = split();
    write_examples(folder, splits);
    write_dropped(folder);
    write_text_atomic(folder.file("manifest.json"), manifest());
    folder.commit();
    return summary_;
  }

 private:
  Window window_of(const TssSite& site) const {
    if (site.strand == '+') return {site.tss - options_.left, site.tss + options_.right};
    return {site.tss - options_.right + 1, site.tss + options_.left + 1};
  }

  std::string fetch(Fasta& handle, const TssSite& site, const Window& window) const {
    std::string bases = handle.fetch(site.contig, window.begin, window.end);
    return site.strand == '+' ? bases : reverse_complement(bases);
  }

  bool too_many_n(const std::string& bases) const {
    const auto n = std::count(bases.begin(), bases.end(), 'N');
    return static_cast<double>(n) > options_.max_n * static_cast<double>(bases.size());
  }

  // Keyed by the place, so that the rest of the catalogue does not change a promoter's negative.
  CounterRng negative_rng(const TssSite& site) const {
    const std::string key =
        fmt::format("{}:{}:{}", canonical_contig_name(names_[site.contig].name), site.tss, site.strand);
    return CounterRng(options_.seed, Purpose::promoter_negatives, fnv1a_64(key));
  }

  // A window of the same chromosome that holds no TSS of the catalogue and few enough N.
  std::optional<Window> draw_genomic(Fasta& handle, const TssSite& site) const {
    CounterRng rng = negative_rng(site);
    const std::int64_t size = options_.left + options_.right;
    const std::vector<std::int64_t>& tss = all_tss_[site.contig];
    for (int attempt = 0; attempt < genomic_attempts; ++attempt) {
      const std::int64_t begin = rng.between(0, names_[site.contig].length - size);
      const auto next = std::lower_bound(tss.begin(), tss.end(), begin);
      if (next != tss.end() && *next < begin + size) continue;
      if (!too_many_n(handle.fetch(site.contig, begin, begin + size))) return Window{begin, begin + size};
    }
    return std::nullopt;
  }

  // The reason why a site cannot be used, or empty.
  std::string place(Fasta& handle, Promoter& promoter) const {
    const TssSite& site = promoter.site;
    promoter.window = promoter.negative = window_of(site);
    if (promoter.window.begin < 0 || promoter.window.end > names_[site.contig].length)
      return "window beyond its contig";
    if (too_many_n(fetch(handle, site, promoter.window))) return "too many N";
    if (options_.negatives == NegativeKind::genomic) {
      const auto drawn = draw_genomic(handle, site);
      if (!drawn) return "no genomic negative found on its contig";
      promoter.negative = *drawn;
    }
    return {};
  }

  void choose_windows() {
    std::vector<Promoter> candidates(catalogue_.sites.size());
    std::vector<std::string> reasons(candidates.size());
    const std::size_t batches = (candidates.size() + windows_per_batch - 1) / windows_per_batch;
    kernels::parallel_for_worker(batches, [&](std::size_t batch, int worker) {
      throw_if_cancelled();
      const std::size_t end = std::min(candidates.size(), (batch + 1) * windows_per_batch);
      for (std::size_t i = batch * windows_per_batch; i < end; ++i) {
        candidates[i].site = catalogue_.sites[i];
        reasons[i] = place(handles_[static_cast<std::size_t>(worker)], candidates[i]);
      }
    });
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const TssSite& site = candidates[i].site;
      if (reasons[i].empty()) {
        promoters_.push_back(std::move(candidates[i]));
      } else {
        catalogue_.dropped.push_back({site.id, names_[site.contig].name, site.tss, site.strand, reasons[i]});
      }
    }
    for (const DroppedTss& dropped : catalogue_.dropped) ++summary_.dropped[dropped.reason];
    summary_.promoters = static_cast<std::int64_t>(promoters_.size());
    if (promoters_.empty()) {
      const auto most = std::max_element(summary_.dropped.begin(), summary_.dropped.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      throw_bad_input(
          fmt::format("{}: none of its {} TSS gives a window; {} of them: {}", options_.tss, catalogue_.rows,
                      most->second, most->first),
          "check that TSS and genome are of the same assembly, or choose a smaller --left and --right");
    }
  }

  std::vector<std::vector<std::string>> split() {
    std::vector<PromoterPlace> places;
    for (const Promoter& promoter : promoters_) {
      const TssSite& site = promoter.site;
      places.push_back({names_[site.contig].name, site.tss, site.strand, site.gene});
    }
    auto splits =
        split_promoters(group_promoters(places, options_.split.unit), options_.split, options_.seed);
    for (const auto& fold : splits) {
      auto& counts = summary_.sides.emplace_back();
      for (const std::string& side : fold) ++counts[side];
    }
    return splits;
  }

  std::pair<PromoterExample, PromoterExample> make_pair(Fasta& handle, const Promoter& promoter) const {
    const TssSite& site = promoter.site;
    const std::string& chrom = names_[site.contig].name;
    PromoterExample positive{site.id,
                             chrom,
                             promoter.window.begin,
                             promoter.window.end,
                             site.strand,
                             1,
                             "",
                             fetch(handle, site, promoter.window)};
    PromoterExample negative{
        site.id + ":negative", chrom, promoter.negative.begin, promoter.negative.end, site.strand, 0, "", ""};
    CounterRng rng = negative_rng(site);
    switch (options_.negatives) {
      case NegativeKind::random:
        negative.sequence = replace_blocks(positive.sequence, rng);
        break;
      case NegativeKind::permute:
        negative.sequence = permute_blocks(positive.sequence, rng);
        break;
      case NegativeKind::dinucleotide:
        negative.sequence = shuffle_dinucleotides(positive.sequence, rng);
        break;
      case NegativeKind::genomic:
        negative.sequence = fetch(handle, site, promoter.negative);
        break;
    }
    return {std::move(positive), std::move(negative)};
  }

  void write_examples(const AtomicFolder& folder, const std::vector<std::vector<std::string>>& splits) {
    std::vector<std::string> head = comments();
    std::vector<std::map<std::string, std::unique_ptr<PromoterExampleWriter>>> writers(splits.size());
    for (std::size_t fold = 0; fold < splits.size(); ++fold) {
      std::string where;
      if (options_.split.folds > 0) {
        where = fmt::format("fold{}/", fold + 1);
        make_folders(folder.file(where));
      }
      for (const char* side : {"train", "valid", "test"}) {
        writers[fold][side] =
            std::make_unique<PromoterExampleWriter>(folder.file(where + side + ".tsv"), head);
      }
    }
    Progress progress("promoter build", promoters_.size(), "promoters");
    for (std::size_t first = 0; first < promoters_.size(); first += windows_per_batch) {
      throw_if_cancelled();
      std::vector<std::pair<PromoterExample, PromoterExample>> pairs(
          std::min(windows_per_batch, promoters_.size() - first));
      kernels::parallel_for_worker(pairs.size(), [&](std::size_t i, int worker) {
        pairs[i] = make_pair(handles_[static_cast<std::size_t>(worker)], promoters_[first + i]);
      });
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        for (std::size_t fold = 0; fold < splits.size(); ++fold) {
          const std::string& side = splits[fold][first + i];
          for (PromoterExample* example : {&pairs[i].first, &pairs[i].second}) {
            example->split = side;
            writers[fold][side]->write(*example);
          }
        }
      }
      progress.advance(pairs.size());
    }
    for (auto& fold : writers) {
      for (auto& [side, writer] : fold) writer->close();
    }
  }

  std::vector<std::string> comments() const {
    return options_.with_provenance ? provenance_lines(options_.provenance) : std::vector<std::string>{};
  }

  void write_dropped(const AtomicFolder& folder) const {
    OutputStream out(folder.file("dropped.tsv"));
    TsvWriter table(out, {"id", "chrom", "tss", "strand", "reason"}, comments());
    for (const DroppedTss& dropped : catalogue_.dropped) {
      table.row({dropped.id, dropped.chrom, std::to_string(dropped.tss), std::string(1, dropped.strand),
                 dropped.reason});
    }
    out.close();
  }

  std::string manifest() const {
    nlohmann::ordered_json json;
    json["tss"] = options_.tss;
    json["reference"] = options_.fasta;
    if (!options_.chain.empty()) json["lift"] = options_.chain;
    json["window"] = {{"left", options_.left},
                      {"right", options_.right},
                      {"length", options_.left + options_.right},
                      {"tss_offset", options_.left},
                      {"coordinates", "0-based half-open; sequences on the sense strand"}};
    json["max_n"] = options_.max_n;
    json["negatives"] = {{"kind", negative_kind_name(options_.negatives)}};
    if (options_.negatives == NegativeKind::random || options_.negatives == NegativeKind::permute) {
      json["negatives"]["blocks"] = negative_blocks;
      json["negatives"]["blocks_changed"] = negative_blocks_changed;
    }
    json["split"] = split_name(options_.split);
    json["seed"] = options_.seed;
    json["counts"] = {{"rows", summary_.rows},
                      {"positives", summary_.promoters},
                      {"negatives", summary_.promoters},
                      {"dropped", static_cast<std::int64_t>(catalogue_.dropped.size())}};
    json["dropped"] = nlohmann::ordered_json::object();
    for (const auto& [reason, count] : summary_.dropped) json["dropped"][reason] = count;
    for (std::size_t fold = 0; fold < summary_.sides.size(); ++fold) {
      nlohmann::ordered_json sides;
      for (const char* side : {"train", "valid", "test"}) {
        const auto found = summary_.sides[fold].find(side);
        const std::int64_t count = found == summary_.sides[fold].end() ? 0 : found->second;
        sides[side] = {{"positives", count}, {"negatives", count}};
      }
      json["splits"].push_back(sides);
    }
    if (options_.with_provenance)
      json["provenance"] = nlohmann::ordered_json::parse(provenance_json(options_.provenance));
    return json.dump(2) + "\n";
  }

  const PromoterBuildOptions& options_;
  Fasta fasta_;
  ContigNames names_;
  std::vector<Fasta> handles_;  // one for each thread
  TssCatalogue catalogue_;
  std::vector<std::vector<std::int64_t>> all_tss_;  // by contig, sorted
  std::vector<Promoter> promoters_;
  PromoterBuildSummary summary_;
};

void check_options(const PromoterBuildOptions& options) {
  constexpr std::int64_t most = 10'000'000;
  const std::int64_t length = options.left + options.right;
  if (options.left < 0 || options.right < 1 || options.left > most || options.right > most || length < 20) {
    throw_usage(
        fmt::format("promoter build: --left {} --right {} is no window of at least 20 bp", options.left,
                    options.right),
        "the window holds --left bases before the TSS and --right from it on, for instance 5000 and 3000");
  }
  if (!(options.max_n >= 0.0 && options.max_n <= 1.0)) {
    throw_usage(fmt::format("promoter build: {} is not a share of N", options.max_n),
                "give --max-n from 0 to 1");
  }
}

}  // namespace

PromoterBuildSummary build_promoters(const PromoterBuildOptions& options) {
  check_options(options);
  return Builder(options).build();
}

}  // namespace bigbird
