// `bigbird embed`: vectors of sequences, and a table that says what each row stands for.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/verbs.h"
#include "apps/work_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/inference/embed.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model/folder/model_folder.h"

namespace bigbird::apps {
namespace {

constexpr std::uint64_t sequences_of_a_chunk = 256;

struct EmbedCommand {
  std::string model, records, fasta, regions, text, output;
  std::string pool = "mean";
  ScoringOptions scoring;
  WorkOptions work;
};

void add_options(Verb& verb, EmbedCommand& typed) {
  CLI::App& app = verb.app();
  app.add_option("-m,--model", typed.model, "Model folder; its output head is not used")
      ->required()
      ->type_name("MODEL");
  app.add_option("FASTA", typed.records, "Every record is one sequence, on the forward strand; - is stdin");
  app.add_option("-f,--fasta-ref", typed.fasta, "Genome for --regions-file")->type_name("FASTA");
  app.add_option("-R,--regions-file", typed.regions, "Windows; strand - is reverse-complemented; - is stdin")
      ->type_name("BED");
  app.add_option(
         "--text", typed.text,
         "Every line that is not blank is one sequence, of words or of bases, as the model reads; - is "
         "stdin")
      ->type_name("FILE");
  app.add_option(
         "--pool", typed.pool,
         "cls: the vector of [CLS]; mean: of a sequence's tokens; token: one for each; bin:N: one for "
         "every N bases, the mean over the tokens there, each weighted by its bases in the bin")
      ->type_name("POOL");
  app.add_option("-o,--output", typed.output,
                 "OUT.npy (float32, a row each), OUT.safetensors or OUT.h5 (embeddings); the table goes to "
                 "OUT.rows.tsv")
      ->required()
      ->type_name("FILE");
  typed.scoring.add(verb, {});
  typed.work.add(verb);
  typed.work.add_chunk(verb, "Sequences", sequences_of_a_chunk);
  add_machine(verb);
}

}  // namespace

int cmd_embed(int argc, char** argv) {
  Verb verb("embed", "Turn sequences into vectors: a matrix, and a table that says what each row stands for.",
            {"bigbird embed -m run/final -f genome.fa.gz -R windows.bed -o vectors.npy",
             "bigbird embed -m run/final windows.fa --pool bin:200 -o vectors.safetensors",
             "bigbird embed -m run/final -f genome.fa.gz -R windows.bed --shard 2/10 -o part2",
             "bigbird embed -m run/final --text sentences.txt --pool token -o vectors.npy"});
  EmbedCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  const auto& [model, records, fasta, regions, text, output, pool, scoring, work] = typed;
  const int sources = (records.empty() ? 0 : 1) + (regions.empty() ? 0 : 1) + (text.empty() ? 0 : 1);
  if (sources != 1 || regions.empty() != fasta.empty()) {
    throw_usage("give the sequences in one way",
                "a FASTA, or --fasta-ref with --regions-file, or --text FILE");
  }
  const Pooling pooling = parse_pooling(pool);

  const ModelFolder folder(model);
  if (text.empty()) folder.require(Alphabet::dna);
  const std::unique_ptr<WindowReader> windows = !records.empty() ? read_fasta_windows(records)
                                                : !regions.empty()
                                                    ? read_bed_windows(regions, fasta)
                                                    : read_line_windows(text, folder.tokenizer());
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend();
  Embedder embedder(folder, pooling, scoring.batch(), *backend);

  EmbedOptions options;
  options.input = !records.empty() ? records : !regions.empty() ? regions : text;
  options.pool = pool;
  options.output = output;
  options.metadata = {{"format", "pt"}};
  options.work = work.work(verb);
  if (verb.provenance()) {
    Provenance provenance{bigbird_version(), verb.command(), std::nullopt, fasta, {}};
    const WeightFiles weights(model);
    for (const std::string& file : weights.files()) {
      provenance.inputs.push_back(model_input(file, sha256_file(file)));
    }
    options.comments = provenance_lines(provenance);
    options.metadata["provenance"] = provenance_json(provenance);
  }
  const std::uint64_t count = run_embed(options, *windows, embedder);
  verb.set_throughput(static_cast<double>(count), "sequences");
  return 0;
}

}  // namespace bigbird::apps
