// See tag_options.h.
#include "apps/text/tag_options.h"

#include <array>
#include <utility>

#include "lib/core/names.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<TaggedFormat, const char*>, 4> tagged_format_names{
    {{TaggedFormat::automatic, "auto"},
     {TaggedFormat::conll, "conll"},
     {TaggedFormat::conllu, "conllu"},
     {TaggedFormat::jsonl, "jsonl"}}};

}  // namespace

void TaggedSentenceChoice::add(Verb& verb, bool with_labels) {
  const OptionGroup group(verb, "Data");
  verb.add_option("--format", format_,
                  "Format of the sentences: conll, a word a line with its label, an empty line between "
                  "sentences; conllu; jsonl, lists of words and labels (default: by the file's suffix)",
                  CLI::IsMember({"auto", "conll", "conllu", "jsonl"}));
  verb.add_option("--token-column", options_.token_column,
                  "Column or field of the words (default: 1, of conllu 2; tokens or words)");
  if (!with_labels) return;
  verb.add_option("--label-column", options_.label_column,
                  "Column or field of the labels (default: the last, of conllu 4; labels, tags, ner_tags or "
                  "pos_tags)");
}

TaggedSentenceOptions TaggedSentenceChoice::options(Labels labels) const {
  TaggedSentenceOptions options = options_;
  options.format = parse_name(tagged_format_names, format_, "format");
  options.labels = labels;
  return options;
}

void add_word_overlap(Verb& verb, std::optional<std::size_t>& overlap) {
  verb.add_option(
      "--overlap", overlap,
      "Context tokens that windows of a long sentence share; a word gets its class where it has more "
      "context (default: a quarter of --length; as trained)",
      CLI::Range(0, 1 << 20));
}

}  // namespace bigbird::apps
