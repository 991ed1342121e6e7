// What the verbs on documents and summaries ask in the same words.
#pragma once

#include <cstdint>
#include <string>

#include "apps/command_line.h"
#include "lib/io/text/summary_pairs.h"

namespace bigbird::apps {

// --format, --quoting, --document-field, --summary-field, --id-field, --list-of-summaries, --skip-bad,
// --replace-invalid: those that the parts need. Bound by add(); read after parsing.
class SummaryDataOptions {
 public:
  void add(Verb& verb, SummaryParts parts);
  // Error{usage} for a format that there is not.
  SummaryPairOptions pairs() const;

 private:
  SummaryPairOptions pairs_;
  std::string format_ = "auto";
  std::string quoting_ = "auto";
};

// A warning where records were passed over.
void say_skipped(std::uint64_t skipped, const std::string& first);

}  // namespace bigbird::apps
