// What the verbs that run a model on sequences ask in the same words: --strands, --calibrated, --profiles,
// --offset and --batch-tokens; and --batch, in windows, which some of them had before and no help shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "lib/calibration/calibration.h"
#include "lib/genomics/language_scorer.h"
#include "lib/inference/model_task.h"
#include "lib/inference/sequence_runner.h"
#include "lib/io/files/provenance.h"

namespace bigbird::apps {

// The strands that every verb reads where --strands is not given: numbers of one window agree between verbs.
inline constexpr Strands usual_strands = Strands::both;

// Which of them a verb takes, and what it does without them.
struct ScoringDefaults {
  std::optional<Strands> strands = {};  // not given: no --strands
  bool calibrated = false;              // whether the verb takes --calibrated
  std::string profiles = {};  // which ones are taken without --profiles, in words; empty: no --profiles
  bool offset = false;        // whether the verb takes --offset
  std::int64_t batch_tokens = 8192;
  bool had_batch = false;                 // whether the verb had --batch, in windows
  std::optional<std::string> group = {};  // heading of --batch-tokens, instead of the usual one
};

// Bound to the options by add(); read after parsing.
class ScoringOptions {
 public:
  void add(Verb& verb, const ScoringDefaults& defaults);

  // Error{usage} for a word that is no choice.
  Strands strands() const { return parse_strands(strands_); }
  // Whether they were said, and are not the verb's default.
  bool strands_typed(const Verb& verb) const { return verb.given("--strands"); }
  // Error{usage} likewise.
  CalibrationMethod calibrated() const { return parse_calibration_method(calibrated_); }
  // As select_profiles (lib/inference/model_task.h) takes it; empty when not given.
  const std::string& profiles() const { return profiles_; }
  // Where a scored base stands in its window; -1: at the scored_place (lib/inference/model_task.h).
  std::int64_t offset() const { return offset_; }
  const BatchSize& batch() const { return batch_; }

 private:
  std::string strands_;
  std::string calibrated_ = "none";
  std::string profiles_;
  std::int64_t offset_ = -1;
  BatchSize batch_;
};

// --lm-passes: which tokens a language model is asked for at once.
void add_language_passes(Verb& verb, std::string& passes);
// Error{usage} for a word that is no choice.
LanguagePasses parse_language_passes(const std::string& passes);

// For verbs that name models: the command, the genome (may be empty), and each model with the digest of its
// weights.
Provenance provenance_of_models(const Verb& verb, const std::string& fasta,
                                const std::vector<std::string>& models,
                                const std::vector<std::string>& digests);

// What the verbs that run a model ask of the machine: --threads, --device, --precision; and --random-mode.
void add_machine(Verb& verb);

}  // namespace bigbird::apps
