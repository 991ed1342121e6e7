// Scanning a genome for promoters; see scan.h.
#include "lib/tasks/genomics/promoter/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/progress.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/io/genome/track_writer.h"
#include "lib/tasks/genomics/promoter/tss.h"
#include "lib/tasks/sequence_scorer.h"

namespace bigbird {
namespace {

constexpr std::int64_t positions_per_chunk = 1024;
constexpr std::int64_t bases_per_chunk = 1'000'000;

// The regions to scan, in order of place and without overlap.
std::vector<Region> regions_of(const PromoterScanOptions& options, const ContigNames& names) {
  std::vector<Region> regions;
  if (!options.region.empty()) {
    regions.push_back(parse_region(options.region, names));
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

class Scanner {
 public:
  Scanner(const PromoterScanOptions& options, kernels::Backend& backend)
      : options_(options),
        fasta_(options.fasta),
        names_(fasta_.contigs()),
        regions_(regions_of(options, names_)),
        scorer_({options.models, Strands::forward, options.batch}, backend),
        finder_(options.threshold, options.merge_distance, options.step,
                [this](const PromoterCall& call) { calls_.push_back(call); }) {
    choose_window();
    if (!options_.tss.empty()) read_known();
    open_outputs();
  }

  PromoterScanSummary run() {
    std::int64_t total = 0;
    for (const Region& region : regions_) total += count_positions(region, options_.step);
    if (total == 0) {
      throw_bad_input(fmt::format("no multiple of the step {} lies in the regions", options_.step),
                      "give longer regions or a smaller `step`");
    }
    Progress progress("promoter scan", static_cast<std::uint64_t>(total), "positions");
    const std::int64_t at_once =
        std::clamp<std::int64_t>(bases_per_chunk / options_.step, 1, positions_per_chunk);
    for (const Region& region : regions_) {
      const std::int64_t count = count_positions(region, options_.step);
      for (std::int64_t done = 0; done < count; done += at_once) {
        throw_if_cancelled();
        const std::int64_t here = std::min(at_once, count - done);
        scan_chunk(region, first_position(region, options_.step) + done * options_.step, here);
        progress.advance(static_cast<std::uint64_t>(here));
      }
    }
    scorer_.finish();
    finder_.finish();
    summary_.positions = total;
    summary_.calls = static_cast<std::int64_t>(calls_.size());
    if (summary_.windows == 0) {
      throw_bad_input(
          fmt::format("none of the windows can be scored: {} pass the end of their contig, {} hold "
                      "too many N",
                      summary_.beyond_contig, summary_.n_rich),
          "check the region, the window's size and `max_n`");
    }
    evaluate();
    close_outputs();
    return summary_;
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
                    "leave `left` and `right` away");
      }
      left_ = left;
      right_ = right;
    }
    if (left_ < 0 || right_ < 1) {
      throw_usage(model + ": does not tell its window", "give `left` and `right` as it was trained");
    }
  }

  void read_known() {
    const TssCatalogue catalogue = read_tss(options_.tss, "", names_);
    for (const TssSite& site : catalogue.sites) known_.push_back({site.contig, site.tss, site.strand});
    std::sort(known_.begin(), known_.end());
    known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
    const auto inside = [&](const KnownTss& site) {
      const auto after = std::upper_bound(
          regions_.begin(), regions_.end(), site, [](const KnownTss& at, const Region& region) {
            return std::tie(at.contig, at.tss) < std::tie(region.contig, region.begin);
          });
      if (after == regions_.begin()) return false;
      const Region& region = *std::prev(after);
      return region.contig == site.contig && site.tss < region.end;
    };
    const auto outside = std::stable_partition(known_.begin(), known_.end(),
                                               [&](const KnownTss& site) { return inside(site); });
    summary_.tss_outside = known_.end() - outside;
    known_.erase(outside, known_.end());
    near_score_.assign(known_.size(), false);
  }

  void open_outputs() {
    std::vector<std::string> comments;
    if (options_.with_provenance) {
      provenance_ = options_.provenance;
      for (std::size_t i = 0; i < options_.models.size(); ++i) {
        provenance_.inputs.push_back({"model", options_.models[i], scorer_.digests()[i]});
      }
      comments = provenance_lines(provenance_);
    }
    const TrackFormat format = track_format(options_.output);
    const std::vector<Contig>& contigs = fasta_.contigs();
    tracks_.push_back(make_track_writer(options_.output, format, contigs, comments));
    if (options_.per_strand) {
      for (const char* strand : {"plus", "minus"}) {
        tracks_.push_back(
            make_track_writer(strand_track_path(options_.output, strand), format, contigs, comments));
      }
    }
    if (options_.calls.empty()) return;
    calls_out_ = std::make_unique<OutputStream>(options_.calls);
    for (const std::string& comment : comments) calls_out_->write("##" + comment + "\n");
  }

  // The scores of one position on the strands + and -, as they arrive.
  struct Scores {
    std::int64_t position = 0;
    std::int64_t end = 0;
    std::array<double, 2> values = {std::numeric_limits<double>::quiet_NaN(),
                                    std::numeric_limits<double>::quiet_NaN()};
    int missing = 0;
  };
  struct Item {
    std::shared_ptr<Scores> scores;
    std::size_t strand = 0;
    std::int64_t begin = 0;  // of the window in the chunk's bases
    EncodedSequence encoded;
  };

  void scan_chunk(const Region& region, std::int64_t first, std::int64_t count) {
    const std::int64_t length = left_ + right_, contig_length = names_[region.contig].length;
    const std::int64_t reach = std::max(left_, right_) + 1;
    const std::int64_t begin = std::max<std::int64_t>(0, first - reach);
    const std::int64_t last = first + (count - 1) * options_.step;
    const std::string bases = fasta_.fetch(region.contig, begin, std::min(contig_length, last + reach));
    const auto most_n = static_cast<std::int64_t>(std::floor(options_.max_n * static_cast<double>(length)));
    std::vector<Item> items;
    for (std::int64_t p = first; p <= last; p += options_.step) {
      auto scores = std::make_shared<Scores>();
      scores->position = p;
      scores->end = std::min(p + options_.step, region.end);
      for (const std::size_t strand : {std::size_t{0}, std::size_t{1}}) {
        if (strands_ == (strand == 0 ? Strands::reverse : Strands::forward)) continue;
        const std::int64_t window = strand == 0 ? p - left_ : p - right_ + 1;
        if (window < 0 || window + length > contig_length) {
          ++summary_.beyond_contig;
          continue;
        }
        const auto from = bases.begin() + static_cast<std::ptrdiff_t>(window - begin);
        if (std::count(from, from + static_cast<std::ptrdiff_t>(length), 'N') > most_n) {
          ++summary_.n_rich;
          continue;
        }
        ++scores->missing;
        items.push_back({scores, strand, window - begin, {}});
      }
    }
    kernels::parallel_for(items.size(), [&](std::size_t i) {
      const std::string window =
          bases.substr(static_cast<std::size_t>(items[i].begin), static_cast<std::size_t>(length));
      items[i].encoded = scorer_.encode(items[i].strand == 0 ? window : reverse_complement(window));
    });
    for (Item& item : items) {
      summary_.cut += item.encoded.cut ? 1 : 0;
      ++summary_.windows;
      const auto scores = item.scores;
      const std::size_t strand = item.strand, contig = region.contig;
      scorer_.add(std::move(item.encoded), [this, scores, strand, contig](const SequenceScores& result) {
        scores->values[strand] = result.mean_of_models(0, 0);
        if (--scores->missing == 0) write(contig, *scores);
      });
    }
  }

  void write(std::size_t contig, const Scores& scores) {
    const auto [plus, minus] = scores.values;
    const bool on_minus = std::isnan(plus) || minus > plus;
    const double score = on_minus ? minus : plus;
    ++summary_.scored;
    tracks_[0]->add(contig, scores.position, scores.end, static_cast<float>(score));
    for (std::size_t strand = 0; strand + 1 < tracks_.size(); ++strand) {
      if (std::isnan(scores.values[strand])) continue;
      tracks_[strand + 1]->add(contig, scores.position, scores.end,
                               static_cast<float>(scores.values[strand]));
    }
    finder_.add({contig, scores.position, scores.end, on_minus ? '-' : '+', score});
    const KnownTss nearest{contig, scores.position - options_.within, '+'};
    for (auto site = std::lower_bound(known_.begin(), known_.end(), nearest);
         site != known_.end() && site->contig == contig && site->tss <= scores.position + options_.within;
         ++site) {
      near_score_[static_cast<std::size_t>(site - known_.begin())] = true;
    }
  }

  void evaluate() {
    if (options_.tss.empty()) return;
    summary_.any_strand = evaluate_calls(calls_, known_, options_.within, false);
    summary_.same_strand = evaluate_calls(calls_, known_, options_.within, true);
    summary_.tss_unscored = std::count(near_score_.begin(), near_score_.end(), false);
  }

  void close_outputs() {
    if (calls_out_) {
      std::string line;
      BedRecord record;
      record.columns = 8;
      for (std::size_t i = 0; i < calls_.size(); ++i) {
        const PromoterCall& call = calls_[i];
        record.chrom = names_[call.contig].name;
        record.begin = record.thick_begin = call.tss;
        record.end = call.end;
        record.thick_end = call.tss + 1;
        record.name = fmt::format("call{}", i + 1);
        record.score = std::round(call.score * 1000);
        record.strand = call.strand;
        line.clear();
        append_bed_line(line, record);
        calls_out_->write(line);
      }
      calls_out_->close();
    }
    for (const auto& track : tracks_) track->close();
    if (!options_.summary.empty()) write_summary();
  }

  static nlohmann::ordered_json evaluation_json(const CallEvaluation& evaluation) {
    const auto defined = [](double value) {
      return std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
    };
    return {{"tss", evaluation.tss},
            {"tss_found", evaluation.found},
            {"recall", defined(evaluation.recall())},
            {"calls", evaluation.calls},
            {"calls_confirmed", evaluation.confirmed},
            {"precision", defined(evaluation.precision())}};
  }

  void write_summary() const {
    nlohmann::ordered_json json;
    json["positions"] = summary_.positions;
    json["positions_scored"] = summary_.scored;
    json["windows_scored"] = summary_.windows;
    json["windows_beyond_contig"] = summary_.beyond_contig;
    json["windows_rich_in_n"] = summary_.n_rich;
    json["windows_cut"] = summary_.cut;
    json["window"] = {{"left", left_}, {"right", right_}};
    json["step"] = options_.step;
    json["strands"] = name_of(strands_);
    json["max_n"] = options_.max_n;
    json["threshold"] = options_.threshold;
    json["merge_distance"] = options_.merge_distance;
    json["calls"] = summary_.calls;
    if (summary_.any_strand) {
      json["evaluation"] = {{"within", options_.within},
                            {"tss_outside_regions", summary_.tss_outside},
                            {"tss_without_scored_position", summary_.tss_unscored},
                            {"any_strand", evaluation_json(*summary_.any_strand)},
                            {"same_strand", evaluation_json(summary_.same_strand)}};
    }
    if (options_.with_provenance)
      json["provenance"] = nlohmann::ordered_json::parse(provenance_json(provenance_));
    write_text_atomic(options_.summary, json.dump(2) + "\n");
  }

  const PromoterScanOptions& options_;
  Fasta fasta_;
  ContigNames names_;
  std::vector<Region> regions_;
  SequenceScorer scorer_;
  CallFinder finder_;
  Strands strands_ = Strands::both;
  std::int64_t left_ = 0;
  std::int64_t right_ = 0;
  std::vector<KnownTss> known_;  // in the regions, ascending
  std::vector<bool> near_score_;
  Provenance provenance_;
  std::vector<std::unique_ptr<TrackWriter>> tracks_;  // both strands; then +, -
  std::unique_ptr<OutputStream> calls_out_;
  std::vector<PromoterCall> calls_;
  PromoterScanSummary summary_;
};

void check_options(const PromoterScanOptions& options) {
  const auto refuse = [](const std::string& what) { throw_usage(what); };
  if (options.step < 1) refuse(fmt::format("`step` {}: must be at least 1", options.step));
  if (options.merge_distance < 0)
    refuse(fmt::format("`merge_distance` {}: must not be negative", options.merge_distance));
  if (options.within < 0) refuse(fmt::format("`within` {}: must not be negative", options.within));
  if (!(options.max_n >= 0.0 && options.max_n <= 1.0))
    refuse(fmt::format("`max_n` {}: must lie between 0 and 1", options.max_n));
  if (!(options.threshold >= 0.0 && options.threshold <= 1.0)) {
    refuse(fmt::format("`threshold` {}: must lie between 0 and 1", options.threshold));
  }
  for (const std::string& other : {options.calls, options.summary}) {
    if (!other.empty() && (other == options.output || (options.calls == options.summary)))
      refuse(other + ": is named for two outputs");
  }
  if (options.per_strand && options.output == "-") refuse("`per_strand`: needs a file, give `output`");
}

}  // namespace

std::string strand_track_path(const std::string& path, const std::string& strand) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  std::size_t dot = path.rfind('.');
  if (dot != std::string::npos && dot > name && has_suffix(path, ".gz")) dot = path.rfind('.', dot - 1);
  if (dot == std::string::npos || dot <= name) return path + "." + strand;
  return path.substr(0, dot) + "." + strand + path.substr(dot);
}

PromoterScanSummary promoter_scan(const PromoterScanOptions& options, kernels::Backend& backend) {
  check_options(options);
  return Scanner(options, backend).run();
}

}  // namespace bigbird
