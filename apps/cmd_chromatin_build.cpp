// `bigbird chromatin build`: bins of a genome, labelled by peaks.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/chromatin/build.h"

namespace bigbird::apps {
namespace {

constexpr std::size_t most_names = 8;  // of a list in the log

std::string first_names(const std::vector<std::string>& names) {
  const std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), most_names)));
  return fmt::format("{}{}", fmt::join(first, ", "), names.size() > most_names ? ", ..." : "");
}

void report(const ChromatinBuildOptions& options, const ChromatinBuildSummary& summary) {
  if (summary.peaks.empty > 0)
    log_info(fmt::format("{} empty peaks (start = end) cover nothing", summary.peaks.empty));
  if (summary.peaks.clipped > 0)
    log_warning(fmt::format("{} peaks were cut at the end of their contig", summary.peaks.clipped));
  if (summary.peaks.unlisted > 0)
    log_warning(
        fmt::format("{} peaks name a track in column 4 that is not in the list", summary.peaks.unlisted));
  std::vector<std::string> unknown;
  std::uint64_t unknown_peaks = 0;
  for (const auto& [name, count] : summary.peaks.unknown_contigs) {
    unknown.push_back(fmt::format("{} ({})", name, count));
    unknown_peaks += count;
  }
  if (unknown_peaks > 0) {
    log_warning(fmt::format("{} peaks are on contigs that the genome does not have: {}", unknown_peaks,
                            first_names(unknown)));
  }
  if (summary.elsewhere > 0)
    log_info(fmt::format("{} merged peaks are on contigs that were not chosen (--chromosomes)",
                         summary.elsewhere));
  for (const auto& [reason, count] : summary.dropped)
    log_info(fmt::format("dropped {} bins: {}", count, reason));
  if (!summary.without_positives.empty()) {
    log_warning(fmt::format("{} of {} profiles have no positive bin: {}", summary.without_positives.size(),
                            summary.profiles, first_names(summary.without_positives)));
  }
  if (summary.moved > 0) {
    log_info(fmt::format("{} bins {} another side of the split: their split is none (--gap 0 keeps them)",
                         summary.moved,
                         options.gap ? fmt::format("are within {} bases of", *options.gap)
                                     : std::string("have a window that overlaps one of")));
  }
  log_info(fmt::format("{} of {} bins kept, {} profiles: train {}, valid {}, test {}, none {}", summary.bins,
                       summary.grid, summary.profiles, summary.sides.at("train"), summary.sides.at("valid"),
                       summary.sides.at("test"), summary.sides.at("none")));
}

// The window as typed: as a whole, or what is before and behind the bin.
struct TypedWindow {
  std::int64_t window = 8000;
  std::optional<std::int64_t> left, right;
};

void add_files(CLI::App& app, ChromatinBuildOptions& options) {
  app.add_option(
         "--peaks", options.peaks,
         "Table #name group file [track] of narrowPeak or BED files; track: only the peaks with this name "
         "in column 4")
      ->required()
      ->type_name("TSV");
  app.add_option("-f,--fasta-ref", options.fasta,
                 "Genome (FASTA with .fai); without --max-n the .fai is enough")
      ->required()
      ->type_name("FASTA");
  app.add_option("-o,--output", options.output,
                 "Folder: bins.bed.gz, labels.npy, profiles.tsv, manifest.json")
      ->required()
      ->type_name("DIR");
}

void add_label_options(CLI::App& app, ChromatinBuildOptions& options) {
  const std::string labels = "Labels";
  app.add_option("--bin", options.bin, "Bases of a bin; bins begin on multiples of it")
      ->transform(count_suffix())
      ->group(labels);
  app.add_option("--min-overlap", options.min_overlap,
                 "A bin has a label when more than this fraction of it lies in the track's peaks")
      ->type_name("FRACTION")
      ->group(labels);
  app.add_flag("--at-least", options.at_least, "That fraction itself is enough")->group(labels);
  app.add_flag("--clip", options.clip,
               "Cut peaks that reach over the end of their contig there; else they are an error")
      ->group(labels);
}

void add_bin_options(CLI::App& app, ChromatinBuildOptions& options) {
  const std::string choice = "Which bins";
  app.add_option(
         "--keep", options.keep,
         "Bins with a label of a group (tf), of any profile (any), or all; tf:2: two labels, tf+dhs: both, "
         "tf,dhs: either")
      ->type_name("RULE")
      ->group(choice);
  app.add_option("--blacklist", options.blacklist,
                 "Drop bins that share a base with these regions; may be repeated")
      ->type_name("BED")
      ->group(choice);
  app.add_option(
         "--chromosomes", options.chromosomes,
         "Contigs to use, under any naming, in this order; default 1-22, X, Y; all takes every contig")
      ->delimiter(',')
      ->type_name("A,B")
      ->group(choice);
  app.add_option("--max-n", options.max_n,
                 "Drop bins whose window has a larger fraction of N (reads the FASTA)")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("FRACTION")
      ->group(choice);
}

void add_window_options(CLI::App& app, TypedWindow& typed) {
  const std::string windows = "Windows";
  CLI::Option* whole = app.add_option("--window", typed.window, "Bases of the window, the bin in its middle")
                           ->transform(count_suffix())
                           ->group(windows);
  CLI::Option* before =
      app.add_option("--left", typed.left, "Bases of the window before the bin, instead of --window")
          ->transform(count_suffix())
          ->type_name("BASES")
          ->group(windows);
  CLI::Option* after = app.add_option("--right", typed.right, "Bases of the window behind the bin")
                           ->transform(count_suffix())
                           ->type_name("BASES")
                           ->group(windows);
  before->needs(after)->excludes(whole);
  after->needs(before)->excludes(whole);
}

void add_split_options(CLI::App& app, ChromatinBuildOptions& options) {
  const std::string sides = "Split";
  app.add_option(
         "--splits", options.split.preset,
         "Preset, GRCh37: deepsea (test chr8, chr9; valid chr7:30,508,751-35,296,850; train the rest) or "
         "deepsea-published (train without the rest of chr7, chrX and chrY)")
      ->type_name("NAME")
      ->group(sides);
  app.add_option("--test", options.split.test, "Contigs and 1-based regions of the test side")
      ->join(',')
      ->type_name("chr8,chr9")
      ->group(sides);
  app.add_option("--valid", options.split.valid, "The same of the validation side")
      ->join(',')
      ->type_name("REGIONS")
      ->group(sides);
  app.add_option("--train", options.split.train,
                 "The same of the training side; default: what is on no other side")
      ->join(',')
      ->type_name("REGIONS")
      ->group(sides);
  app.add_option("--gap", options.gap,
                 "Bases between bins of different sides, 0 for none; default: their windows do not overlap. "
                 "Bins that are nearer (of train, then of valid) get split none")
      ->transform(count_suffix())
      ->type_name("BASES")
      ->group(sides);
}

}  // namespace

int cmd_chromatin_build(int argc, char** argv) {
  Verb verb("chromatin build",
            "Label the bins of a genome by the peaks that cover them, for many tracks at once.",
            {"bigbird chromatin build --peaks genome/peaks/peaks.tsv -f genome/genome.fa.gz --valid chr2 "
             "--test chr3 -o chromatin",
             "bigbird chromatin build --peaks tracks.tsv -f hg19.fa.gz --splits deepsea --blacklist "
             "blacklist.bed.gz -o chromatin",
             "bigbird chromatin build --peaks tracks.tsv -f hg19.fa.gz --keep tf:2,dhs --min-overlap 0.25 "
             "--window 1000 -o chromatin"});
  ChromatinBuildOptions options;
  TypedWindow typed;
  CLI::App& app = verb.app();
  add_files(app, options);
  add_label_options(app, options);
  add_bin_options(app, options);
  add_window_options(app, typed);
  add_split_options(app, options);
  verb.add_threads();
  verb.add_force();
  if (!verb.parse(argc, argv)) return 0;

  if (typed.left && typed.right) {
    options.left = *typed.left;
    options.right = *typed.right;
  } else {
    if (typed.window < options.bin) {
      throw_usage(
          fmt::format("chromatin build: --window {} is less than a bin of {}", typed.window, options.bin),
          "a window holds its bin");
    }
    options.left = (typed.window - options.bin) / 2;
    options.right = typed.window - options.bin - options.left;
  }
  options.replace = verb.force();
  options.with_provenance = verb.provenance();
  options.provenance = {
      bigbird_version(), verb.command(), std::nullopt, options.fasta, {{"peaks", options.peaks, ""}}};
  const ChromatinBuildSummary summary = build_chromatin(options);
  report(options, summary);
  verb.set_throughput(static_cast<double>(summary.grid), "bins");
  return 0;
}

}  // namespace bigbird::apps
