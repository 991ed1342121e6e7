// `bigbird chromatin import-deepsea`: the published DeepSEA matrices as a chromatin data set.
#include <fmt/format.h>

#include "apps/command_line.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/chromatin/import_deepsea.h"

namespace bigbird::apps {
namespace {

// Bound by add_genome_options().
struct TypedBins {
  std::int64_t window = 8000, left = -1, right = -1, train_lines = -1;
};

void add_matrix_options(Verb& verb, DeepseaImportOptions& options, bool& no_pairs) {
  verb.add_required("--mat FILE", options.files, "Files train.mat, valid.mat and test.mat, or some of them");
  verb.add_required(
      "-o,--output DIR", options.output,
      "Folder: bins.bed.gz, labels.npy, profiles.tsv, manifest.json; sequences.fa.gz without --bins-file");
  verb.add_option("--profile-names TSV", options.profiles,
                  "Table with columns column, group and name (default: numbers, and the groups of the 919)");
  verb.add_flag("--no-pairs", no_pairs,
                "Keep every sample (default: the second half must be the reverse complements of the first, "
                "which is kept)");
  verb.add_count("--memory-limit", options.memory, "Bytes for samples in memory; they are read in slabs",
                 CLI::PositiveNumber);
}

// Windows, and the bins that they are cut around.
void add_genome_options(Verb& verb, DeepseaImportOptions& options, TypedBins& typed) {
  const OptionGroup genome(verb, "Windows from the genome (else the matrices' own sequences are kept)");
  CLI::Option* const bins = verb.add_option(
      "--bins-file BED", options.bins, "Coordinates of the bins, in the published order (allTFs.pos.bed)");
  bins->needs(verb.add_option("-f,--fasta-ref FASTA", options.fasta, "Genome of the bins: GRCh37 (hg19)")
                  ->needs(bins));
  verb.add_count("--window", typed.window, "Bases of the window, the bin in its middle")->needs(bins);
  CLI::Option* const before =
      verb.add_count("--left", typed.left, "Bases of the window before the bin, instead of --window")
          ->needs(bins)
          ->excludes("--window")
          ->default_str("");
  before->needs(verb.add_count("--right", typed.right, "Bases of the window after the bin")
                    ->needs(bins)
                    ->needs(before)
                    ->excludes("--window")
                    ->default_str(""));
  verb.add_option("--check-every", options.check_every,
                  "Bins from one that is compared with the genome to the next; 0 compares none",
                  CLI::NonNegativeNumber);
  verb.add_count("--train-lines", typed.train_lines,
                 "Lines of --bins-file before the lines of valid.mat (default: the bins of train.mat, or "
                 "2,200,000 without it)",
                 CLI::NonNegativeNumber)
      ->needs(bins)
      ->default_str("");
}

void take_window(const Verb& verb, const TypedBins& typed, DeepseaImportOptions& options) {
  constexpr std::int64_t bin = 200;
  if (verb.given("--left")) {
    if (typed.left < 0 || typed.right < 0)
      throw_usage("import-deepsea: --left and --right are 0 or more bases", "");
    options.left = typed.left;
    options.right = typed.right;
  } else {
    if (typed.window < bin) {
      throw_usage(fmt::format("import-deepsea: --window {} is less than a bin of {}", typed.window, bin),
                  "a window holds its bin");
    }
    options.left = (typed.window - bin) / 2;
    options.right = typed.window - bin - options.left;
  }
  if (verb.given("--train-lines")) options.train_lines = typed.train_lines;
  log_info(options.bins.empty()
               ? "without --bins-file the sequences of the matrices are kept: windows are as long as they are"
               : fmt::format("windows of {} bp will be cut from {} around the bins of {}",
                             options.left + bin + options.right, options.fasta, options.bins));
}

}  // namespace

int cmd_chromatin_import_deepsea(int argc, char** argv) {
  Verb verb("chromatin import-deepsea",
            "Turn DeepSEA's training bundle (train.mat, valid.mat, test.mat) into a chromatin data set.",
            {("bigbird chromatin import-deepsea --mat train.mat valid.mat test.mat --bins-file "
              "allTFs.pos.bed -f data/grch37/genome.fa.gz --profile-names predictor.names.tsv -o deepsea"),
             "bigbird chromatin import-deepsea --mat valid.mat -o deepsea-1kb"});
  DeepseaImportOptions options;
  TypedBins typed;
  bool no_pairs = false;
  add_matrix_options(verb, options, no_pairs);
  add_genome_options(verb, options, typed);
  verb.add_threads();
  verb.add_force();
  if (!verb.parse(argc, argv)) return 0;
  take_window(verb, typed, options);
  options.pairs = !no_pairs;
  options.replace = verb.force();
  options.with_provenance = verb.provenance();
  options.provenance_in_tables = verb.provenance_in_tables();
  options.provenance = verb.made_from(options.fasta);
  for (const std::string& file : options.files) options.provenance.inputs.push_back({"matrix", file, ""});
  if (!options.bins.empty()) options.provenance.inputs.push_back({"bins", options.bins, ""});
  const DeepseaImportSummary summary = import_deepsea(options);
  const auto count = [&](Split split) { return summary.bins[static_cast<std::size_t>(split)]; };
  log_info(
      fmt::format("{} profiles; bins: train {}, valid {}, test {}; {} pairs of strands checked, {} bins "
                  "compared with the genome, {} samples with N",
                  summary.profiles, count(Split::train), count(Split::valid), count(Split::test),
                  summary.pairs_checked, summary.genome_checked, summary.samples_with_n));
  verb.set_throughput(static_cast<double>(count(Split::train) + count(Split::valid) + count(Split::test)),
                      "bins");
  return 0;
}

}  // namespace bigbird::apps
