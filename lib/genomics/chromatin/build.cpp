// Building a chromatin data set; see build.h.
#include "lib/genomics/chromatin/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"
#include "lib/data/chunk.h"
#include "lib/genomics/chromatin/dataset.h"
#include "lib/genomics/chromatin/peaks.h"
#include "lib/io/genome/excluded_regions.h"

namespace bigbird {
namespace {

constexpr std::int64_t grch37_chr7_length = 159'138'663;

bool is_protected_from(Split side, Split other) {
  if (side == Split::train) return other == Split::valid || other == Split::test;
  return side == Split::valid && other == Split::test;
}

// One task: small enough to keep every thread busy on a small chromosome.
constexpr std::int64_t bins_per_stretch = 8192;
// Bases read at a time when N are counted.
constexpr std::int64_t bases_per_piece = 1 << 22;

constexpr const char* reason_short_contig = "contig shorter than the window";
constexpr const char* reason_keep = "labels that the rule keep does not want";
constexpr const char* reason_n = "too many N";

// The bins of a contig that are kept, and their labels, row by row.
struct KeptBins {
  std::vector<ChromatinBin> bins;
  std::vector<std::uint8_t> rows;
};

struct NRun {
  std::int64_t begin = 0, end = 0;
};

class ChromatinBuilder {
 public:
  explicit ChromatinBuilder(const ChromatinBuildOptions& options)
      : options_(options),
        least_(least_overlap(options.min_overlap, options.bin, options.at_least)),
        window_{"chromatin", options.left + options.bin + options.right, options.left, options.bin},
        names_(load_fai(options.fasta)),
        chosen_(choose_chromosomes(options.chromosomes, names_, options.fasta)),
        splits_(options.split, names_),
        tracks_(read_peak_list(options.peaks)),
        keep_(options.keep, profiles()),
        stride_(label_stride(tracks_.size())) {}

  ChromatinBuildSummary build() {
    // First of all, so that a folder that is in the way is found before the work.
    ChromatinDatasetWriter writer(options_.output, options_.replace, names_.contigs(), profiles(), window_,
                                  comments());
    open_genome();
    if (splits_.regions(Split::test).empty() && splits_.regions(Split::valid).empty())
      log_warning(message("no side for validation or test is asked for (`test`, `valid`, `preset`)"));
    read_inputs();
    Progress progress("chromatin build", static_cast<std::uint64_t>(summary_.grid), "bins");
    for (const std::size_t contig : chosen_) {
      const std::int64_t whole = names_[contig].length / options_.bin;
      if (names_[contig].length < window_.length) {
        drop(reason_short_contig, whole);
      } else {
        add_contig(static_cast<std::uint32_t>(contig), whole, writer);
      }
      progress.advance(static_cast<std::uint64_t>(whole));
    }
    summarize(writer);
    writer.commit(path_from_folder(reference(), options_.output), facts());
    return summary_;
  }

 private:
  std::vector<Profile> profiles() const {
    std::vector<Profile> list;
    for (const PeakTrack& track : tracks_) list.push_back(track.profile);
    return list;
  }

  std::vector<std::string> comments() const {
    return options_.provenance_in_tables ? provenance_lines(options_.provenance) : std::vector<std::string>{};
  }

  void drop(const char* reason, std::int64_t bins) {
    summary_.dropped.add(reason, static_cast<std::uint64_t>(bins));
  }

  void open_genome() {
    if (options_.max_n) {
      const Fasta fasta(reference());
      for (int i = 0; i < kernels::thread_count(); ++i) handles_.push_back(fasta.clone());
    } else if (!file_exists(reference())) {
      log_info(
          fmt::format("{}: only its index is there, which is enough for bins and labels; models that use "
                      "the data set read the genome itself",
                      reference()));
    }
  }

  // The FASTA, also where its index was given.
  std::string reference() const {
    const std::string& path = options_.fasta;
    return has_suffix(path, ".fai") ? path.substr(0, path.size() - 4) : path;
  }

  void read_inputs() {
    peaks_ = read_peaks(tracks_, names_, options_.clip, summary_.peaks);
    excluded_ = excluded_ = ExcludedRegions(options_.exclude, names_);
    std::vector<bool> is_chosen(names_.size());
    for (const std::size_t contig : chosen_) {
      is_chosen[contig] = true;
      summary_.grid += names_[contig].length / options_.bin;
    }
    for (const auto& track : peaks_) {
      for (const GenomeInterval& interval : track) summary_.elsewhere += is_chosen[interval.contig] ? 0u : 1u;
    }
  }

  struct Stretch {
    KeptBins kept;
    std::int64_t unwanted = 0, excluded = 0;
  };

  Stretch label_stretch(const BinStretch& place) const {
    const auto bins = static_cast<std::size_t>(place.bins);
    std::vector<std::uint8_t> rows(bins * stride_);
    for (std::size_t k = 0; k < peaks_.size(); ++k) mark_bins(peaks_[k], place, least_, k, stride_, rows);
    Stretch stretch;
    for (std::size_t i = 0; i < bins; ++i) {
      const std::span<const std::uint8_t> row(rows.data() + i * stride_, stride_);
      const std::int64_t begin = place.begin + static_cast<std::int64_t>(i) * place.bin;
      if (!keep_.keeps(row)) {
        ++stretch.unwanted;
      } else if (excluded_.touch(place.contig, begin, begin + place.bin)) {
        ++stretch.excluded;
      } else {
        stretch.kept.bins.push_back({place.contig, splits_.side(place.contig, begin + place.bin / 2), begin});
        stretch.kept.rows.insert(stretch.kept.rows.end(), row.begin(), row.end());
      }
    }
    return stretch;
  }

  KeptBins label_contig(std::uint32_t contig, std::int64_t whole) {
    std::vector<Stretch> stretches(
        static_cast<std::size_t>((whole + bins_per_stretch - 1) / bins_per_stretch));
    kernels::parallel_for(stretches.size(), [&](std::size_t i) {
      throw_if_cancelled();
      const std::int64_t first = static_cast<std::int64_t>(i) * bins_per_stretch;
      stretches[i] = label_stretch(
          {contig, first * options_.bin, std::min(bins_per_stretch, whole - first), options_.bin});
    });
    KeptBins all;
    std::size_t count = 0;
    for (const Stretch& stretch : stretches) count += stretch.kept.bins.size();
    all.bins.reserve(count);
    all.rows.reserve(count * stride_);
    for (Stretch& stretch : stretches) {
      drop(reason_keep, stretch.unwanted);
      drop(excluded_reason, stretch.excluded);
      all.bins.insert(all.bins.end(), stretch.kept.bins.begin(), stretch.kept.bins.end());
      all.rows.insert(all.rows.end(), stretch.kept.rows.begin(), stretch.kept.rows.end());
      stretch = {};
    }
    return all;
  }

  std::vector<NRun> n_runs(std::uint32_t contig) {
    const std::int64_t length = names_[contig].length;
    std::vector<std::vector<NRun>> pieces(
        static_cast<std::size_t>((length + bases_per_piece - 1) / bases_per_piece));
    kernels::parallel_for_worker(pieces.size(), [&](std::size_t i, int worker) {
      throw_if_cancelled();
      const std::int64_t begin = static_cast<std::int64_t>(i) * bases_per_piece;
      const std::string bases = handles_[static_cast<std::size_t>(worker)].fetch(
          contig, begin, std::min(begin + bases_per_piece, length));
      for (std::size_t at = bases.find('N'); at != std::string::npos; at = bases.find('N', at)) {
        const std::size_t end = std::min(bases.find_first_not_of('N', at), bases.size());
        pieces[i].push_back({begin + static_cast<std::int64_t>(at), begin + static_cast<std::int64_t>(end)});
        at = end;
      }
    });
    std::vector<NRun> runs;
    for (const auto& piece : pieces) runs.insert(runs.end(), piece.begin(), piece.end());
    return runs;
  }

  void drop_windows_of_n(std::uint32_t contig, KeptBins& kept) {
    const std::vector<NRun> runs = n_runs(contig);
    const auto most = *options_.max_n * static_cast<double>(window_.length);
    const std::int64_t last = names_[contig].length - window_.length;
    std::size_t first = 0, left = 0;  // the first run that may matter; how many bins stay
    for (std::size_t i = 0; i < kept.bins.size(); ++i) {
      const std::int64_t begin =
          std::clamp<std::int64_t>(kept.bins[i].begin - window_.target_offset, 0, last);
      const std::int64_t end = begin + window_.length;
      while (first < runs.size() && runs[first].end <= begin) ++first;
      std::int64_t n = 0;
      for (std::size_t run = first; run < runs.size() && runs[run].begin < end; ++run)
        n += std::min(end, runs[run].end) - std::max(begin, runs[run].begin);
      if (static_cast<double>(n) > most) continue;
      kept.bins[left] = kept.bins[i];
      std::copy_n(kept.rows.begin() + static_cast<std::ptrdiff_t>(i * stride_), stride_,
                  kept.rows.begin() + static_cast<std::ptrdiff_t>(left * stride_));
      ++left;
    }
    drop(reason_n, static_cast<std::int64_t>(kept.bins.size() - left));
    kept.bins.resize(left);
    kept.rows.resize(left * stride_);
  }

  void add_contig(std::uint32_t contig, std::int64_t whole, ChromatinDatasetWriter& writer) {
    KeptBins kept = label_contig(contig, whole);
    if (options_.max_n && !kept.bins.empty()) drop_windows_of_n(contig, kept);
    summary_.moved += keep_sides_apart(kept.bins, window_, names_[contig].length, options_.gap);
    for (std::size_t i = 0; i < kept.bins.size(); ++i) {
      writer.write(kept.bins[i], {kept.rows.data() + i * stride_, stride_});
    }
  }

  void summarize(const ChromatinDatasetWriter& writer) {
    summary_.profiles = tracks_.size();
    for (const Split split : {Split::train, Split::valid, Split::test, Split::none}) {
      const auto count = static_cast<std::int64_t>(writer.bins()[static_cast<std::size_t>(split)]);
      summary_.sides[split_side_name(split)] = count;
      summary_.bins += count;
    }
    for (std::size_t k = 0; k < tracks_.size(); ++k) {
      const auto& positives = writer.positives(k);
      if (std::all_of(positives.begin(), positives.end(), [](std::uint64_t n) { return n == 0; }))
        summary_.without_positives.push_back(fmt::format("{} {}", k, tracks_[k].profile.name));
    }
    if (summary_.bins > 0) return;
    throw_bad_input(
        fmt::format("{}: none of the {} bins is kept ({})", options_.peaks, summary_.grid,
                    summary_.dropped.text(": ")),
        message("check that peaks and genome are of the same assembly, and the rules `keep`, `exclude`, "
                "`max_n`, `left` and `right`"));
  }

  std::string facts() const {
    nlohmann::ordered_json json;
    json["peaks"] = options_.peaks;
    json["rules"] = {{"bin", options_.bin},
                     {"min_overlap", options_.min_overlap},
                     {"overlap", options_.at_least ? "at least" : "more than"},
                     {"least_bases", least_},
                     {"keep", options_.keep},
                     {"exclude", options_.exclude},
                     {"max_n", options_.max_n ? nlohmann::ordered_json(*options_.max_n) : nullptr}};
    json["splits"] = {{"preset", options_.split.preset},
                      {"test", splits_.regions(Split::test)},
                      {"valid", splits_.regions(Split::valid)},
                      {"train", splits_.regions(Split::train)},
                      {"rest", split_side_name(splits_.rest())},
                      {"gap", options_.gap ? nlohmann::ordered_json(*options_.gap) : "windows apart"},
                      {"bins_moved_to_none", summary_.moved}};
    json["grid_bins"] = summary_.grid;
    json["dropped"] = nlohmann::ordered_json::object();
    for (const auto& [reason, count] : summary_.dropped) json["dropped"][reason] = count;
    json["peak_lines"] = {{"read", summary_.peaks.lines},
                          {"empty", summary_.peaks.empty},
                          {"clipped", summary_.peaks.clipped},
                          {"of_no_listed_track", summary_.peaks.unlisted},
                          {"on_unknown_contigs", summary_.peaks.unknown_contigs}};
    if (options_.with_provenance)
      json["provenance"] = nlohmann::ordered_json::parse(provenance_json(options_.provenance));
    return json_text(json);
  }

  const ChromatinBuildOptions& options_;
  std::int64_t least_;
  ModelWindow window_;
  ContigNames names_;
  std::vector<std::size_t> chosen_;
  ChromatinSplits splits_;
  std::vector<PeakTrack> tracks_;
  KeepRule keep_;
  std::size_t stride_;
  std::vector<std::vector<GenomeInterval>> peaks_;
  ExcludedRegions excluded_;
  std::vector<Fasta> handles_;  // one for each thread
  ChromatinBuildSummary summary_;
};

void check_options(const ChromatinBuildOptions& options) {
  constexpr std::int64_t most = 10'000'000;
  const auto refuse = [](const std::string& what, const char* hint) {
    throw_usage("chromatin build: " + what, hint);
  };
  if (options.bin < 1 || options.bin > most) refuse(message("`bin` {}", options.bin), "1 to 10M bases");
  if (options.left < 0 || options.right < 0 || options.left > most || options.right > most) {
    refuse(fmt::format("{} bases before and {} after a bin of {}", options.left, options.right, options.bin),
           "a window holds its bin, with 0 to 10M bases on each side");
  }
  if (options.gap && *options.gap < 0) refuse(message("`gap` {}", *options.gap), "0 or more bases");
  if (options.max_n && !(*options.max_n >= 0 && *options.max_n <= 1)) {
    refuse(message("`max_n` {}", *options.max_n), "a fraction between 0 and 1");
  }
}

// The lists of a preset, or those that were given.
SideLists lists_of(const ChromatinSplitOptions& options, const ContigNames& names) {
  if (options.preset.empty()) return {options.test, options.valid, options.train};
  const bool published = options.preset == "deepsea-published";
  if (!published && options.preset != "deepsea") {
    throw_usage(message("`preset` {}: not a preset", options.preset),
                message("deepsea or deepsea-published; or give `test`, `valid` and `train`"));
  }
  if (!options.test.empty() || !options.valid.empty() || !options.train.empty()) {
    throw_usage(message("`preset` with `test`, `valid` or `train`: a preset sets all of them"),
                message("leave out `preset`, or the others"));
  }
  const std::size_t chr7 = names.require("chr7", message("`preset` ") + options.preset);
  if (names[chr7].length != grch37_chr7_length) {
    throw_bad_input(message("`preset` {}: {} has {} bases here; the preset is of GRCh37, where it has {}",
                            options.preset, names[chr7].name, names[chr7].length, grch37_chr7_length),
                    message("give `test` and `valid` in the coordinates of this genome"));
  }
  SideLists lists{"chr8,chr9", "chr7:30,508,751-35,296,850", ""};
  if (published) {
    lists.train =
        "chr1,chr2,chr3,chr4,chr5,chr6,chr7:1-30,508,750,chr10,chr11,chr12,chr13,chr14,chr15,"
        "chr16,chr17,chr18,chr19,chr20,chr21,chr22";
  }
  return lists;
}

}  // namespace

ChromatinSplits::ChromatinSplits(const ChromatinSplitOptions& options, const ContigNames& names)
    : GenomeSides(lists_of(options, names), names) {}

std::int64_t keep_sides_apart(std::vector<ChromatinBin>& bins, const ModelWindow& window,
                              std::int64_t contig_length, std::optional<std::int64_t> gap) {
  // What must not come nearer than `distance` to the same of another bin. Ascending, as the bins are.
  const std::int64_t distance = gap.value_or(0);
  const auto begin_of = [&](const ChromatinBin& bin) {
    if (gap) return bin.begin;
    return std::clamp<std::int64_t>(bin.begin - window.target_offset, 0, contig_length - window.length);
  };
  const std::int64_t size = gap ? window.target_length : window.length;
  std::vector<bool> too_near(bins.size());
  // Forwards, with the nearest bin of each side before this one; then backwards, with those behind it.
  std::array<std::optional<std::int64_t>, split_count> nearest;  // where it begins
  const auto look = [&](std::size_t i) {
    const std::int64_t begin = begin_of(bins[i]);
    for (const Split other : {Split::valid, Split::test}) {
      const auto& place = nearest[static_cast<std::size_t>(other)];
      if (!place || !is_protected_from(bins[i].split, other)) continue;
      const std::int64_t between = std::max(begin, *place) - std::min(begin, *place) - size;
      if (between < distance) too_near[i] = true;
    }
    nearest[static_cast<std::size_t>(bins[i].split)] = begin;
  };
  for (std::size_t i = 0; i < bins.size(); ++i) look(i);
  nearest.fill(std::nullopt);
  for (std::size_t i = bins.size(); i-- > 0;) look(i);
  std::int64_t moved = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (!too_near[i]) continue;
    bins[i].split = Split::none;
    ++moved;
  }
  return moved;
}

ChromatinBuildSummary build_chromatin(const ChromatinBuildOptions& options) {
  check_options(options);
  return ChromatinBuilder(options).build();
}

}  // namespace bigbird
