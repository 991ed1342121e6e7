// `bigbird ism`: in-silico mutagenesis of a region, as a table or matrix and as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/verbs.h"
#include "apps/work_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/region.h"
#include "lib/model/folder/model_folder.h"
#include "lib/report/ism_logo.h"
#include "lib/report/sequence_logo.h"
#include "lib/tasks/genomics/ism.h"

namespace bigbird::apps {
namespace {

constexpr std::uint64_t regions_of_a_chunk = 16;

// How the numbers were made, for the header of a table and under the picture's title.
std::vector<std::string> description(const IsmResult& result, const std::string& value) {
  const std::string window =
      result.window == IsmWindow::region
          ? format_region(result.chrom, result.window_begin, result.window_begin + result.window_length)
          : fmt::format("{} bp around each base", result.window_length);
  return {"ism_value=" + value, "ism_strand=" + name_of(result.strands), "ism_window=" + window};
}

// Which of the selected profiles is drawn. -1: the first.
std::size_t drawn_profile(const IsmResult& result, std::int64_t profile) {
  if (profile < 0) return 0;
  const auto found =
      std::find(result.selected.begin(), result.selected.end(), static_cast<std::size_t>(profile));
  if (found == result.selected.end()) {
    throw_usage(fmt::format("--svg-profile {}: not one of the profiles that are computed", profile),
                "profiles are named by their index, as --profiles takes them");
  }
  return static_cast<std::size_t>(found - result.selected.begin());
}

// What befell the windows. `contig`: at whose end they pass.
void tell_windows(std::int64_t n_rich, std::int64_t padded, const std::string& contig, std::int64_t cut,
                  std::int64_t sequences) {
  if (n_rich > 0) {
    log_warning(fmt::format("{} bases have no values: their windows hold too many N (--max-n)", n_rich));
  }
  if (padded > 0) log_warning(fmt::format("{} windows pass the end of {}: filled with N", padded, contig));
  if (cut > 0) {
    log_warning(
        fmt::format("{} of {} sequences have more tokens than the model takes, on some strand, and "
                    "lost their right end",
                    cut, sequences));
  }
}

void tell(const IsmResult& result) {
  const auto unknown = std::count(result.bases.begin(), result.bases.end(), 'N');
  if (unknown > 0) log_info(fmt::format("{} bases are N: they have no substitutions", unknown));
  tell_windows(result.n_rich, result.padded, result.chrom, result.cut, result.sequences);
}

// All regions of a file into one table.
int mutate_file(Verb& verb, const IsmOptions& options, IsmRegionsOptions& regions, const WorkOptions& work,
                const std::string& output, const std::string& svg, const std::string& value) {
  if (!svg.empty() || has_suffix(output, ".npy")) {
    throw_usage("ism: --regions-file gives a table", "-o OUT.tsv; matrices and pictures are of one --region");
  }
  regions.ism = options;
  regions.output = output;
  regions.work = work.work(verb);
  require_model_folders(options.models);
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend();
  if (verb.provenance()) {
    Provenance provenance{bigbird_version(), verb.command(), std::nullopt, options.fasta, {}};
    for (const std::string& model : options.models)
      provenance.inputs.push_back(model_input(model, ModelFolder(model).weights_digest()));
    regions.comments = provenance_lines(provenance);
    regions.comments.push_back("ism_value=" + value);
  }
  const IsmRegionsTally tally = mutate_regions(regions, *backend);
  log_info(fmt::format("{} regions", tally.regions));
  tell_windows(tally.n_rich, tally.padded, "their contig", tally.cut, tally.sequences);
  verb.set_throughput(static_cast<double>(tally.sequences), "sequences");
  return 0;
}

}  // namespace

int cmd_ism(int argc, char** argv) {
  Verb verb("ism", "Predict every single substitution of a region: a matrix, and a sequence logo.",
            {"bigbird ism -m chromatin-run/final -f genome.fa.gz -r chr1:20000-20059 -o effects.tsv",
             "bigbird ism -m chromatin-run/final -f genome.fa.gz -r chr1:20000-20059 --profiles 0-1 -o "
             "effects.npy --svg effects.svg",
             "bigbird ism -m chromatin-run/final -f genome.fa.gz -R regions.bed --shard 2/10 -o part2.tsv",
             "bigbird ism -m promoter-run/final -f genome.fa.gz -r chr1:20000-20019 --value lfc"});
  IsmOptions options;
  std::string output = "-", svg, window = "auto", value = "diff";
  IsmRegionsOptions regions;
  ScoringOptions scoring;
  WorkOptions work;
  std::int64_t svg_profile = -1;
  CLI::App& app = verb.app();
  app.add_option("-m,--model", options.models, "Fine-tuned model folder; several are averaged")
      ->required()
      ->take_all()
      ->expected(1)
      ->type_name("MODEL");
  app.add_option("-f,--fasta-ref", options.fasta, "Genome")->required()->type_name("FASTA");
  CLI::Option* const region =
      app.add_option("-r,--region", options.region, "Bases to substitute, as in chr1:1000-1050");
  app.add_option("-R,--regions-file", regions.regions, "Every region of it by itself, into one table")
      ->type_name("BED")
      ->excludes(region);
  app.add_option("-o,--output", output,
                 "OUT.npy (float32 [profiles, bases, A C G T], with OUT.rows.tsv and OUT.profiles.tsv) or "
                 "OUT.tsv; - is a table on stdout")
      ->type_name("FILE");
  app.add_option("--svg", svg, "Logo and heat map of one profile")->type_name("FILE");
  app.add_option("--svg-profile", svg_profile,
                 "Index of that profile; the first that is computed if not given")
      ->check(CLI::NonNegativeNumber)
      ->type_name("K");
  scoring.add(verb, {.strands = Strands::both, .profiles = "all", .offset = true});
  app.add_option(
      "--value", value,
      "diff: p(alt) - p(ref); lfc: log2 odds(alt) - log2 odds(ref); on each strand, then averaged");
  app.add_option(
      "--window-at", window,
      "region: one window, on the middle of the region; base: one on each base; auto: region where it fits");
  app.add_option("--window", options.window_length, "bp, for a model that does not tell its window")
      ->transform(count_suffix())
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--max-n", options.max_n, "Largest share of N in a window")->check(CLI::Range(0.0, 1.0));
  app.add_option("--max-sequences", options.max_sequences,
                 "Refuse a region that needs more sequences, three or four for each base; 0: refuse none")
      ->transform(count_suffix())
      ->check(CLI::NonNegativeNumber)
      ->type_name("COUNT");
  work.add(verb, "regions of a BED", "merge");
  work.add_chunk(verb, "Regions of a BED", regions_of_a_chunk);
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  verb.add_random_mode();
  if (!verb.parse(argc, argv)) return 0;
  options.window_at = parse_ism_window(window);
  options.strands = scoring.strands();
  options.profiles = scoring.profiles();
  options.batch = scoring.batch();
  options.offset = scoring.offset();
  options.value = parse_ism_value(value);
  if (options.region.empty() == regions.regions.empty()) {
    throw_usage("ism: give the bases to substitute", "--region CHROM:FROM-TO, or --regions-file BED");
  }
  if (!regions.regions.empty()) return mutate_file(verb, options, regions, work, output, svg, value);
  if (work.asked())
    throw_usage("ism: --shard and --resume are of --regions-file", "one region is done at once");
  check_ism_path(output);
  OutputSet outputs({{"--output", output}, {"--svg", svg}});
  if (svg_profile >= 0 && svg.empty()) throw_usage("--svg-profile without --svg", "give --svg FILE too");

  require_model_folders(options.models);
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend();
  const IsmResult result = mutate_region(options, *backend);
  const std::size_t drawn = drawn_profile(result, svg_profile);
  tell(result);
  std::vector<std::string> comments;
  if (verb.provenance()) {
    Provenance provenance{bigbird_version(), verb.command(), std::nullopt, options.fasta, {}};
    for (std::size_t i = 0; i < options.models.size(); ++i)
      provenance.inputs.push_back(model_input(options.models[i], result.digests[i]));
    comments = provenance_lines(provenance);
    for (const std::string& line : description(result, value)) comments.push_back(line);
  }
  if (!svg.empty()) write_text_atomic(svg, sequence_logo_svg(ism_logo(result, drawn, options.value)));
  write_ism(output, result, comments);
  outputs.commit();
  verb.set_throughput(static_cast<double>(result.sequences), "sequences");
  return 0;
}

}  // namespace bigbird::apps
