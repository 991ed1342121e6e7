// Options that `variants` and `variants background` share: a background is only good for scores that were
// made with the same models and windows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "lib/genomics/language_scorer.h"
#include "lib/genomics/variants/run.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/io/files/provenance.h"

namespace bigbird::apps {

// Bound to the options by add(); read after parsing.
class VariantOptions {
 public:
  // -m, -f, the input, -r, windows, rules of alleles, --chunk-size, --strands, --batch-tokens, threads,
  // device, precision; --profiles where they can be chosen.
  void add(Verb& verb, bool with_profiles);
  // --track, of the verbs that write or collect scores.
  void add_tracks(Verb& verb);
  // What a language model is asked for; with_distances: perhaps those too, and what `variants` alone asks.
  void add_language(Verb& verb, bool with_distances);

  // As typed; empty when not given.
  const std::string& profiles() const { return sequences_.profiles(); }

  const std::vector<std::string>& models() const { return models_; }
  // Error{bad_input} where the genome or the variants cannot be opened.
  void require_inputs() const;
  // language_window: as language_window() says.
  VariantScoringOptions scoring(std::int64_t language_window) const;
  // Of models that only have a language model's head, a LanguageScorer's, the window that is usual; 0 of
  // others. Error{usage} for options of the other kind; errors as ModelFolder.
  std::int64_t language_window(const Verb& verb) const;
  std::unique_ptr<SequenceScorer> make_scorer(kernels::Backend& backend) const;
  std::unique_ptr<LanguageScorer> make_language_scorer(kernels::Backend& backend) const;
  // Of the verb, with the digests of the models.
  Provenance provenance(const Verb& verb, const std::vector<std::string>& digests) const;

 private:
  void add_windows(Verb& verb);

  std::vector<std::string> models_;
  VariantScoringOptions scoring_;
  std::string anchor_ = "variant";
  std::string ref_mismatch_ = "skip";
  std::string edge_ = "pad";
  ScoringOptions sequences_;
  bool zero_shot_ = false;
  std::string passes_;
  bool no_distances_ = false;
  std::vector<const char*> language_options_;  // that the verb takes
};

// What was counted, as messages: scored and skipped by reason.
void log_alleles(const VariantTally& tally);
// The same, and passes saved.
void log_tally(const VariantTally& tally);

}  // namespace bigbird::apps
