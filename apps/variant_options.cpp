// Options of the verbs that score variants; see variant_options.h.
#include "apps/variant_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {

void VariantOptions::add(Verb& verb, bool with_profiles) {
  verb.add_required(
          "-m,--model MODEL", models_,
          "Model folder with a classification head or a language model's; given several times, the mean of "
          "their scores")
      ->allow_extra_args(false);
  verb.add_required("-f,--fasta-ref FASTA", scoring_.fasta, "Genome of the variants");
  verb.add_required("VCF", scoring_.input,
                    "VCF, VCF.gz or BCF, or tab-separated CHROM POS ID REF ALT; - is stdin");
  verb.add_option("-r,--region REGION", scoring_.regions,
                  "Region whose records are scored, and no others, or a list of them (needs .tbi or .csi)")
      ->allow_extra_args(false);
  verb.add_flag("--pass-only", scoring_.rules.pass_only, "Skip records whose FILTER is not . or PASS");
  add_windows(verb);
  verb.add_count("--chunk-size", scoring_.chunk, "Records held at once; windows are shared within them",
                 CLI::Range(1, 1000000))
      ->group("Work");
  ScoringDefaults defaults;
  defaults.strands = usual_strands;
  if (with_profiles) defaults.profiles = "all of at most 8, and all in matrices";
  defaults.group = "Work";
  sequences_.add(verb, defaults);
  add_machine(verb);
}

void VariantOptions::add_windows(Verb& verb) {
  const OptionGroup windows(verb, "Windows");
  verb.with_word(
      verb.add_option(
          "--window BP", scoring_.windows.window,
          "Bases of a window (default: as the model was trained; of a language model 512, or 32 less "
          "than it has positions)",
          CLI::Range(0, 1 << 24)),
      "auto", "0");
  verb.with_words(verb.add_option("--offset BP", scoring_.windows.offset,
                                  "Bases before the variant in its window (default: so many that it is in "
                                  "the middle of the model's target)"),
                  {{"auto", "-1"}, {"-1", "-1"}}, CLI::Range(0, 1 << 24));
  verb.add_option("--anchor", anchor_,
                  "Place of the window: centred on the variant (variant), or on the grid of the model's "
                  "target bins, shared by all variants of a bin (bin)",
                  CLI::IsMember({"variant", "bin"}));
  verb.add_option("--shifts", scoring_.windows.shifts,
                  "Windows that are averaged over (odd), each --shift-step bases from the next",
                  CLI::Range(1, 101));
  verb.add_option("--shift-step BP", scoring_.windows.shift_step, "Bases between shifted windows",
                  CLI::Range(1, 1 << 20));
  verb.add_option(
      "--edge", edge_,
      "Rule for a window that passes its contig's end: pad with N, shift inwards, or skip the allele",
      CLI::IsMember({"pad", "shift", "skip"}));
  verb.add_option("--max-n FRACTION", scoring_.rules.max_n,
                  "Largest fraction of N in a REF window; the other alleles are skipped",
                  CLI::Range(0.0, 1.0));
  verb.add_option("--ref-mismatch", ref_mismatch_,
                  "Rule for a REF that is not what the genome has: skip; use REF nevertheless; swap REF and "
                  "ALT where ALT is",
                  CLI::IsMember({"skip", "use", "swap"}));
  verb.add_flag("--n-matches", scoring_.rules.n_matches, "Let N in REF match any base");
}

void VariantOptions::add_tracks(Verb& verb) {
  verb.add_option("--track [NAME=]BW", scoring_.tracks,
                  "Conservation (phyloP, phastCons, GERP++) as bigWig: the mean over the bases that ALT "
                  "changes, as a column; several are taken. NAME: of the column (default: the file's)")
      ->allow_extra_args(false);
}

void VariantOptions::add_language(Verb& verb, bool with_distances) {
  const OptionGroup language(verb, "Language models");
  add_language_passes(verb, passes_);
  language_options_ = {"--lm-passes"};
  no_distances_ = !with_distances;
  if (!with_distances) return;
  language_options_.insert(language_options_.end(), {"--no-lm-distances", "--ancestral"});
  verb.add_flag("--no-lm-distances", no_distances_,
                "Leave out LM_L2 and LM_COS, which take two passes a strand more");
  verb.add_option("--ancestral KEY", scoring_.ancestral,
                  "INFO field with the ancestral allele, as 1000 Genomes' AA: adds LM_DERIVED, the LM_LLR of "
                  "the derived allele");
  verb.add_flag("--zero-shot", zero_shot_,
                "Refuse a model without a language model's head; a model with one is scored with it anyway");
}

std::int64_t VariantOptions::language_window(const Verb& verb) const {
  if (zero_shot_)
    for (const std::string& model : models_) ModelFolder(model).require_masked_token_head();
  const std::int64_t window = usual_language_window(models_);
  for (const char* option : language_options_) {
    if (window == 0 && verb.given(option)) {
      throw_usage(std::string(option) + " is of language models: " + models_.front() + " has another head",
                  "leave it out, or take a pretrained model");
    }
  }
  return window;
}

std::unique_ptr<LanguageScorer> VariantOptions::make_language_scorer(kernels::Backend& backend) const {
  return std::make_unique<LanguageScorer>(LanguageScorerOptions{.models = models_,
                                                                .strands = sequences_.strands(),
                                                                .passes = parse_language_passes(passes_),
                                                                .distances = !no_distances_,
                                                                .batch = sequences_.batch()},
                                          backend);
}

void VariantOptions::require_inputs() const {
  require_readable(scoring_.input);
  require_readable(scoring_.fasta);
}

VariantScoringOptions VariantOptions::scoring(std::int64_t language_window) const {
  VariantScoringOptions options = scoring_;
  if (options.windows.window == 0) options.windows.window = language_window;
  options.windows.anchor_bin = anchor_ == "bin";
  options.rules.ref_mismatch = parse_ref_mismatch(ref_mismatch_);
  options.rules.edge = parse_edge_rule(edge_);
  return options;
}

std::unique_ptr<SequenceScorer> VariantOptions::make_scorer(kernels::Backend& backend) const {
  return std::make_unique<SequenceScorer>(
      ScorerOptions{
          .models = models_, .strands = sequences_.strands(), .batch = sequences_.batch(), .waits = true},
      backend);
}

Provenance VariantOptions::provenance(const Verb& verb, const std::vector<std::string>& digests) const {
  return provenance_of_models(verb, scoring_.fasta, models_, digests);
}

void log_alleles(const VariantTally& tally) {
  const std::string reasons = tally.skipped.text();
  log_info(fmt::format("{} records, {} alleles: {} scored, {} skipped{}", tally.records, tally.alleles,
                       tally.scored, tally.skipped.total(), reasons.empty() ? "" : " (" + reasons + ")"));
}

void log_tally(const VariantTally& tally) {
  log_alleles(tally);
  for (const auto& [name, count] : tally.baselines)
    log_info(fmt::format("{}: found for {} of {} scored alleles", name, count, tally.scored));
  log_info(fmt::format("{} forward passes, {} saved by shared windows", tally.passes,
                       tally.passes_asked - tally.passes));
}

}  // namespace bigbird::apps
