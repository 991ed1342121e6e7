// `bigbird text tag predict`: classes of the words of sentences, as CoNLL or JSON Lines; or of one sentence.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/text/tag_options.h"
#include "apps/work_options.h"
#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/text/text_lines.h"
#include "lib/model_folder/model_folder.h"
#include "lib/text/tag/predict.h"

namespace bigbird::apps {
namespace {

constexpr std::uint64_t sentences_of_a_chunk = 1024;

struct TagCommand {
  TaggerOptions options;
  TagPredictionOptions prediction;
  std::string text, form = "conll";
  TaggedSentenceChoice sentences;
  WorkOptions work;
  ScoringOptions scoring;
};

void add_options(Verb& verb, TagCommand& typed) {
  verb.add_required("-m,--model MODEL", typed.options.model, "Model folder that gives classes to tokens");
  verb.add_option("IN FILE", typed.prediction.input,
                  "Sentences: CoNLL, CoNLL-U or JSON Lines, with labels or without; - is stdin");
  verb.add_option("--text", typed.text,
                  "Text of one sentence to tag at once, words between blanks, instead of IN");
  verb.add_option("-o,--output FILE", typed.prediction.output, "File of the predictions; - is stdout");
  verb.add_option("-O,--output-type", typed.form,
                  "Type of the output: conll, lines of word, label and score; jsonl, also with entities",
                  CLI::IsMember({"conll", "jsonl"}));
  verb.with_word(verb.add_option("--length", typed.options.length,
                                 "Most tokens of a window (default: as many as the model was trained with)"),
                 "auto", "0");
  add_word_overlap(verb, typed.options.overlap);
  typed.sentences.add(verb, false);
  typed.work.add(verb);
  typed.work.add_chunk(verb, "sentences", sentences_of_a_chunk);
  typed.scoring.add(verb, {});
  add_machine(verb);
}

// One sentence, as it would stand in a file.
void tag_at_once(const TagCommand& typed, Tagger& tagger) {
  TaggedSentence sentence;
  sentence.id = "0";
  const std::string text = checked_text(typed.text, "--text");
  for (const std::string_view word : split_white_space(text)) sentence.words.emplace_back(word);
  OutputStream out(typed.prediction.output);
  tagger.add({sentence}, [&](const TaggedSentence& tagged, const std::vector<WordClass>& classes) {
    out.write(tagged_text(tagged, classes, typed.prediction.form));
  });
  tagger.finish();
  out.close();
}

}  // namespace

int cmd_text_tag_predict(int argc, char** argv) {
  Verb verb("text tag predict", "Give a class to each word of sentences, such as named entities.",
            {("bigbird text tag predict -m demo-text-output/words/final --text \"The kernel returns -1 .\""),
             ("bigbird text tag predict -m demo-text-output/words/final "
              "demo-text-output/pages/words.test.conll -o words.conll"),
             ("bigbird text tag predict -m demo-text-output/words/final "
              "demo-text-output/pages/words.test.conll -O jsonl -o words.jsonl")});
  TagCommand typed;
  typed.prediction.output = "-";
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  TagPredictionOptions& prediction = typed.prediction;
  const bool at_once = verb.given("--text");
  if (at_once == !prediction.input.empty())
    throw_usage("text tag predict: give the sentences in one way", "a file (or -), or --text \"...\"");
  if (at_once && typed.work.asked()) {
    throw_usage("text tag predict: --shard and --resume are of a file of sentences",
                "one sentence is tagged at once");
  }
  typed.options.batch = typed.scoring.batch();
  prediction.sentences = typed.sentences.options(Labels::ignored);
  prediction.work = typed.work.work(verb);
  prediction.form = typed.form == "jsonl" ? TagForm::jsonl : TagForm::conll;
  const auto backend = verb.make_backend({typed.options.model});
  Tagger tagger(typed.options, *backend);
  if (at_once) {
    tag_at_once(typed, tagger);
  } else {
    prediction.precision = backend->precision();
    if (verb.provenance()) {
      Provenance provenance = verb.made_from();
      provenance.inputs = {model_input(typed.options.model, tagger.folder().weights_digest())};
      prediction.comments = verb.head_of(prediction.output, provenance);
    }
    predict_tags(prediction, tagger);
  }
  say_tally(at_once ? "the sentence" : prediction.input, tagger.tally(), tagger.length());
  verb.set_throughput(static_cast<double>(tagger.tally().words), "words");
  return 0;
}

}  // namespace bigbird::apps
