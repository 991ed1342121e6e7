// Options that `variants` and `variants background` share: a background is only good for scores that were
// made with the same models and windows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "lib/io/files/provenance.h"
#include "lib/tasks/genomics/variants/run.h"
#include "lib/tasks/sequence_scorer.h"

namespace bigbird::apps {

// Bound to the options by add(); read after parsing.
class VariantOptions {
 public:
  // -m, -f, the input, -r, windows, rules of alleles, --chunk, --batch-tokens, threads, device, precision.
  void add(Verb& verb);

  VariantScoringOptions scoring() const;
  std::unique_ptr<SequenceScorer> make_scorer(kernels::Backend& backend) const;
  // Of the verb, with the digests of the models.
  Provenance provenance(const Verb& verb, SequenceScorer& scorer) const;

 private:
  std::vector<std::string> models_;
  VariantScoringOptions scoring_;
  std::string anchor_ = "variant";
  std::string ref_mismatch_ = "skip";
  std::string edge_ = "pad";
  std::int64_t batch_tokens_ = 8192;
};

// What the run counted, as messages: scored and skipped by reason, passes saved.
void log_tally(const VariantTally& tally);

}  // namespace bigbird::apps
