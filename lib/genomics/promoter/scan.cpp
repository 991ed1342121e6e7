// Scanning a genome for promoters; see scan.h.
#include "lib/genomics/promoter/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "kernels/parallel.h"
#include "lib/calibration/calibrated_scores.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/genomics/promoter/promoter_baselines.h"
#include "lib/genomics/promoter/tss.h"
#include "lib/inference/model_identity.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/io/files/sha256.h"
#include "lib/io/genome/base_letters.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/excluded_regions.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/model_folder/model_folder.h"
#include "lib/parts/chunked_numbers.h"

namespace bigbird {
namespace {

// What is read of the genome and tokenized together.
constexpr std::int64_t positions_per_piece = 1024;
constexpr std::int64_t scan_bases_per_piece = 1'000'000;

// The regions to scan.
std::vector<Region> regions_of(const PromoterScanOptions& options, const ContigNames& names) {
  std::vector<Region> regions;
  if (!options.region.empty()) {
    regions = parse_regions(options.region, names);
  } else if (!options.regions.empty()) {
    BedReader bed(options.regions, 3);
    BedRecord record;
    while (bed.next(record)) {
      const std::size_t contig = names.require(record.chrom, bed.where());
      if (record.end > names[contig].length) {
        throw_bad_input(fmt::format("{}: {}-{} reaches beyond {} ({} bp)", bed.where(), record.begin,
                                    record.end, record.chrom, names[contig].length),
                        "check that the regions are of this assembly");
      }
      if (record.begin < record.end) regions.push_back({contig, record.begin, record.end});
    }
    if (regions.empty()) throw_bad_input(options.regions + ": no regions in it", "give at least one");
  } else {
    for (std::size_t i = 0; i < names.size(); ++i) regions.push_back({i, 0, names[i].length});
  }
  return regions;
}

// The same in order of place and without overlap.
std::vector<Region> in_order(std::vector<Region> regions) {
  std::sort(regions.begin(), regions.end(), [](const Region& a, const Region& b) {
    return std::tie(a.contig, a.begin) < std::tie(b.contig, b.begin);
  });
  std::vector<Region> merged;
  for (const Region& region : regions) {
    if (!merged.empty() && merged.back().contig == region.contig && region.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, region.end);
    } else {
      merged.push_back(region);
    }
  }
  return merged;
}

std::int64_t first_position(const Region& region, std::int64_t step) {
  return (region.begin + step - 1) / step * step;
}

std::int64_t count_positions(const Region& region, std::int64_t step) {
  const std::int64_t first = first_position(region, step);
  return first >= region.end ? 0 : (region.end - first + step - 1) / step;
}

// A stretch of the grid in one region.
struct Piece {
  const Region* region = nullptr;
  std::int64_t first = 0;  // position
  std::int64_t count = 0;
};
using Pieces = std::vector<Piece>;

// The grid of all regions, cut into chunks of so many positions, and these into pieces.
class Grid {
 public:
  Grid(const std::vector<Region>& regions, std::int64_t step, std::uint64_t chunk)
      : regions_(regions), step_(step), chunk_(static_cast<std::int64_t>(chunk)) {}

  std::int64_t positions() const {
    std::int64_t total = 0;
    for (const Region& region : regions_) total += count_positions(region, step_);
    return total;
  }
  // The next chunk; false at the end.
  bool next(Pieces& pieces) {
    const std::int64_t at_once =
        std::clamp<std::int64_t>(scan_bases_per_piece / step_, 1, positions_per_piece);
    for (std::int64_t left = chunk_; left > 0 && region_ < regions_.size();) {
      const Region& region = regions_[region_];
      const std::int64_t here = std::min({at_once, left, count_positions(region, step_) - done_});
      if (here > 0) pieces.push_back({&region, first_position(region, step_) + done_ * step_, here});
      left -= here;
      done_ += here;
      if (done_ == count_positions(region, step_)) {
        ++region_;
        done_ = 0;
      }
    }
    return !pieces.empty();
  }

 private:
  const std::vector<Region>& regions_;
  std::int64_t step_;
  std::int64_t chunk_;
  std::size_t region_ = 0;
  std::int64_t done_ = 0;  // of its positions
};

class Scanner {
 public:
  // `regions`, where given, in place of those of the options.
  Scanner(const PromoterScanOptions& options, const std::vector<Region>& regions, kernels::Backend& backend)
      : options_(options),
        fasta_(options.fasta),
        names_(fasta_.contigs()),
        regions_(in_order(regions.empty() ? regions_of(options, names_) : regions)),
        scorer_(
            {.models = options.models, .strands = Strands::forward, .batch = options.batch, .waits = true},
            backend),
        calibrated_(options.calibrated, scorer_) {
    choose_window();
    if (!options_.tss.empty()) fit_baselines();
  }

  PromoterScanSummary run() {
    Grid grid(regions_, options_.step, options_.work.chunk);
    const ScanFacts facts = make_facts(grid);
    // The index stands for the genome, whose bases the run knows by their fingerprint.
    ChunkedNumbers run(options_.output, header(facts), options_.fasta + ".fai", options_.work);
    if (run.is_whole()) return {};
    scorer_.open();
    std::optional<ScanFiles> files;
    if (!run.is_shard()) files.emplace(ScanPaths{options_.output, options_.calls, options_.summary}, facts);
    Progress progress("promoter scan",
                      static_cast<std::uint64_t>(facts.positions) / options_.work.shard.count, "positions");
    PromoterScanSummary counted;
    PartSteps<Pieces, ScannedChunk> steps;
    steps.works_ahead = scorer_.works_ahead();
    steps.read = [&](Pieces& pieces) { return grid.next(pieces); };
    steps.key = [&](const Pieces& pieces) { return key_of(pieces); };
    steps.begin = [&](Pieces& pieces, const BegunScan::Done& done) { scan(pieces, done, progress); };
    steps.finish = [&] { scorer_.finish(); };
    steps.write = [&](Pieces&, const ScannedChunk& chunk, const ChunkPlace& place) {
      counted.positions += static_cast<std::int64_t>(place.key.records);
      counted.scored += static_cast<std::int64_t>(chunk.positions.size());
      counted.add(chunk);
      if (place.is_new) {
        counted.scored_now += chunk.windows;
      } else {
        progress.advance(place.key.records);
      }
      if (files) files->write(chunk);
    };
    run.parts().run(steps);
    warn_of_replaced_letters(fasta_.path(), fasta_.iupac_replaced());
    run.close(files ? files->paths() : std::vector<std::string>{}, [&] {
      if (files) counted = files->close();
    });
    counted.provenance = told_;
    return counted;
  }

  std::vector<PromoterCall> find_calls() {
    Grid grid(regions_, options_.step, options_.work.chunk);
    scorer_.open();
    std::vector<PromoterCall> calls;
    CallFinder finder(options_.threshold, options_.merge_distance, options_.step,
                      [&](const PromoterCall& call) { calls.push_back(call); });
    Progress progress("promoter scan", static_cast<std::uint64_t>(grid.positions()), "positions");
    for (Pieces pieces; grid.next(pieces); pieces.clear()) {
      const auto take = [&](const ScannedChunk& chunk) {
        for (const ScannedPosition& scored : chunk.positions) finder.add(call_of(scored));
      };
      scan(pieces, take, progress);
    }
    scorer_.finish();
    finder.finish();
    return calls;
  }

 private:
  void choose_window() {
    const std::string& model = options_.models.front();
    scorer_.model().require_task("promoter");
    strands_ = scorer_.model().strands_of(options_.strands);
    if (scorer_.outputs() != 1 || !scorer_.gives_probabilities()) {
      throw_bad_input(
          fmt::format("{}: not a promoter classifier, it has {} outputs", model, scorer_.outputs()),
          "make one with `bigbird promoter finetune`");
    }
    left_ = options_.left;
    right_ = options_.right;
    if (const std::optional<ModelWindow>& window = scorer_.window()) {
      const std::int64_t left = window->target_offset, right = window->length - left;
      if ((left_ >= 0 && left_ != left) || (right_ >= 0 && right_ != right)) {
        throw_usage(fmt::format("{}: was trained on windows of {} bp before the TSS and {} from it on", model,
                                left, right),
                    message("leave `left` and `right` away"));
      }
      left_ = left;
      right_ = right;
    }
    if (left_ < 0 || right_ < 1) {
      throw_usage(model + ": has no window", message("give `left` and `right` as it was trained"));
    }
  }

  void fit_baselines() {
    fitted_ = fit_promoter_baselines(options_.baseline_from, options_.max_n);
    if (!fitted_.from.empty() && fitted_.length != left_ + right_) {
      log_warning(
          fmt::format("{}: its windows have {} bp, the scan's {}: the 6-mers are counted in "
                      "windows of another kind",
                      fitted_.from, fitted_.length, left_ + right_));
    }
    for (int worker = 0; worker < kernels::thread_count(); ++worker) baseline_scorers_.emplace_back(fitted_);
  }

  // Known TSS in the regions, ascending; the others are counted.
  std::vector<KnownTss> read_known(std::int64_t& outside_count) const {
    std::vector<KnownTss> known;
    const TssCatalogue catalogue = read_tss(options_.tss, "", names_);
    for (const TssSite& site : catalogue.sites) known.push_back({site.contig, site.tss, site.strand});
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    const auto inside = [&](const KnownTss& site) {
      const auto after = std::upper_bound(
          regions_.begin(), regions_.end(), site, [](const KnownTss& at, const Region& region) {
            return std::tie(at.contig, at.tss) < std::tie(region.contig, region.begin);
          });
      if (after == regions_.begin()) return false;
      const Region& region = *std::prev(after);
      return region.contig == site.contig && site.tss < region.end;
    };
    const auto outside =
        std::stable_partition(known.begin(), known.end(), [&](const KnownTss& site) { return inside(site); });
    outside_count = known.end() - outside;
    known.erase(outside, known.end());
    return known;
  }

  ScanFacts make_facts(const Grid& grid) {
    ScanFacts facts;
    facts.contigs = fasta_.contigs();
    facts.positions = grid.positions();
    if (facts.positions == 0) {
      throw_bad_input(fmt::format("no multiple of the step {} is in the regions", options_.step),
                      message("give longer regions or a smaller `step`"));
    }
    facts.step = options_.step;
    facts.left = left_;
    facts.right = right_;
    facts.strands = name_of(strands_);
    facts.max_n = options_.max_n;
    facts.per_strand = options_.per_strand;
    facts.threshold = options_.threshold;
    facts.merge_distance = options_.merge_distance;
    facts.has_tss = !options_.tss.empty();
    if (facts.has_tss) facts.tss = read_known(facts.tss_outside);
    facts.within = options_.within;
    const ExcludedRegions excluded(options_.exclude, names_);
    for (std::size_t contig = 0; contig < names_.size(); ++contig) {
      for (const IntervalSet::Interval& one : excluded.of(contig).intervals())
        facts.excluded.push_back({contig, one.begin, one.end});
    }
    facts.has_kmers = !fitted_.from.empty();
    if (facts.has_kmers) facts.promoters_have = fitted_.less_gc ? "less" : "more";
    if (options_.with_provenance) {
      Provenance provenance = options_.provenance;
      for (std::size_t i = 0; i < options_.models.size(); ++i) {
        provenance.inputs.push_back(model_input(options_.models[i], scorer_.digests()[i]));
      }
      calibrated_.add_to(provenance);
      told_ = provenance_lines(provenance);
      calibrated_.add_to(told_);
      if (options_.provenance_in_tables) facts.comments = told_;
      facts.provenance = provenance_json(provenance);
    }
    return facts;
  }

  ShardHeader header(const ScanFacts& facts) const {
    ShardHeader header;
    header.kind = promoter_scan_kind;
    header.identity = scorer_identity(scorer_);
    header.identity["strands"] = facts.strands;
    header.identity["calibrated"] = calibrated_.identity();
    header.identity["reference"] = genome_fingerprint(options_.fasta);
    header.identity["left"] = std::to_string(left_);
    header.identity["right"] = std::to_string(right_);
    header.identity["step"] = std::to_string(options_.step);
    header.identity["max_n"] = fmt::format("{}", options_.max_n);
    // Of what is written, so that one run has one set of files.
    header.identity["per_strand"] = facts.per_strand ? "true" : "false";
    header.identity["threshold"] = fmt::format("{}", facts.threshold);
    header.identity["merge_distance"] = std::to_string(facts.merge_distance);
    header.identity["within"] = std::to_string(facts.within);
    std::string sites;
    for (const KnownTss& site : facts.tss)
      sites += fmt::format("{} {} {}\n", site.contig, site.tss, site.strand);
    header.identity["tss"] = facts.has_tss ? sha256_bytes(sites) : "";
    std::string excluded;
    for (const Region& region : facts.excluded)
      excluded += fmt::format("{} {} {}\n", region.contig, region.begin, region.end);
    header.identity["excluded"] = excluded.empty() ? "" : sha256_bytes(excluded);
    header.identity["baselines"] = fitted_.digest;
    header.output = scan_facts_text(facts);
    return header;
  }

  // The places; the bases are those of the genome, which the run knows by its fingerprint.
  ChunkKey key_of(const Pieces& pieces) const {
    std::uint64_t positions = 0;
    std::string text;
    for (const Piece& piece : pieces) {
      positions += static_cast<std::uint64_t>(piece.count);
      text += fmt::format("{}\t{}\t{}\t{}\n", names_[piece.region->contig].name, piece.first, piece.count,
                          piece.region->end);
    }
    return {positions, sha256_bytes(text)};
  }

  // The scores of one position on the strands + and -, as they arrive.
  struct Scores {
    ScannedPosition at;
    ScannedBaselines baselines;
    int missing = 0;
  };
  struct Item {
    std::shared_ptr<Scores> scores;
    std::size_t strand = 0;
    std::int64_t begin = 0;  // of the window in the piece's bases
    EncodedSequence encoded;
  };

  // A chunk whose scores are on their way.
  struct BegunScan {
    using Done = std::function<void(ScannedChunk)>;
    ScannedChunk made;
    std::size_t missing = 1;  // positions that have no scores yet; and one until all windows were added
    Done done;
    void take_one() {
      if (--missing == 0) done(std::move(made));
    }
  };

  void scan(const Pieces& pieces, const BegunScan::Done& done, Progress& progress) {
    const auto chunk = std::make_shared<BegunScan>();
    chunk->done = done;
    for (const Piece& piece : pieces) {
      throw_if_cancelled();
      scan_piece(piece, chunk);
      progress.advance(static_cast<std::uint64_t>(piece.count));
    }
    chunk->take_one();
  }

  void scan_piece(const Piece& piece, const std::shared_ptr<BegunScan>& begun) {
    ScannedChunk& chunk = begun->made;
    const Region& region = *piece.region;
    const std::int64_t first = piece.first;
    const std::int64_t length = left_ + right_, contig_length = names_[region.contig].length;
    const std::int64_t reach = std::max(left_, right_) + 1;
    const std::int64_t begin = std::max<std::int64_t>(0, first - reach);
    const std::int64_t last = first + (piece.count - 1) * options_.step;
    const std::string bases = fasta_.fetch(region.contig, begin, std::min(contig_length, last + reach));
    const auto most_n = static_cast<std::int64_t>(std::floor(options_.max_n * static_cast<double>(length)));
    std::vector<Item> items;
    for (std::int64_t p = first; p <= last; p += options_.step) {
      constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
      auto scores = std::make_shared<Scores>();
      scores->at = {std::uint64_t{region.contig}, p, std::min(p + options_.step, region.end), unknown,
                    unknown};
      scores->baselines = {unknown, unknown, unknown, unknown};
      for (const std::size_t strand : {std::size_t{0}, std::size_t{1}}) {
        if (strands_ == (strand == 0 ? Strands::reverse : Strands::forward)) continue;
        const std::int64_t window = strand == 0 ? p - left_ : p - right_ + 1;
        if (window < 0 || window + length > contig_length) {
          ++chunk.beyond_contig;
          continue;
        }
        const auto from = bases.begin() + static_cast<std::ptrdiff_t>(window - begin);
        if (std::count(from, from + static_cast<std::ptrdiff_t>(length), 'N') > most_n) {
          ++chunk.n_rich;
          continue;
        }
        if (++scores->missing == 1) ++begun->missing;
        items.push_back({scores, strand, window - begin, {}});
      }
    }
    kernels::parallel_for_worker(items.size(), [&](std::size_t i, int worker) {
      std::string window =
          bases.substr(static_cast<std::size_t>(items[i].begin), static_cast<std::size_t>(length));
      if (items[i].strand == 1) window = reverse_complement(window);
      items[i].encoded = scorer_.encode(window);
      if (!options_.tss.empty()) add_baselines(items[i], window, worker);
    });
    for (Item& item : items) {
      chunk.cut += item.encoded.cut ? 1 : 0;
      ++chunk.windows;
      const auto scores = item.scores;
      const std::size_t strand = item.strand;
      scorer_.add(std::move(item.encoded), [this, begun, scores, strand](const SequenceScores& result) {
        (strand == 0 ? scores->at.plus : scores->at.minus) = calibrated_.mean(result, 0);
        if (--scores->missing > 0) return;
        begun->made.positions.push_back(scores->at);
        if (!options_.tss.empty()) begun->made.baselines.push_back(scores->baselines);
        begun->take_one();
      });
    }
  }

  void add_baselines(const Item& item, const std::string& window, int worker) {
    ScannedBaselines& baselines = item.scores->baselines;
    BaselineScorer& scorer = baseline_scorers_[static_cast<std::size_t>(worker)];
    (item.strand == 0 ? baselines.gc_plus : baselines.gc_minus) = scorer.gc(window);
    if (!fitted_.from.empty())
      (item.strand == 0 ? baselines.kmers_plus : baselines.kmers_minus) = scorer.kmers(window);
  }

  const PromoterScanOptions& options_;
  Fasta fasta_;
  ContigNames names_;
  std::vector<Region> regions_;
  SequenceScorer scorer_;
  CalibratedScores calibrated_;
  Strands strands_ = Strands::both;
  std::int64_t left_ = 0;
  std::int64_t right_ = 0;
  PromoterBaselines fitted_;
  std::vector<std::string> told_;                 // lines of provenance, once the facts are made
  std::vector<BaselineScorer> baseline_scorers_;  // of each thread
};

}  // namespace

void check_scan_options(const PromoterScanOptions& options) {
  const auto refuse = [](const std::string& what) { throw_usage(what); };
  if (options.step < 1) refuse(message("`step` {}: must be at least 1", options.step));
  if (options.merge_distance < 0)
    refuse(message("`merge_distance` {}: must not be negative", options.merge_distance));
  if (options.within < 0) refuse(message("`within` {}: must not be negative", options.within));
  if (!(options.max_n >= 0.0 && options.max_n <= 1.0))
    refuse(message("`max_n` {}: must be between 0 and 1", options.max_n));
  if (!(options.threshold >= 0.0 && options.threshold <= 1.0)) {
    refuse(message("`threshold` {}: must be between 0 and 1", options.threshold));
  }
  for (const std::string& other : {options.calls, options.summary}) {
    if (!other.empty() && (other == options.output || (options.calls == options.summary)))
      refuse(other + ": is named for two outputs");
  }
  if (options.per_strand && options.output == "-")
    refuse(message("`per_strand`: needs a file, give `output`"));
}

PromoterScanSummary promoter_scan(const PromoterScanOptions& options, kernels::Backend& backend) {
  check_scan_options(options);
  return Scanner(options, {}, backend).run();
}

std::vector<PromoterCall> find_promoter_calls(const PromoterScanOptions& options,
                                              const std::vector<Region>& regions, kernels::Backend& backend) {
  check_scan_options(options);
  if (regions.empty()) return {};
  return Scanner(options, regions, backend).find_calls();
}

}  // namespace bigbird
