// `bigbird text tag evaluate`: entities and words that a model found, against their labels.
#include <string>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/text/tag_options.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/model_folder/model_folder.h"
#include "lib/text/tag/evaluate.h"

namespace bigbird::apps {
namespace {

struct TagEvaluateCommand {
  TaggerOptions model;
  TagEvaluationOptions options;
  std::string predictions, output = "-", table;
  TaggedSentenceChoice sentences;
  ScoringOptions scoring;
};

void add_options(Verb& verb, TagEvaluateCommand& typed) {
  verb.add_required("--data FILE", typed.options.data, "Sentences with labels: CoNLL, CoNLL-U or JSON Lines");
  verb.add_option("-m,--model MODEL", typed.model.model, "Model folder to tag them with");
  verb.add_option("--predictions FILE", typed.predictions,
                  "Predictions instead of --model: what text tag predict wrote of them");
  verb.add_option("--baseline-from FILE", typed.options.baseline_from,
                  "Training sentences with labels: adds the scores of each word's most frequent label there");
  verb.add_option("-o,--output FILE", typed.output, "File of the JSON; - is stdout");
  verb.add_option("--table FILE", typed.table, "TSV of precision, recall and F1 of every type of entity");
  verb.with_word(verb.add_option("--length", typed.model.length,
                                 "Most tokens of a window (default: as many as the model was trained with)"),
                 "auto", "0");
  add_word_overlap(verb, typed.model.overlap);
  typed.sentences.add(verb, true);
  typed.scoring.add(verb, {});
  add_machine(verb);
}

}  // namespace

int cmd_text_tag_evaluate(int argc, char** argv) {
  Verb verb("text tag evaluate", "Score predicted classes of words against their labels, as seqeval does.",
            {("bigbird text tag evaluate -m demo-text-output/words/final --data "
              "demo-text-output/pages/words.test.conll --baseline-from "
              "demo-text-output/pages/words.train.conll"),
             ("bigbird text tag predict -m demo-text-output/words/final "
              "demo-text-output/pages/words.test.conll -o words.conll && bigbird text tag evaluate --data "
              "demo-text-output/pages/words.test.conll --predictions words.conll --table types.tsv")});
  TagEvaluateCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  if (typed.predictions.empty() == typed.model.model.empty()) {
    throw_usage("text tag evaluate: give --model or --predictions",
                "predictions are what `bigbird text tag predict` wrote");
  }
  OutputSet outputs({{"--output", typed.output}, {"--table", typed.table}});
  typed.options.sentences = typed.sentences.options(Labels::required);
  Provenance provenance = verb.made_from("", {{"data", typed.options.data, ""}});
  TagEvaluation evaluation;
  if (typed.model.model.empty()) {
    evaluation = evaluate_tags(typed.options, typed.predictions);
    provenance.inputs.push_back({"predictions", typed.predictions, ""});
  } else {
    typed.model.batch = typed.scoring.batch();
    const auto backend = verb.make_backend({typed.model.model});
    Tagger tagger(typed.model, *backend);
    evaluation = evaluate_tags(typed.options, tagger);
    say_tally(typed.options.data, evaluation.tally, tagger.length());
    if (verb.provenance())
      provenance.inputs.push_back(model_input(typed.model.model, tagger.folder().weights_digest()));
  }
  if (!typed.table.empty()) write_text_atomic(typed.table, tag_table_tsv(evaluation));
  write_output(typed.output, tag_metrics_json(evaluation, verb.json_of(provenance)));
  outputs.commit();
  verb.set_throughput(static_cast<double>(evaluation.scored.words()), "words");
  return 0;
}

}  // namespace bigbird::apps
