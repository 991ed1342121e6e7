// `bigbird demo`: variants that come with the program, scored with a model that does, and how it was typed.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "lib/core/shell_words.h"
#include "lib/io/files/file.h"
#include "lib/model_folder/shipped_models.h"
#include "lib/report/demo.h"

namespace bigbird::apps {
namespace {

std::string table_of(const std::vector<DemoVariant>& variants) {
  constexpr const char* row = "{:<7} {:>9}  {:<5} {:<5} {:<16} {:>12} {:>11} {:>11}\n";
  std::string text = fmt::format(row, "chrom", "pos", "ref", "alt", "profile", "diff", "lfc", "E");
  for (const DemoVariant& one : variants) {
    text += fmt::format(row, one.chrom, one.position, one.ref, one.alt, one.profile, one.difference,
                        one.log_fold_change, one.e_value);
  }
  return text;
}

// What the model was made of, and what of one's own it takes.
struct DemoModel {
  const char* name;
  const char* own;  // opens the commands for own files
};
constexpr DemoModel demo_models[] = {
    {"human", "With a VCF of your own and its genome, GRCh38 or GRCh37 (the model reads sequence):"},
    {"yeast-r64", "With a VCF of yeast (R64, sacCer3) and its genome of your own:"}};

std::string own_commands(const std::string& model, const std::string& tracks) {
  std::string text;
  for (const DemoModel& one : demo_models) {
    if (model.ends_with(one.name)) text = one.own;
  }
  text += fmt::format(
      "\n  bigbird variants -m {} -f GENOME.fa VARIANTS.vcf.gz -o scored.vcf.gz\n"
      "  bigbird chromatin predict -m {} -f GENOME.fa -R REGIONS.bed -o tracks.tsv\n"
      "  bigbird report scored.vcf.gz -m {} -f GENOME.fa --logos 5 -o report.html\n",
      tracks, tracks, tracks);
  const std::string promoters = model + "/promoters";
  if (folder_exists(promoters)) {
    text += fmt::format("  bigbird promoter scan -m {} -f GENOME.fa -o promoters.bw --calls promoters.bed\n",
                        shell_word(promoters));
  } else {
    text += fmt::format(
        "  bigbird ism -m {} -f GENOME.fa -r CHROM:FROM-TO -o effects.tsv --svg effects.svg\n", tracks);
  }
  return text;
}

}  // namespace

int cmd_demo(int argc, char** argv) {
  Verb verb(
      "demo",
      "Score real variants, human or yeast, with a model that comes with the program.\n\nIt writes a table, "
      "a logo, a page, and commands for your own files.",
      {"bigbird demo", "bigbird demo --species yeast-r64 -o tour --force"});
  DemoOptions options;
  options.output = "bigbird-demo";
  std::string species = "human";
  verb.add_option(
      "--species {human,yeast-r64}", species,
      "Variants of 1000 Genomes in 50 kb of chromosome 20, or of a yeast strain in 50 kb of chromosome XV",
      CLI::IsMember({"human", "yeast-r64"}));
  verb.add_option("-o,--output DIR", options.output,
                  "Folder: genome.fa.gz, the VCF, scored.tsv, effects.tsv, effects.svg, report.html");
  add_machine(verb);
  verb.add_force();
  if (!verb.parse(argc, argv)) return 0;

  options.model = std::filesystem::canonical(shipped_model(species)).string();
  options.replace = verb.force();
  const std::string tracks = options.model + "/tracks";
  const std::string typed_tracks = shell_word(tracks);
  const auto backend = verb.make_backend({tracks});
  SequenceScorer scorer({.models = {tracks}, .strands = Strands::both, .batch = {}, .waits = true}, *backend);
  options.provenance = verb.lines_of(provenance_of_models(verb, "", {tracks}, scorer.digests()));
  const DemoResult result = run_demo(options, scorer, *backend);
  const DemoVariant& first = result.strongest.front();
  write_output("-", fmt::format("$ cd {}\n"
                                "$ bigbird variants -m {} -f genome.fa.gz {} \\\n"
                                "    --background {} -o scored.tsv\n"
                                "{} of {} alleles are scored. Those with the smallest E-values:\n\n{}\n"
                                "$ bigbird ism -m {} -f genome.fa.gz -r {} \\\n"
                                "    --profiles {} --value lfc -o effects.tsv --svg effects.svg\n"
                                "effects.svg shows what every other base there does to {}.\n\n"
                                "$ bigbird report scored.tsv -m {} -f genome.fa.gz \\\n"
                                "    --logos {} --logo-bases {} -o report.html\n"
                                "report.html is a page of the scores.\n\n{}",
                                shell_word(options.output), typed_tracks, shell_word(result.variants),
                                shell_word(options.model + "/background.safetensors"), result.tally.scored,
                                result.tally.alleles, table_of(result.strongest), typed_tracks, result.drawn,
                                shell_word(first.profile), first.profile, typed_tracks, demo_logos,
                                demo_logo_bases, own_commands(options.model, typed_tracks)));
  verb.set_throughput(static_cast<double>(result.tally.alleles), "alleles");
  return 0;
}

}  // namespace bigbird::apps
