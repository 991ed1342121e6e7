// Promoter windows, negatives, split and manifest; see build.h.
#include "lib/genomics/promoter/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/hash.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/ordered_map.h"
#include "lib/core/progress.h"
#include "lib/genomics/promoter/examples.h"
#include "lib/genomics/promoter/leaks.h"
#include "lib/genomics/promoter/tss.h"
#include "lib/inference/windows.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/excluded_regions.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

constexpr std::size_t windows_per_batch = 512;
constexpr std::array<const char*, 3> side_names = {"train", "valid", "test"};

// A promoter that is used, with its genomic negative's place (its own window where none was asked for).
struct Promoter {
  TssSite site;
  PlaceWindow window;
  PlaceWindow genomic;
  std::vector<std::uint64_t> sequences;  // keys of its own and of a genomic negative's
};

bool asks_for(const PromoterBuildOptions& options, NegativeKind kind) {
  return std::find(options.negatives.begin(), options.negatives.end(), kind) != options.negatives.end();
}

class PromoterBuilder {
 public:
  explicit PromoterBuilder(const PromoterBuildOptions& options)
      : options_(options),
        fasta_(options.fasta),
        names_(fasta_.contigs()),
        excluded_(options.exclude, names_) {
    for (int i = 0; i < kernels::thread_count(); ++i) handles_.push_back(fasta_.clone());
  }

  PromoterBuildSummary build() {
    // First of all, so that a folder that is in the way is found before the work.
    AtomicFolder folder(options_.output, options_.replace);
    catalogue_ = read_tss(options_.tss, options_.chain, names_);
    summary_.rows = catalogue_.rows;
    choose_windows();
    if (asks_for(options_, NegativeKind::genomic)) draw_negatives();
    if (options_.join && options_.split.unit == SplitUnit::chromosome) drop_repeated_sequences();
    count_dropped();
    const auto splits = split();
    write_examples(folder, splits);
    write_dropped(folder);
    check_leaks(folder);
    write_text_atomic(folder.file("manifest.json"), promoter_manifest(options_, summary_));
    folder.commit();
    return summary_;
  }

 private:
  PlaceWindow window_of(const TssSite& site) const {
    if (site.strand == '+') return {site.tss - options_.left, site.tss + options_.right};
    return {site.tss - options_.right + 1, site.tss + options_.left + 1};
  }

  std::string fetch(Fasta& handle, const TssSite& site, const PlaceWindow& window) const {
    std::string bases = handle.fetch(site.contig, window.begin, window.end);
    return site.strand == '+' ? bases : reverse_complement(bases);
  }

  bool too_many_n(const std::string& bases) const {
    const auto n = std::count(bases.begin(), bases.end(), 'N');
    return static_cast<double>(n) > options_.max_n * static_cast<double>(bases.size());
  }

  // Keyed by the place, so that the rest of the catalogue does not change a promoter's negative.
  std::uint64_t negative_key(const TssSite& site) const {
    return fnv1a_64(
        fmt::format("{}:{}:{}", canonical_contig_name(names_[site.contig].name), site.tss, site.strand));
  }

  // The reason why a site cannot be used, or empty.
  std::string place(Fasta& handle, Promoter& promoter) const {
    const TssSite& site = promoter.site;
    promoter.window = promoter.genomic = window_of(site);
    if (promoter.window.begin < 0 || promoter.window.end > names_[site.contig].length)
      return "window beyond its contig";
    if (excluded_.touch(site.contig, promoter.window.begin, promoter.window.end)) return excluded_reason;
    const std::string bases = fetch(handle, site, promoter.window);
    if (too_many_n(bases)) return "too many N";
    promoter.sequences = {sequence_key(bases)};
    return {};
  }

  // Calls body(handle, i) for every i below `count`, on all threads.
  template <typename Body>
  void for_each_promoter(std::size_t count, const Body& body) {
    const std::size_t batches = (count + windows_per_batch - 1) / windows_per_batch;
    kernels::parallel_for_worker(batches, [&](std::size_t batch, int worker) {
      throw_if_cancelled();
      const std::size_t end = std::min(count, (batch + 1) * windows_per_batch);
      for (std::size_t i = batch * windows_per_batch; i < end; ++i) {
        body(handles_[static_cast<std::size_t>(worker)], i);
      }
    });
  }

  // Keeps the candidates without a reason to drop them.
  void keep(std::vector<Promoter> candidates, const std::vector<std::string>& reasons) {
    promoters_.clear();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const TssSite& site = candidates[i].site;
      if (reasons[i].empty()) {
        promoters_.push_back(std::move(candidates[i]));
      } else {
        catalogue_.dropped.push_back({site.id, names_[site.contig].name, site.tss, site.strand, reasons[i]});
      }
    }
  }

  void choose_windows() {
    std::vector<Promoter> candidates(catalogue_.sites.size());
    std::vector<std::string> reasons(candidates.size());
    for_each_promoter(candidates.size(), [&](Fasta& handle, std::size_t i) {
      candidates[i].site = catalogue_.sites[i];
      reasons[i] = place(handle, candidates[i]);
    });
    keep(std::move(candidates), reasons);
  }

  void draw_negatives() {
    std::vector<std::vector<std::int64_t>> all_tss(names_.size());  // dropped or not, on both strands
    for (const TssSite& site : catalogue_.sites) all_tss[site.contig].push_back(site.tss);
    std::vector<GenomicRequest> requests;
    for (const Promoter& promoter : promoters_) {
      requests.push_back(
          {promoter.site.contig, promoter.window.begin, promoter.window.end, negative_key(promoter.site)});
    }
    const auto negatives = draw_genomic_negatives(fasta_, requests, all_tss,
                                                  {options_.left + options_.right, options_.min_distance,
                                                   options_.gc_tolerance, options_.max_n, options_.seed});
    std::vector<std::string> reasons(promoters_.size());
    GenomicNegativeSummary& counts = summary_.genomic;
    std::int64_t drawn = 0;
    for (std::size_t i = 0; i < negatives.size(); ++i) {
      if (!negatives[i]) {
        reasons[i] = "no genomic negative on its contig";
        continue;
      }
      ++drawn;
      ++counts.by_gc_step[negatives[i]->gc_step];
      counts.overlapping += negatives[i]->overlapping ? 1 : 0;
      counts.mean_gc_difference += negatives[i]->gc - negatives[i]->promoter_gc;
      promoters_[i].genomic = {negatives[i]->begin, negatives[i]->end};
    }
    if (drawn > 0) counts.mean_gc_difference /= static_cast<double>(drawn);
    keep(std::vector<Promoter>(std::move(promoters_)), reasons);
    for_each_promoter(promoters_.size(), [&](Fasta& handle, std::size_t i) {
      Promoter& promoter = promoters_[i];
      promoter.sequences.push_back(sequence_key(fetch(handle, promoter.site, promoter.genomic)));
    });
  }

  // Chromosomes that share a sequence cannot be parted; the promoters that show it elsewhere go instead.
  void drop_repeated_sequences() {
    std::map<std::uint64_t, std::size_t> contig_of;
    std::vector<std::string> reasons(promoters_.size());
    for (std::size_t i = 0; i < promoters_.size(); ++i) {
      const std::size_t contig = promoters_[i].site.contig;
      for (const std::uint64_t key : promoters_[i].sequences) {
        const auto found = contig_of.find(key);
        if (found != contig_of.end() && found->second != contig)
          reasons[i] = "sequence of another chromosome";
      }
      if (!reasons[i].empty()) continue;
      for (const std::uint64_t key : promoters_[i].sequences) contig_of.emplace(key, contig);
    }
    keep(std::vector<Promoter>(std::move(promoters_)), reasons);
  }

  void count_dropped() {
    for (const DroppedTss& dropped : catalogue_.dropped) summary_.dropped.add(dropped.reason);
    summary_.promoters = static_cast<std::int64_t>(promoters_.size());
    if (!promoters_.empty()) return;
    const std::string most = summary_.dropped.most_frequent();
    throw_bad_input(
        fmt::format("{}: none of its {} TSS gives a window; {} of them: {}", options_.tss, catalogue_.rows,
                    summary_.dropped.count(most), most),
        message("check that TSS and genome are of the same assembly, or choose a smaller `left` and "
                "`right` (and `min_distance`, for genomic negatives)"));
  }

  std::vector<std::vector<std::string>> split() {
    std::vector<PromoterPlace> places;
    for (const Promoter& promoter : promoters_) {
      const TssSite& site = promoter.site;
      PromoterPlace& place =
          places.emplace_back(PromoterPlace{names_[site.contig].name, site.tss, site.strand, site.gene});
      if (!options_.join) continue;
      place.windows = {promoter.window, promoter.genomic};
      place.sequences = promoter.sequences;
    }
    const std::vector<std::size_t> groups = group_promoters(places, options_.split.unit);
    summary_.groups = static_cast<std::int64_t>(*std::max_element(groups.begin(), groups.end()) + 1);
    auto splits = split_promoters(groups, options_.split, options_.seed);
    for (const auto& fold : splits) {
      auto& counts = summary_.sides.emplace_back();
      for (const std::string& side : fold) ++counts[side];
    }
    return splits;
  }

  // A promoter, and its negatives behind it.
  std::vector<PromoterExample> make_examples(Fasta& handle, const Promoter& promoter) const {
    const TssSite& site = promoter.site;
    const std::string& chrom = names_[site.contig].name;
    const PlaceWindow& window = promoter.window;
    const bool several = options_.negatives.size() > 1;
    std::vector<PromoterExample> examples = {
        {site.id, chrom, window.begin, window.end, site.strand, 1, "", fetch(handle, site, window)}};
    for (const NegativeKind kind : options_.negatives) {
      const bool genomic = kind == NegativeKind::genomic;
      const PlaceWindow& place = genomic ? promoter.genomic : window;
      CounterRng rng(options_.seed, Purpose::promoter_negatives, negative_key(site));
      std::string bases =
          genomic ? fetch(handle, site, place) : make_negative(kind, examples.front().sequence, rng);
      examples.push_back({negative_id(site.id, kind, several), chrom, place.begin, place.end, site.strand, 0,
                          "", std::move(bases)});
    }
    return examples;
  }

  std::string side_file(const AtomicFolder& folder, std::size_t fold, const std::string& side) const {
    const std::string name = side + ".tsv";
    return folder.file(options_.split.folds > 0 ? fmt::format("fold{}/{}", fold + 1, name) : name);
  }

  void write_examples(const AtomicFolder& folder, const std::vector<std::vector<std::string>>& splits) {
    std::vector<std::string> head = comments();
    std::vector<std::map<std::string, std::unique_ptr<PromoterExampleWriter>>> writers(splits.size());
    for (std::size_t fold = 0; fold < splits.size(); ++fold) {
      make_folders(parent_folder(side_file(folder, fold, side_names[0])));
      for (const char* side : side_names) {
        writers[fold][side] = std::make_unique<PromoterExampleWriter>(side_file(folder, fold, side), head);
      }
    }
    Progress progress("promoter build", promoters_.size(), "promoters");
    for (std::size_t first = 0; first < promoters_.size(); first += windows_per_batch) {
      throw_if_cancelled();
      std::vector<std::vector<PromoterExample>> made(std::min(windows_per_batch, promoters_.size() - first));
      kernels::parallel_for_worker(made.size(), [&](std::size_t i, int worker) {
        made[i] = make_examples(handles_[static_cast<std::size_t>(worker)], promoters_[first + i]);
      });
      for (std::size_t i = 0; i < made.size(); ++i) {
        for (std::size_t fold = 0; fold < splits.size(); ++fold) {
          const std::string& side = splits[fold][first + i];
          for (PromoterExample& example : made[i]) {
            example.split = side;
            writers[fold][side]->write(example);
          }
        }
      }
      progress.advance(made.size());
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

  // Reads what was written, so that nothing above has to be believed.
  void check_leaks(const AtomicFolder& folder) {
    for (std::size_t fold = 0; fold < summary_.sides.size(); ++fold) {
      LeakCheck check;
      for (const char* side : side_names)
        check.add_all(side, *read_example_windows(side_file(folder, fold, side)));
      const LeakReport& report = summary_.leaks.emplace_back(check.report());
      if (!report.any()) continue;
      const std::string where = options_.split.folds > 0 ? fmt::format("fold {}", fold + 1) : "the split";
      const std::string leaks =
          fmt::format("{}: {} leaks between its sides: {}", options_.output, where, report.text());
      if (!options_.allow_leaks) {
        throw_bad_input(leaks,
                        message("leave `no_join` away, or give `allow_leaks` to write it all the same"));
      }
      log_warning(leaks);
    }
  }

  const PromoterBuildOptions& options_;
  Fasta fasta_;
  ContigNames names_;
  ExcludedRegions excluded_;
  std::vector<Fasta> handles_;  // one for each thread
  TssCatalogue catalogue_;
  std::vector<Promoter> promoters_;
  PromoterBuildSummary summary_;
};

void check_options(const PromoterBuildOptions& options) {
  if (options.negatives.empty())
    throw_usage(message("no `negatives`"), "give one kind or several, as in random+genomic");
  constexpr std::int64_t most = 10'000'000;
  const std::int64_t length = options.left + options.right;
  if (options.left < 0 || options.right < 1 || options.left > most || options.right > most || length < 20) {
    throw_usage(
        message("`left` {} `right` {} is no window of at least 20 bp", options.left, options.right),
        message(
            "the window holds `left` bases before the TSS and `right` from it on, for instance 5000 and 3000"));
  }
  if (!(options.max_n >= 0.0 && options.max_n <= 1.0)) {
    throw_usage(fmt::format("promoter build: {} is not a fraction of N", options.max_n),
                message("give `max_n` from 0 to 1"));
  }
  if (options.min_distance < 0 || options.min_distance > most || !(options.gc_tolerance >= 0.0) ||
      options.gc_tolerance > 1.0) {
    throw_usage(message("`min_distance` {} with `gc_tolerance` {} is no rule for negatives",
                        options.min_distance, options.gc_tolerance),
                "give a distance in bp from 0 on, and a fraction from 0 to 1");
  }
}

using Json = nlohmann::basic_json<OrderedMap>;

Json negatives_json(const PromoterBuildOptions& options, const PromoterBuildSummary& summary) {
  const auto any = [&](std::initializer_list<NegativeKind> kinds) {
    return std::find_first_of(options.negatives.begin(), options.negatives.end(), kinds.begin(),
                              kinds.end()) != options.negatives.end();
  };
  Json json = {{"kind", negative_kinds_name(options.negatives)}};
  if (any({NegativeKind::random, NegativeKind::permute})) {
    json["blocks"] = negative_blocks;
    json["blocks_changed"] = negative_blocks_changed;
  }
  if (any({NegativeKind::genomic})) {
    json["min_distance"] = options.min_distance;
    json["gc_tolerance"] = options.gc_tolerance;
    for (std::size_t step = 0; step < gc_steps.size(); ++step) {
      json["gc_matched"][fmt::format("within {:g}", options.gc_tolerance * gc_steps[step])] =
          summary.genomic.by_gc_step[step];
    }
    json["gc_matched"]["closest drawn"] = summary.genomic.by_gc_step[gc_steps.size()];
    json["mean_gc_difference"] = summary.genomic.mean_gc_difference;
    json["overlapping_another_negative"] = summary.genomic.overlapping;
  }
  return json;
}

Json leaks_json(const LeakReport& report) {
  Json json = {{"examples_checked", report.examples}};
  for (std::size_t kind = 0; kind < leak_kinds; ++kind) {
    json[leak_name(static_cast<Leak>(kind))] = report.counts[kind];
  }
  return json;
}

}  // namespace

PromoterBuildSummary build_promoters(const PromoterBuildOptions& options) {
  check_options(options);
  return PromoterBuilder(options).build();
}

std::string promoter_manifest(const PromoterBuildOptions& options, const PromoterBuildSummary& summary) {
  const auto kinds = static_cast<std::int64_t>(options.negatives.size());
  Json json;
  json["tss"] = options.tss;
  json["reference"] = options.fasta;
  if (!options.chain.empty()) json["lift"] = options.chain;
  json["window"] = {{"left", options.left},
                    {"right", options.right},
                    {"length", options.left + options.right},
                    {"tss_offset", options.left},
                    {"coordinates", "0-based half-open; sequences on the sense strand"}};
  json["max_n"] = options.max_n;
  if (!options.exclude.empty()) json["exclude"] = options.exclude;
  json["negatives"] = negatives_json(options, summary);
  json["split"] = split_name(options.split);
  json["joined"] = options.join;
  json["groups"] = summary.groups;
  json["seed"] = options.seed;
  json["counts"] = {{"rows", summary.rows},
                    {"positives", summary.promoters},
                    {"negatives", summary.promoters * kinds},
                    {"dropped", summary.dropped.total()}};
  json["dropped"] = Json::object();
  for (const auto& [reason, count] : summary.dropped) json["dropped"][reason] = count;
  for (std::size_t fold = 0; fold < summary.sides.size(); ++fold) {
    Json sides;
    for (const char* side : {"train", "valid", "test"}) {
      const auto found = summary.sides[fold].find(side);
      const std::int64_t count = found == summary.sides[fold].end() ? 0 : found->second;
      sides[side] = {{"positives", count}, {"negatives", count * kinds}};
    }
    sides["leaks"] = leaks_json(summary.leaks[fold]);
    json["splits"].push_back(sides);
  }
  if (options.with_provenance) json["provenance"] = Json::parse(provenance_json(options.provenance));
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
