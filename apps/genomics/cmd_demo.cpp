// `bigbird demo`: variants that come with the program, scored with a model that does, and how it was typed.
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "lib/core/shell_words.h"
#include "lib/model/folder/shipped_models.h"
#include "lib/report/demo.h"

namespace bigbird::apps {
namespace {

std::string table_of(const std::vector<DemoVariant>& variants) {
  constexpr const char* row = "{:<7} {:>9}  {:<5} {:<5} {:<9} {:>12} {:>11} {:>11}\n";
  std::string text = fmt::format(row, "chrom", "pos", "ref", "alt", "profile", "diff", "lfc", "E");
  for (const DemoVariant& one : variants) {
    text += fmt::format(row, one.chrom, one.position, one.ref, one.alt, one.profile, one.difference,
                        one.log_fold_change, one.e_value);
  }
  return text;
}

}  // namespace

int cmd_demo(int argc, char** argv) {
  Verb verb("demo",
            "Score variants of a yeast strain with the model that comes with the program, and show how.",
            {"bigbird demo", "bigbird demo -o tour --force"});
  DemoOptions options;
  options.output = "bigbird-demo";
  verb.add_option("-o,--output DIR", options.output,
                  "Folder: genome.fa.gz, strain.vcf.gz, scored.tsv, effects.tsv, effects.svg");
  add_machine(verb);
  verb.add_force();
  if (!verb.parse(argc, argv)) return 0;

  options.model = std::filesystem::canonical(shipped_model("yeast-r64")).string();
  options.replace = verb.force();
  const std::string tracks = options.model + "/tracks";
  const std::string typed_tracks = shell_word(tracks);
  const auto backend = verb.make_backend({tracks});
  SequenceScorer scorer({.models = {tracks}, .strands = Strands::both, .batch = {}, .waits = true}, *backend);
  options.provenance = verb.lines_of(provenance_of_models(verb, "", {tracks}, scorer.digests()));
  const DemoResult result = run_demo(options, scorer, *backend);
  const DemoVariant& first = result.strongest.front();
  write_output(
      "-", fmt::format("$ cd {}\n"
                       "$ bigbird variants -m {} -f genome.fa.gz strain.vcf.gz \\\n"
                       "    --background {} -o scored.tsv\n"
                       "{} of {} alleles are scored. Those with the smallest E-values:\n\n{}\n"
                       "$ bigbird ism -m {} -f genome.fa.gz -r {} \\\n"
                       "    --profiles {} --value lfc -o effects.tsv --svg effects.svg\n"
                       "effects.svg shows what every other base there does to {}.\n\n"
                       "With a VCF of yeast (R64, sacCer3) and its genome of your own:\n"
                       "  bigbird variants -m {} -f GENOME.fa VARIANTS.vcf.gz -o scored.vcf.gz\n"
                       "  bigbird chromatin predict -m {} -f GENOME.fa -R REGIONS.bed -o tracks.tsv\n"
                       "  bigbird promoter scan -m {} -f GENOME.fa -o promoters.bw --calls promoters.bed\n",
                       shell_word(options.output), typed_tracks,
                       shell_word(options.model + "/background.safetensors"), result.tally.scored,
                       result.tally.alleles, table_of(result.strongest), typed_tracks, result.drawn,
                       shell_word(first.profile), first.profile, typed_tracks, typed_tracks,
                       shell_word(options.model + "/promoters")));
  verb.set_throughput(static_cast<double>(result.tally.alleles), "alleles");
  return 0;
}

}  // namespace bigbird::apps
