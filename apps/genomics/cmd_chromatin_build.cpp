// `bigbird chromatin build`: bins of a genome, labelled by peaks.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "apps/command_line.h"
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

void add_files(Verb& verb, ChromatinBuildOptions& options) {
  verb.add_required(
      "--peaks TSV", options.peaks,
      "Table #name group file [track] of narrowPeak or BED files; track: only the peaks with this name "
      "in column 4");
  verb.add_required("-f,--fasta-ref FASTA", options.fasta,
                    "Genome (FASTA with .fai); without --max-n the .fai is enough");
  verb.add_required("-o,--output DIR", options.output,
                    "Folder: bins.bed.gz, labels.npy, profiles.tsv, manifest.json");
}

void add_label_options(Verb& verb, ChromatinBuildOptions& options) {
  const OptionGroup labels(verb, "Labels");
  verb.add_count("--bin", options.bin, "Bases of a bin; bins begin on multiples of it");
  verb.add_option("--min-overlap FRACTION", options.min_overlap,
                  "Fraction of a bin in the track's peaks above which it has a label");
  verb.add_flag("--at-least", options.at_least, "Count the fraction of --min-overlap itself as enough");
  verb.add_flag("--clip", options.clip,
                "Cut peaks that reach over the end of their contig there (default: they are an error)");
}

void add_bin_options(Verb& verb, ChromatinBuildOptions& options) {
  const OptionGroup choice(verb, "Which bins");
  verb.add_option(
      "--keep RULE", options.keep,
      "Bins with a label of a group (tf), of any profile (any), or all; tf:2: two labels, tf+dhs: both, "
      "tf,dhs: either");
  verb.add_exclude(options.exclude, "bins that touch them are dropped");
  verb.add_option(
          "--chromosomes A,B", options.chromosomes,
          "Contigs to use, under any naming, in this order; all takes every contig (default: 1-22, X, Y)")
      ->delimiter(',');
  verb.add_option("--max-n FRACTION", options.max_n,
                  "Largest fraction of N in a window; the other bins are dropped (default: none is, and the "
                  ".fai is enough)",
                  CLI::Range(0.0, 1.0));
}

void add_window_options(Verb& verb, TypedWindow& typed) {
  const OptionGroup windows(verb, "Windows");
  CLI::Option* whole = verb.add_count("--window", typed.window, "Bases of the window, the bin in its middle");
  CLI::Option* before =
      verb.add_count("--left BASES", typed.left, "Bases of the window before the bin, instead of --window");
  CLI::Option* after = verb.add_count("--right BASES", typed.right, "Bases of the window after the bin");
  before->needs(after)->excludes(whole);
  after->needs(before)->excludes(whole);
}

void add_split_options(Verb& verb, ChromatinBuildOptions& options) {
  const OptionGroup sides(verb, "Split");
  verb.add_option("--split-preset NAME", options.split.preset,
                  "Preset of the sides, GRCh37: deepsea (test chr8, chr9; valid chr7:30,508,751-35,296,850; "
                  "train the rest) or deepsea-published (train without the rest of chr7, chrX and chrY)");
  verb.add_option("--test chr8,chr9", options.split.test, "Contigs and 1-based regions of the test side")
      ->join(',');
  verb.add_option("--valid REGIONS", options.split.valid,
                  "Contigs and 1-based regions of the validation side")
      ->join(',');
  verb.add_option("--train REGIONS", options.split.train,
                  "Contigs and 1-based regions of the training side (default: what is on no other side)")
      ->join(',');
  verb.add_count("--gap BASES", options.gap,
                 "Bases between bins of different sides; bins that are nearer (of train, then of valid) get "
                 "split none (default: so many that their windows do not overlap)");
}

}  // namespace

int cmd_chromatin_build(int argc, char** argv) {
  Verb verb("chromatin build",
            "Label the bins of a genome by the peaks that cover them, for many tracks at once.",
            {("bigbird chromatin build --peaks demo-output/genome/peaks/peaks.tsv -f "
              "demo-output/genome/genome.fa.gz --valid chr2 --test chr3 -o chromatin"),
             ("bigbird chromatin build --peaks demo-output/genome/peaks/peaks.tsv -f "
              "demo-output/genome/genome.fa.gz --keep tf:2,dhs --min-overlap 0.25 --window 1000 "
              "--valid chr2 --test chr3 -o fewer-bins"),
             ("bigbird chromatin build --peaks tracks.tsv -f data/grch37/genome.fa.gz --split-preset deepsea "
              "--exclude blacklist.bed.gz -o deepsea-split")});
  ChromatinBuildOptions options;
  TypedWindow typed;
  add_files(verb, options);
  add_label_options(verb, options);
  add_bin_options(verb, options);
  add_window_options(verb, typed);
  add_split_options(verb, options);
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
  options.provenance_in_tables = verb.provenance_in_tables();
  options.provenance = verb.made_from(options.fasta, {{"peaks", options.peaks, ""}});
  const ChromatinBuildSummary summary = build_chromatin(options);
  report(options, summary);
  verb.set_throughput(static_cast<double>(summary.grid), "bins");
  return 0;
}

}  // namespace bigbird::apps
