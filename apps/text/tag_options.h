// What the verbs on words with labels ask in the same words: how their files are read, and the windows of
// long sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/command_line.h"
#include "lib/io/text/tagged_sentences.h"

namespace bigbird::apps {

// --format, --token-column and, of verbs that read labels, --label-column. Bound by add(); read after
// parsing.
class TaggedSentenceChoice {
 public:
  void add(Verb& verb, bool with_labels);
  // Error{usage} for a format that there is not.
  TaggedSentenceOptions options(Labels labels) const;

 private:
  TaggedSentenceOptions options_;
  std::string format_ = "auto";
};

// --overlap.
void add_word_overlap(Verb& verb, std::optional<std::size_t>& overlap);

}  // namespace bigbird::apps
