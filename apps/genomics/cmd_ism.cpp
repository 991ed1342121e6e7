// `bigbird ism`: in-silico mutagenesis of a region, as a table or matrix and as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/work_options.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/ism.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/region.h"
#include "lib/model_folder/model_folder.h"
#include "lib/report/sequence_logo.h"

namespace bigbird::apps {
namespace {

constexpr std::uint64_t regions_of_a_chunk = 16;

struct IsmCommand {
  IsmOptions ism;
  std::string output = "-", svg, window = "auto", value = "diff", passes;
  IsmRegionsOptions regions;
  ScoringOptions scoring;
  WorkOptions work;
  std::string svg_profile;
};

// How the numbers were made, for the header of a table and under the picture's title.
std::vector<std::string> description(const IsmResult& result, const std::string& value) {
  const std::string window =
      result.window == IsmWindow::region
          ? format_region(result.chrom, result.window_begin, result.window_begin + result.window_length)
          : fmt::format("{} bp around each base", result.window_length);
  return {"ism_value=" + value, "ism_strand=" + name_of(result.strands), "ism_window=" + window};
}

// Which of the selected profiles is drawn, by its number or label. Without either the first.
std::size_t drawn_profile(const IsmResult& result, const std::string& profile) {
  if (profile.empty()) return 0;
  const auto wanted = find_profile(result.profiles, profile).value_or(result.profiles.size());
  const auto found = std::find(result.selected.begin(), result.selected.end(), wanted);
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
int mutate_file(Verb& verb, IsmCommand& typed) {
  const IsmOptions& options = typed.ism;
  IsmRegionsOptions& regions = typed.regions;
  if (!typed.svg.empty() || has_suffix(typed.output, ".npy")) {
    throw_usage("ism: --regions-file gives a table", "-o OUT.tsv; matrices and pictures are of one --region");
  }
  regions.ism = options;
  regions.output = typed.output;
  regions.work = typed.work.work(verb);
  const auto backend = verb.make_backend(options.models);
  if (verb.provenance()) {
    std::vector<std::string> digests;
    for (const std::string& model : options.models) digests.push_back(ModelFolder(model).weights_digest());
    std::vector<std::string> lines =
        provenance_lines(provenance_of_models(verb, options.fasta, options.models, digests));
    lines.push_back("ism_value=" + typed.value);
    regions.comments = verb.head_of(typed.output, lines);
  }
  const IsmRegionsTally tally = mutate_regions(regions, *backend);
  log_info(fmt::format("{} regions", tally.regions));
  tell_windows(tally.n_rich, tally.padded, "their contig", tally.cut, tally.sequences);
  verb.set_throughput(static_cast<double>(tally.sequences), "sequences");
  return 0;
}

// Matrix or table of one region, and its picture.
int mutate_one(Verb& verb, const IsmCommand& typed) {
  const IsmOptions& options = typed.ism;
  if (typed.work.asked())
    throw_usage("ism: --shard and --resume are of --regions-file", "one region is done at once");
  check_ism_path(typed.output);
  OutputSet outputs({{"--output", typed.output}, {"--svg", typed.svg}});
  if (!typed.svg_profile.empty() && typed.svg.empty())
    throw_usage("--svg-profile without --svg", "give --svg FILE too");

  const auto backend = verb.make_backend(options.models);
  const IsmResult result = mutate_region(options, *backend);
  const std::size_t drawn = drawn_profile(result, typed.svg_profile);
  tell(result);
  std::vector<std::string> comments;
  if (verb.provenance()) {
    comments = provenance_lines(provenance_of_models(verb, options.fasta, options.models, result.digests));
    for (const std::string& line : description(result, typed.value)) comments.push_back(line);
    comments = verb.head_of(typed.output, comments);
  }
  if (!typed.svg.empty())
    write_text_atomic(typed.svg, sequence_logo_svg(ism_logo(result, drawn, options.value)));
  write_ism(typed.output, result, comments);
  outputs.commit();
  verb.set_throughput(static_cast<double>(result.sequences), "sequences");
  return 0;
}

void add_options(Verb& verb, IsmCommand& typed) {
  verb.add_required("-m,--model MODEL", typed.ism.models,
                    "Model folder, fine-tuned or with a language model's head; several are averaged")
      ->take_all()
      ->expected(1);
  verb.add_required("-f,--fasta-ref FASTA", typed.ism.fasta, "Genome");
  verb.add_option("-r,--region", typed.ism.region,
                  "Region whose bases are substituted, as in chr1:1000-1050");
  verb.add_option("-R,--regions-file BED", typed.regions.regions, "Regions, each by itself, into one table")
      ->excludes("--region");
  verb.add_option("-o,--output FILE", typed.output,
                  "OUT.npy (float32 [profiles, bases, A C G T], with OUT.rows.tsv and OUT.profiles.tsv) or "
                  "OUT.tsv; - is a table on stdout");
  verb.add_option("--svg FILE", typed.svg, "Picture of one profile: logo and heat map");
  verb.add_option("--svg-profile PROFILE", typed.svg_profile,
                  "Number or name of the profile of --svg (default: the first that is computed)");
  typed.scoring.add(verb, {.strands = usual_strands,
                           .profiles = "all; of a language model all but lm_l2 and lm_cos",
                           .offset = true});
  verb.add_option("--value {diff,lfc}", typed.value,
                  "Effect: diff, p(alt) - p(ref), or lfc, log2 odds(alt) - log2 odds(ref); on each strand, "
                  "then averaged");
  verb.add_option("--window-at {auto,region,base}", typed.window,
                  "Windows: region, one on the middle of the region, or base, one on each base (default: "
                  "region where it fits)");
  verb.add_count(
          "--window", typed.ism.window_length,
          "Bases of a window, for a model whose folder has none (default: of a language model 512, or 32 "
          "less than it has positions)",
          CLI::Range(1, 1 << 24))
      ->default_str("");
  add_language_passes(verb, typed.passes);
  verb.add_option("--max-n", typed.ism.max_n, "Largest fraction of N in a window; the others are not scored",
                  CLI::Range(0.0, 1.0));
  verb.with_word(verb.add_count("--max-sequences COUNT", typed.ism.max_sequences,
                                "Most sequences of a region, three or four for each base; one that needs "
                                "more is refused; all: none is",
                                CLI::NonNegativeNumber),
                 "all", "0");
  typed.work.add(verb);
  typed.work.add_chunk(verb, "regions of a BED", regions_of_a_chunk);
  add_machine(verb);
}

}  // namespace

int cmd_ism(int argc, char** argv) {
  Verb verb("ism", "Predict or score every single substitution of a region: a matrix, and a sequence logo.",
            {("bigbird ism -m demo-output/chromatin-run/final -f demo-output/genome/genome.fa.gz -r "
              "chr1:20000-20059 -o effects.tsv"),
             ("bigbird ism -m demo-output/chromatin-run/final -f demo-output/genome/genome.fa.gz -r "
              "chr1:20000-20059 --profiles 0-1 -o effects.npy --svg effects.svg"),
             ("awk 'NR <= 4' demo-output/genome/promoters.tss.bed > regions.bed && bigbird ism -m "
              "demo-output/chromatin-run/final -f demo-output/genome/genome.fa.gz -R regions.bed "
              "--shard 1/2 -o effects.1.tsv"),
             ("bigbird ism -m demo-output/finetune/final -f demo-output/genome/genome.fa.gz -r "
              "chr1:20000-20019 --value lfc"),
             ("bigbird ism -m demo-output/pretrain/final -f demo-output/genome/genome.fa.gz -r "
              "chr1:20000-20019 --svg-profile lm_gain --svg likelihood.svg -o likelihood.tsv")});
  IsmCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  IsmOptions& options = typed.ism;
  options.window_at = parse_ism_window(typed.window);
  options.strands = typed.scoring.strands();
  options.profiles = typed.scoring.profiles();
  options.batch = typed.scoring.batch();
  options.offset = typed.scoring.offset();
  options.value = parse_ism_value(typed.value);
  options.passes = parse_language_passes(typed.passes);
  // What tables say of the values: a language model has one kind.
  if (usual_language_window(options.models) > 0) {
    if (typed.value == "diff") typed.value = "lm";
  } else if (verb.given("--lm-passes")) {
    throw_usage("--lm-passes is of language models: " + options.models.front() + " has another head",
                "leave it out, or take a pretrained model");
  }
  if (options.region.empty() == typed.regions.regions.empty()) {
    throw_usage("ism: give the bases to substitute", "--region CHROM:FROM-TO, or --regions-file BED");
  }
  return options.region.empty() ? mutate_file(verb, typed) : mutate_one(verb, typed);
}

}  // namespace bigbird::apps
