// `bigbird text embed`: one vector of each text, as sentence-transformers makes it.
#include <cstdint>
#include <memory>
#include <string>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/text_options.h"
#include "apps/work_options.h"
#include "lib/core/log.h"
#include "lib/inference/embed.h"
#include "lib/inference/sentence_settings.h"
#include "lib/io/files/provenance.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {
namespace {

constexpr std::uint64_t embedded_texts_of_a_chunk = 1024;

struct TextEmbedCommand {
  std::string model, input, output;
  SentenceChoice choice;
  TextColumnOptions columns;
  ScoringOptions scoring;
  WorkOptions work;
};

void add_options(Verb& verb, TextEmbedCommand& typed) {
  verb.add_required("-m,--model MODEL", typed.model, "Model folder; its output head is not used");
  verb.add_required("IN FILE", typed.input, "Texts: lines, CSV, TSV, JSON Lines, a folder, or - for stdin");
  verb.add_required(
      "-o,--output FILE", typed.output,
      "OUT.npy (float32, a row each), OUT.safetensors or OUT.h5 (embeddings); the table goes to "
      "OUT.rows.tsv");
  verb.add_option(
      "--pool POOL", typed.choice.pool,
      "Part that a vector is of: cls, the token [CLS]; mean or max of all tokens, [CLS] and [SEP] "
      "too (default: what 1_Pooling in the folder names, mean without one)");
  verb.add_option("--normalize", typed.choice.normalize,
                  "Length 1 for each vector, yes or no (default: yes where modules.json has Normalize)");
  verb.with_word(verb.add_option("--length", typed.choice.length,
                                 "Most tokens of a text; longer ones are cut (default: max_seq_length of the "
                                 "folder's sentence_bert_config.json, else as many as the model takes)"),
                 "auto", "0");
  typed.columns.add(verb, false);
  typed.scoring.add(verb, {});
  typed.work.add(verb);
  typed.work.add_chunk(verb, "texts", embedded_texts_of_a_chunk);
  add_machine(verb);
}

}  // namespace

int cmd_text_embed(int argc, char** argv) {
  Verb verb("text embed", "Turn texts into vectors as sentence-transformers does.",
            {("bigbird text embed -m demo-text-output/pretrain/final demo-text-output/pages/test.jsonl -o "
              "vectors.npy"),
             ("bigbird text embed -m demo-text-output/pretrain/final demo-text-output/context.txt --format "
              "lines --pool max --normalize yes -o lines.safetensors")});
  TextEmbedCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  const ModelFolder folder(typed.model);
  folder.require(Alphabet::text);
  const EmbedderOptions settings = sentence_options(folder, typed.choice, typed.scoring.batch());
  const std::unique_ptr<WindowReader> texts =
      read_text_windows(typed.input, typed.columns.columns(Labels::ignored));
  const auto backend = verb.make_backend({typed.model});
  Embedder embedder(folder, settings, *backend);

  EmbedOptions options;
  options.input = typed.input;
  options.pool = describe_sentences(settings);
  options.output = typed.output;
  options.metadata = {{"format", "pt"}, {"pooling", options.pool}};
  options.work = typed.work.work(verb);
  if (verb.provenance()) {
    Provenance provenance = verb.made_from();
    provenance.inputs = {model_input(typed.model, folder.weights_digest())};
    options.comments = verb.head_of(typed.output, provenance);
    options.metadata["provenance"] = provenance_json(provenance);
  }
  const std::uint64_t count = run_embed(options, *texts, embedder);
  if (embedder.cut() > 0) {
    log_warning(message("{} of {} texts have more than {} tokens and were cut", embedder.cut(), count,
                        settings.longest));
  }
  verb.set_throughput(static_cast<double>(count), "texts");
  return 0;
}

}  // namespace bigbird::apps
