// Promoter windows, negatives and split; see build.h.
#include "lib/genomics/promoter/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/hash.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/data/chunk.h"
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

// A promoter that is used, with the places of its genomic negatives.
struct Promoter {
  TssSite site;
  PlaceWindow window;
  Split side = Split::train;  // by place; train where the sides are drawn
  std::vector<PlaceWindow> genomic;
  std::vector<int> numbers;              // of the genomic negatives, from 0 on; some may be left out
  std::vector<std::uint64_t> sequences;  // keys of its own and then of the genomic negatives'
  std::vector<HardNegative> hard;
};

class PromoterBuilder {
 public:
  PromoterBuilder(const PromoterBuildOptions& options, kernels::Backend* backend)
      : options_(options),
        backend_(backend),
        fasta_(options.fasta),
        names_(fasta_.contigs()),
        sides_(options.sides, names_),
        excluded_(options.exclude, names_),
        chosen_(names_.size(), options.chromosomes.empty()) {
    if (!options.chromosomes.empty()) {
      for (const std::size_t contig : choose_chromosomes(options.chromosomes, names_, options.fasta))
        chosen_[contig] = true;
    }
    for (int i = 0; i < kernels::thread_count(); ++i) handles_.push_back(fasta_.clone());
  }

  PromoterBuildSummary build() {
    // First of all, so that a folder that is in the way is found before the work.
    AtomicFolder folder(options_.output, options_.replace);
    catalogue_ = read_tss(options_.tss, options_.chain, names_);
    summary_.rows = catalogue_.rows;
    all_tss_.resize(names_.size());  // dropped or not, on both strands
    for (const TssSite& site : catalogue_.sites) all_tss_[site.contig].push_back(site.tss);
    for (auto& sites : all_tss_) std::sort(sites.begin(), sites.end());
    choose_windows();
    if (negatives_of(options_.negatives, NegativeKind::genomic) > 0) draw_negatives();
    if (options_.join && (options_.split.unit == SplitUnit::chromosome || named_sides() > 0))
      drop_repeated_sequences();
    count_dropped();
    const auto splits = split();
    if (negatives_of(options_.negatives, NegativeKind::hard) > 0) find_hard(splits.front());
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

  int named_sides() const {
    return (sides_.lists(Split::test) ? 1 : 0) + (sides_.lists(Split::valid) ? 1 : 0);
  }

  // What no negative from the genome may touch: the other sides, and what is excluded.
  std::vector<Region> closed_to(Split side, std::size_t contig) const {
    std::vector<Region> closed = sides_.elsewhere(side, contig);
    if (excluded_.empty()) return closed;
    for (const IntervalSet::Interval& interval : excluded_.of(contig).intervals())
      closed.push_back({contig, interval.begin, interval.end});
    return closed;
  }

  // Whether two windows of different promoters may overlap without tying a split that is drawn.
  bool splits_by_place() const { return options_.split.unit == SplitUnit::chromosome || named_sides() == 2; }

  std::string fetch(Fasta& handle, const TssSite& site, const PlaceWindow& window) const {
    std::string bases = handle.fetch(site.contig, window.begin, window.end);
    return site.strand == '+' ? bases : reverse_complement(bases);
  }

  bool too_many_n(const std::string& bases) const {
    const auto n = std::count(bases.begin(), bases.end(), 'N');
    return static_cast<double>(n) > options_.max_n * static_cast<double>(bases.size());
  }

  // Keyed by the place, so that the rest of the catalogue does not change a promoter's negative; `number`: of
  // those of one kind, from 0 on.
  std::uint64_t negative_key(const TssSite& site, int number) const {
    std::string place =
        fmt::format("{}:{}:{}", canonical_contig_name(names_[site.contig].name), site.tss, site.strand);
    if (number > 0) place += fmt::format(":{}", number);
    return fnv1a_64(place);
  }

  // The reason why a site cannot be used, or empty.
  std::string place(Fasta& handle, Promoter& promoter) const {
    const TssSite& site = promoter.site;
    if (!chosen_[site.contig]) return "chromosome not chosen";
    promoter.window = window_of(site);
    if (promoter.window.begin < 0 || promoter.window.end > names_[site.contig].length)
      return "window beyond its contig";
    promoter.side = sides_.side(site.contig, site.tss);
    if (!apart_from(sides_.elsewhere(promoter.side, site.contig), promoter.window.begin, promoter.window.end))
      return "window across the border of a side";
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
    const int wanted = negatives_of(options_.negatives, NegativeKind::genomic);
    std::vector<GenomicRequest> requests;
    for (const Promoter& promoter : promoters_) {
      for (int number = 0; number < wanted; ++number) {
        requests.push_back({promoter.site.contig, promoter.window.begin, promoter.window.end,
                            negative_key(promoter.site, number), number, static_cast<int>(promoter.side),
                            number == 0 || splits_by_place()});
      }
    }
    const auto negatives = draw_genomic_negatives(
        fasta_, requests, all_tss_,
        {options_.left + options_.right, negative_distance(options_), options_.gc_tolerance, options_.max_n,
         options_.seed,
         [this](std::size_t contig, int side) { return closed_to(static_cast<Split>(side), contig); }});
    std::vector<std::string> reasons(promoters_.size());
    GenomicNegativeSummary& counts = summary_.genomic;
    for (std::size_t i = 0; i < negatives.size(); ++i) {
      const std::size_t promoter = i / static_cast<std::size_t>(wanted);
      if (!negatives[i]) {
        if (requests[i].number == 0) reasons[promoter] = "no genomic negative on its contig";
        counts.without_room += reasons[promoter].empty() ? 1 : 0;
        continue;
      }
      ++counts.drawn;
      ++counts.by_gc_step[negatives[i]->gc_step];
      counts.overlapping += negatives[i]->overlapping ? 1 : 0;
      counts.mean_gc_difference += negatives[i]->gc - negatives[i]->promoter_gc;
      promoters_[promoter].genomic.push_back({negatives[i]->begin, negatives[i]->end});
      promoters_[promoter].numbers.push_back(requests[i].number);
    }
    if (counts.drawn > 0) counts.mean_gc_difference /= static_cast<double>(counts.drawn);
    keep(std::vector<Promoter>(std::move(promoters_)), reasons);
    for_each_promoter(promoters_.size(), [&](Fasta& handle, std::size_t i) {
      Promoter& promoter = promoters_[i];
      for (const PlaceWindow& place : promoter.genomic)
        promoter.sequences.push_back(sequence_key(fetch(handle, promoter.site, place)));
    });
  }

  // Places that share a sequence cannot be parted: what shows it elsewhere goes instead, a negative of
  // several alone, else its promoter. Elsewhere is on another side that is named or, where a side of whole
  // chromosomes is drawn, on another chromosome.
  void drop_repeated_sequences() {
    const bool by_chromosome = options_.split.unit == SplitUnit::chromosome && named_sides() < 2;
    std::map<std::uint64_t, std::pair<Split, std::size_t>> place_of;
    std::vector<std::string> reasons(promoters_.size());
    for (std::size_t i = 0; i < promoters_.size(); ++i) {
      Promoter& promoter = promoters_[i];
      const std::pair<Split, std::size_t> place{promoter.side, by_chromosome ? promoter.site.contig : 0};
      const auto reason = [&](std::uint64_t key) -> std::string {
        const auto found = place_of.find(key);
        if (found == place_of.end() || found->second == place) return {};
        return found->second.first == place.first ? "sequence of another chromosome"
                                                  : "sequence of another side";
      };
      reasons[i] = reason(promoter.sequences.front());
      for (std::size_t k = promoter.genomic.size(); k-- > 0 && reasons[i].empty();) {
        const std::string repeated = reason(promoter.sequences[k + 1]);
        if (repeated.empty()) continue;
        if (promoter.genomic.size() == 1) {
          reasons[i] = repeated;
        } else {
          const auto at = static_cast<std::ptrdiff_t>(k);
          promoter.genomic.erase(promoter.genomic.begin() + at);
          promoter.numbers.erase(promoter.numbers.begin() + at);
          promoter.sequences.erase(promoter.sequences.begin() + at + 1);
          ++summary_.genomic.elsewhere;
        }
      }
      if (!reasons[i].empty()) continue;
      for (const std::uint64_t key : promoter.sequences) place_of.emplace(key, place);
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

  // The side of every promoter, for each fold: named, or drawn among those that are on no named side.
  std::vector<std::vector<std::string>> split() {
    std::vector<PromoterPlace> places;
    std::vector<std::size_t> index;  // of the promoters that are drawn
    for (std::size_t i = 0; i < promoters_.size(); ++i) {
      const Promoter& promoter = promoters_[i];
      if (promoter.side != Split::train) continue;
      const TssSite& site = promoter.site;
      PromoterPlace& place =
          places.emplace_back(PromoterPlace{names_[site.contig].name, site.tss, site.strand, site.gene});
      index.push_back(i);
      if (!options_.join) continue;
      place.windows = promoter.genomic;
      place.windows.push_back(promoter.window);
      place.sequences = promoter.sequences;
    }
    for (const Split side : {Split::train, Split::valid, Split::test}) {
      if ((side == Split::train || sides_.lists(side)) &&
          std::none_of(promoters_.begin(), promoters_.end(),
                       [&](const Promoter& promoter) { return promoter.side == side; })) {
        throw_bad_input(fmt::format("{}: none of its TSS gives a window on the {} side", options_.tss,
                                    split_side_name(side)),
                        message("choose `valid` and `test` so that each side has promoters"));
      }
    }
    const std::vector<std::size_t> groups = group_promoters(places, options_.split.unit);
    summary_.groups = static_cast<std::int64_t>(*std::max_element(groups.begin(), groups.end()) + 1);
    SplitPlan plan = options_.split;
    plan.draws_test = !sides_.lists(Split::test);
    plan.draws_valid = !sides_.lists(Split::valid);
    std::vector<std::vector<std::string>> splits;
    for (const std::vector<std::string>& drawn : split_promoters(groups, plan, options_.seed)) {
      std::vector<std::string>& side = splits.emplace_back();
      for (const Promoter& promoter : promoters_) side.emplace_back(split_side_name(promoter.side));
      for (std::size_t i = 0; i < drawn.size(); ++i) side[index[i]] = drawn[i];
    }
    return splits;
  }

  // What the model may scan: the chosen chromosomes but for the named sides, what is excluded, and all
  // windows of the other sides.
  std::vector<Region> training_stretches(const std::vector<std::string>& side) const {
    std::vector<std::vector<Region>> closed(names_.size());
    for (std::size_t contig = 0; contig < names_.size(); ++contig)
      closed[contig] = closed_to(Split::train, contig);
    for (std::size_t i = 0; i < promoters_.size(); ++i) {
      if (side[i] == side_names[0]) continue;
      const std::size_t contig = promoters_[i].site.contig;
      const auto close = [&](const PlaceWindow& window) {
        closed[contig].push_back({contig, window.begin, window.end});
      };
      close(promoters_[i].window);
      for (const PlaceWindow& window : promoters_[i].genomic) close(window);
    }
    std::vector<Region> open;
    for (std::size_t contig = 0; contig < names_.size(); ++contig) {
      if (!chosen_[contig]) continue;
      std::sort(closed[contig].begin(), closed[contig].end(),
                [](const Region& a, const Region& b) { return a.begin < b.begin; });
      std::int64_t at = 0;
      for (const Region& stretch : closed[contig]) {
        if (at < stretch.begin) open.push_back({contig, at, stretch.begin});
        at = std::max(at, stretch.end);
      }
      if (at < names_[contig].length) open.push_back({contig, at, names_[contig].length});
    }
    return open;
  }

  void find_hard(const std::vector<std::string>& side) {
    std::unordered_set<std::uint64_t> known;
    std::vector<std::size_t> training;  // promoters
    for (std::size_t i = 0; i < promoters_.size(); ++i) {
      known.insert(promoters_[i].sequences.begin(), promoters_[i].sequences.end());
      if (side[i] == side_names[0]) training.push_back(i);
    }
    const auto each = static_cast<std::size_t>(negatives_of(options_.negatives, NegativeKind::hard));
    std::vector<HardNegative> negatives =
        find_hard_negatives({options_.hard_negatives, options_.fasta, options_.left, options_.right,
                             options_.hard_step, negative_distance(options_), options_.max_n},
                            training_stretches(side), all_tss_, known, each * training.size(), *backend_,
                            summary_.hard.emplace());
    // Dealt out by place, so that those of one promoter come from all over the training side.
    for (std::size_t i = 0; i < negatives.size(); ++i)
      promoters_[training[i % training.size()]].hard.push_back(std::move(negatives[i]));
  }

  // A promoter, and its negatives behind it.
  std::vector<PromoterExample> make_examples(Fasta& handle, const Promoter& promoter) const {
    const TssSite& site = promoter.site;
    const std::string& chrom = names_[site.contig].name;
    const PlaceWindow& window = promoter.window;
    std::vector<PromoterExample> examples = {
        {site.id, chrom, window.begin, window.end, site.strand, 1, "", fetch(handle, site, window)}};
    const std::string bases = examples.front().sequence;
    for (const NegativesOfKind& of : options_.negatives) {
      const auto add = [&](int number, const std::string& contig, const PlaceWindow& place, char strand,
                           std::string sequence) {
        examples.push_back({negative_id(site.id, options_.negatives, of, number), contig, place.begin,
                            place.end, strand, 0, "", std::move(sequence)});
      };
      if (of.kind == NegativeKind::hard) {
        int number = 0;
        for (const HardNegative& hard : promoter.hard) {
          add(number++, names_[hard.contig].name, {hard.begin, hard.end}, hard.strand, hard.sequence);
        }
      } else if (of.kind == NegativeKind::genomic) {
        for (std::size_t i = 0; i < promoter.genomic.size(); ++i) {
          const PlaceWindow& place = promoter.genomic[i];
          add(promoter.numbers[i], chrom, place, site.strand, fetch(handle, site, place));
        }
      } else {
        for (int number = 0; number < of.count; ++number) {
          CounterRng rng(options_.seed, Purpose::promoter_negatives, negative_key(site, number));
          add(number, chrom, window, site.strand, make_negative(of.kind, bases, rng));
        }
      }
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
    summary_.sides.resize(splits.size());
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
            SideCounts& counts = summary_.sides[fold][side];
            ++(example.label == 1 ? counts.promoters : counts.negatives);
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
    return options_.provenance_in_tables ? provenance_lines(options_.provenance) : std::vector<std::string>{};
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
  kernels::Backend* backend_;  // of hard negatives
  Fasta fasta_;
  ContigNames names_;
  GenomeSides sides_;
  ExcludedRegions excluded_;
  std::vector<bool> chosen_;                        // contigs
  std::vector<std::vector<std::int64_t>> all_tss_;  // of each contig, ascending
  std::vector<Fasta> handles_;                      // one for each thread
  TssCatalogue catalogue_;
  std::vector<Promoter> promoters_;
  PromoterBuildSummary summary_;
};

void check_hard(const PromoterBuildOptions& options, const kernels::Backend* backend) {
  if (negatives_of(options.negatives, NegativeKind::hard) == 0) return;
  const std::string plan = negative_plan_name(options.negatives);
  if (backend == nullptr || options.hard_negatives.empty())
    throw std::logic_error("hard negatives without a model and a device");
  if (options.negatives.size() == 1) {
    throw_usage(message("`negatives` {}: validation and test would have none", plan),
                "hard negatives are only of the training side: give another kind too, as in genomic+hard");
  }
  if (options.split.folds > 0) {
    throw_usage(message("`negatives` {} with `split` {}: a model of one fold has seen what others test", plan,
                        split_name(options.split)),
                message("choose `split` promoter, gene or chromosome, or name `test` and `valid`"));
  }
  if (options.hard_step < 1) throw_usage(message("`step` {}: must be at least 1", options.hard_step));
}

void check_options(const PromoterBuildOptions& options, const kernels::Backend* backend) {
  if (options.negatives.empty())
    throw_usage(message("no `negatives`"), "give one kind or several, as in random+genomic");
  constexpr std::int64_t most = 10'000'000;
  const std::int64_t length = options.left + options.right;
  if (options.left < 0 || options.right < 1 || options.left > most || options.right > most || length < 20) {
    throw_usage(
        message("`left` {} `right` {} is not a window of at least 20 bp", options.left, options.right),
        message(
            "the window holds `left` bases before the TSS and `right` from it on, for instance 5000 and 3000"));
  }
  if (!(options.max_n >= 0.0 && options.max_n <= 1.0)) {
    throw_usage(fmt::format("promoter build: {} is not a fraction of N", options.max_n),
                message("give `max_n` from 0 to 1"));
  }
  const std::int64_t distance = negative_distance(options);
  if (distance < 0 || distance > most || !(options.gc_tolerance >= 0.0) || options.gc_tolerance > 1.0) {
    throw_usage(message("`min_distance` {} with `gc_tolerance` {} is not a rule for negatives", distance,
                        options.gc_tolerance),
                "give a distance in bp from 0 on, and a fraction from 0 to 1");
  }
  if (options.split.folds > 0 && (!options.sides.test.empty() || !options.sides.valid.empty())) {
    throw_usage(message("`test` and `valid` with `split` {}: folds take their sides in turn",
                        split_name(options.split)),
                message("leave `test` and `valid` away, or choose `split` promoter, gene or chromosome"));
  }
  check_hard(options, backend);
}

}  // namespace

std::int64_t negative_distance(const PromoterBuildOptions& options) {
  constexpr std::int64_t most = 5000;
  return options.min_distance.value_or(std::min((options.left + options.right) / 2, most));
}

double SideCounts::prior() const {
  const std::int64_t all = promoters + negatives;
  return all == 0 ? 0.0 : static_cast<double>(promoters) / static_cast<double>(all);
}

SideCounts PromoterBuildSummary::all() const {
  SideCounts counts;
  if (sides.empty()) return counts;
  for (const auto& [side, of] : sides.front()) {
    counts.promoters += of.promoters;
    counts.negatives += of.negatives;
  }
  return counts;
}

PromoterBuildSummary build_promoters(const PromoterBuildOptions& options, kernels::Backend* backend) {
  check_options(options, backend);
  return PromoterBuilder(options, backend).build();
}

}  // namespace bigbird
