// Options of the verbs that run a model on sequences; see scoring_options.h.
#include "apps/scoring_options.h"

#include "lib/core/names.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {

void ScoringOptions::add(Verb& verb, const ScoringDefaults& defaults) {
  if (defaults.strands) {
    strands_ = name_of(*defaults.strands);
    verb.add_option(
        "--strands {both,+,-,auto}", strands_,
        "Strands that are read: both, + (as given), - (the reverse complement), or auto: + for models "
        "of promoters, both for others");
  }
  if (defaults.calibrated) {
    verb.add_option(
        "--calibrated {none,prior,platt,isotonic}", calibrated_,
        "Scores as calibrated probabilities, by the model folder's calibration.json (of promoter or "
        "chromatin calibrate): prior, platt or isotonic; none: as the model gives them");
  }
  if (!defaults.profiles.empty()) {
    verb.add_option("--profiles LIST", profiles_,
                    "Outputs of the model: numbers, ranges, names (0,5,10-19), all or none (default: " +
                        defaults.profiles + ")");
  }
  if (defaults.offset) {
    verb.with_words(
        verb.add_option(
            "--offset BP", offset_,
            "Bases before the scored base (of a region the one in its middle) in its window, on the forward "
            "strand (default: so many that it is in the middle of the model's target)"),
        {{"auto", "-1"}, {"-1", "-1"}}, CLI::Range(0, 1 << 24));
  }
  batch_.tokens = defaults.batch_tokens;
  CLI::Option* tokens =
      verb.add_count("--batch-tokens COUNT", batch_.tokens,
                     "Tokens run at once, at least one whole sequence; the results do not depend on it",
                     CLI::Range(1, 1 << 30));
  if (defaults.group) tokens->group(*defaults.group);
  if (!defaults.had_batch) return;
  // In windows, not tokens: no other name of the same thing, so not in the table of old_names.cpp.
  verb.add_option("--batch", batch_.sequences)->check(CLI::Range(1, 65536))->group("")->excludes(tokens);
  verb.leave_out_of_provenance("--batch");
}

void add_language_passes(Verb& verb, std::string& passes) {
  passes = find_name(language_passes_names, LanguagePasses::left_to_right);
  verb.add_option("--lm-passes", passes,
                  "Tokens that are masked: those that differ from left to right, as a proper probability "
                  "(left-to-right), all at once (joint), or none",
                  CLI::IsMember({"left-to-right", "joint", "none"}));
}

LanguagePasses parse_language_passes(const std::string& passes) {
  return parse_name(language_passes_names, passes, "choice of --lm-passes");
}

Provenance provenance_of_models(const Verb& verb, const std::string& fasta,
                                const std::vector<std::string>& models,
                                const std::vector<std::string>& digests) {
  Provenance provenance = verb.made_from(fasta);
  for (std::size_t i = 0; i < models.size(); ++i)
    provenance.inputs.push_back(model_input(models[i], digests[i]));
  return provenance;
}

void add_machine(Verb& verb) {
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  verb.add_random_mode();
}

}  // namespace bigbird::apps
