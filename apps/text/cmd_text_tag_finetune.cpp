// `bigbird text tag finetune`: a pretrained encoder becomes a tagger of words.
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/text/tag_options.h"
#include "apps/text_options.h"
#include "apps/training_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/text/tag/finetune.h"

namespace bigbird::apps {

int cmd_text_tag_finetune(int argc, char** argv) {
  Verb verb("text tag finetune", "Fine-tune a pretrained encoder on sentences whose words have labels.",
            {("bigbird text tag finetune --train demo-text-output/pages/words.train.conll --init "
              "demo-text-output/pretrain/final -o words-run --length 128 --steps 300 --lr 1e-3"),
             ("bigbird text tag finetune --train conll2003/train.txt --valid conll2003/valid.txt --init "
              "hf:google/bigbird-roberta-base -o ner-run --length 512"),
             ("bigbird text tag finetune --train en_ewt-ud-train.conllu --valid en_ewt-ud-dev.conllu --init "
              "hf:google-bert/bert-base-cased -o pos-run --length 256")});
  TagFinetuneOptions options;
  TaggedSentenceChoice sentences;
  TextEncodingChoice encoding;
  verb.add_required("--train FILE", options.train, "Sentences with labels: CoNLL, CoNLL-U or JSON Lines");
  verb.add_option("--valid FILE", options.valid, "Validation data in the form of --train; may be left out");
  verb.add_option("--classes A,B", options.classes,
                  "Classes in the order of the outputs, where the data do not have them all (default: the "
                  "labels of --train, by name)")
      ->delimiter(',');
  sentences.add(verb, true);
  add_word_overlap(verb, options.overlap);
  encoding.add(verb);
  TrainingOptions training(
      verb, options,
      {.sample = "Sentences, or windows of long ones,",
       .length = "Most tokens of a window, special ones included (default: what the model takes)",
       .needs_init = true,
       .classifies = true,
       .paper = tag_defaults(Recipe::paper)});
  verb.add_random_mode();
  if (!verb.parse(argc, argv)) return 0;
  options.sentences = sentences.options(Labels::required);
  options.encoding = encoding.encoding();
  if (options.train == "-" || options.valid == "-")
    throw_usage("text tag finetune: training sentences are read from files", "write them to a file first");
  training.finish();
  training.reads(options.train);
  training.reads(options.valid);
  training.run([&](kernels::Backend& backend) { return tag_finetune(options, backend); });
  return 0;
}

}  // namespace bigbird::apps
